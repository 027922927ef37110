// ResNet against the same network of torch::nn's modules with the same weights.
#include "model/resnet.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "model/delivered.h"
#include "support/support.h"

namespace lehi::model {
namespace {

using lehi::testing::delivered_by;
using lehi::testing::message_of;
using lehi::testing::relative_difference;
using lehi::testing::same_bits;

// Children have torchvision's names and order.
struct TorchBlock : torch::nn::Module {
  TorchBlock(std::int64_t in, std::int64_t out, std::int64_t stride)
      : conv1(register_module("conv1", convolution(in, out, 3, stride))),
        bn1(register_module("bn1", torch::nn::BatchNorm2d(out))),
        conv2(register_module("conv2", convolution(out, out, 3, 1))),
        bn2(register_module("bn2", torch::nn::BatchNorm2d(out))) {
    if (stride == 1 && in == out) return;
    downsample = torch::nn::Sequential(convolution(in, out, 1, stride), torch::nn::BatchNorm2d(out));
    register_module("downsample", downsample);
  }
  static torch::nn::Conv2d convolution(std::int64_t in, std::int64_t out, std::int64_t size, std::int64_t stride) {
    return torch::nn::Conv2d(torch::nn::Conv2dOptions(in, out, size).stride(stride).padding(size / 2).bias(false));
  }
  torch::Tensor forward(torch::Tensor x) {
    const auto residual = bn2(conv2(torch::relu(bn1(conv1(x)))));
    return torch::relu(residual + (downsample.is_empty() ? x : downsample->forward(x)));
  }
  torch::nn::Conv2d conv1;
  torch::nn::BatchNorm2d bn1;
  torch::nn::Conv2d conv2;
  torch::nn::BatchNorm2d bn2;
  torch::nn::Sequential downsample{nullptr};
};

struct TorchResNet : torch::nn::Module {
  explicit TorchResNet(const ResNetShape& shape)
      : conv1(register_module("conv1", TorchBlock::convolution(3, shape.width, 3, 1))),
        bn1(register_module("bn1", torch::nn::BatchNorm2d(shape.width))) {
    std::int64_t in = shape.width;
    for (std::size_t stage = 0; stage < shape.blocks.size(); ++stage) {
      torch::nn::Sequential layer;
      for (std::int64_t i = 0; i < shape.blocks[stage]; ++i) {
        const std::int64_t out = shape.width << stage;
        layer->push_back(std::make_shared<TorchBlock>(in, out, stage > 0 && i == 0 ? 2 : 1));
        in = out;
      }
      stages.push_back(register_module("layer" + std::to_string(stage + 1), layer));
    }
    fc = register_module("fc", torch::nn::Linear(in, shape.classes));
    to(torch::kFloat64);
  }
  torch::Tensor forward(torch::Tensor x) {
    x = torch::relu(bn1(conv1(x)));
    for (auto& stage : stages) x = stage->forward(x);
    return fc(torch::adaptive_avg_pool2d(x, {1, 1}).flatten(1));
  }
  torch::nn::Conv2d conv1;
  torch::nn::BatchNorm2d bn1;
  std::vector<torch::nn::Sequential> stages;
  torch::nn::Linear fc{nullptr};
};

const std::vector<ResNetShape>& small_resnets() {
  static const std::vector<ResNetShape> all = {
      {.classes = 10, .width = 2, .blocks = {2, 2, 2, 2}},
      {.classes = 3, .width = 5, .blocks = {1, 3}},
      {.classes = 1, .width = 1, .blocks = {1}},
  };
  return all;
}

// Scales and shifts other than 1 and 0, so that errors in them show.
void make_uneven(const Network& network) {
  const torch::NoGradGuard no_grad;
  for (const auto& item : network.named_parameters()) {
    if (item.value().dim() == 1) item.value().add_(torch::randn_like(item.value()), 0.2);
  }
}

TorchResNet torch_copy(const ResNetShape& shape, const Network& network) {
  const torch::NoGradGuard no_grad;
  TorchResNet copy(shape);
  auto parameters = copy.named_parameters();
  for (const auto& item : network.named_parameters()) parameters[item.key()].copy_(item.value());
  return copy;
}

void expect_torchs_buffers(const Network& network, const TorchResNet& torchs) {
  const auto buffers = torchs.named_buffers();
  std::size_t running = 0;
  for (const auto& item : buffers) running += item.value().dim() == 1;
  ASSERT_EQ(network.named_buffers().size(), running);
  for (const auto& item : network.named_buffers()) {
    EXPECT_LE(relative_difference(item.value(), buffers[item.key()]), 1e-12) << item.key();
  }
}

TEST(ResNet, HasAsManyWeightsAsResNet18ForCifar) {
  EXPECT_EQ(parameter_count(resnet_parameters({})), 11'173'962);
  EXPECT_EQ(parameter_count(resnet_parameters({.classes = 100})), 11'220'132);
}

TEST(ResNet, TensorsHaveTorchvisionsNamesShapesAndOrder) {
  for (const auto& shape : small_resnets()) {
    const TorchResNet torchs(shape);
    const auto expected = torchs.named_parameters();
    const auto shapes = resnet_parameters(shape);
    const auto network = make_resnet(shape, 0);
    ASSERT_EQ(shapes.size(), expected.size());
    ASSERT_EQ(network->named_parameters().size(), expected.size());
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      EXPECT_EQ(shapes[i].name, expected[i].key());
      EXPECT_EQ(shapes[i].sizes, expected[i].value().sizes().vec());
      EXPECT_EQ(network->named_parameters()[i].key(), expected[i].key());
      EXPECT_EQ(network->named_parameters()[i].value().sizes(), expected[i].value().sizes());
    }
  }
}

TEST(ResNet, WeightsAreThoseOfTorchsInitialisers) {
  const ResNetShape shape{.classes = 10, .width = 4, .blocks = {1, 1}};
  torch::manual_seed(7);
  const auto network = make_resnet(shape, 7);
  const auto wide = make_resnet(shape, 7, false, torch::kFloat64);
  // make_resnet() does not use the global generator, which draws the same numbers from the same seed.
  for (const auto& item : network->named_parameters()) {
    const auto& value = item.value();
    if (item.key() == "fc.bias") continue;
    if (item.key() == "fc.weight") {
      const torch::nn::Linear layer(value.size(1), value.size(0));
      EXPECT_TRUE(same_bits(value.detach(), layer->weight.detach()));
      EXPECT_TRUE(same_bits(network->named_parameters()["fc.bias"].detach(), layer->bias.detach()));
    } else if (value.dim() == 4) {
      const auto expected =
          torch::nn::init::kaiming_normal_(torch::empty(value.sizes()), 0, torch::kFanOut, torch::kReLU);
      EXPECT_TRUE(same_bits(value.detach(), expected)) << item.key();
    } else {
      EXPECT_TRUE((value == (item.key().ends_with("weight") ? 1 : 0)).all().item<bool>()) << item.key();
    }
    EXPECT_TRUE(same_bits(wide->named_parameters()[item.key()].detach(), value.detach().to(torch::kFloat64)));
  }
}

TEST(ResNet, PredictionsAndGradientsAreTorchsModules) {
  torch::manual_seed(1);
  for (const auto& shape : small_resnets()) {
    const auto network = make_resnet(shape, 3, false, torch::kFloat64);
    make_uneven(*network);
    auto torchs = torch_copy(shape, *network);
    for (const std::int64_t side : {32, 14}) {
      const auto inputs = torch::randn({5, 3, side, side}, torch::kFloat64);
      const auto expected = torchs.forward(inputs);
      const auto pass = network->forward(inputs, {});
      EXPECT_LE(relative_difference(pass.predictions, expected), 1e-12);
      const std::vector<torch::Tensor> cotangents = {torch::randn_like(expected), torch::randn_like(expected)};
      const auto delivered = delivered_by(*network, pass, cotangents);
      ASSERT_EQ(delivered.size(), network->named_parameters().size());
      for (std::size_t c = 0; c < cotangents.size(); ++c) {
        const auto gradients = torch::autograd::grad({expected}, torchs.parameters(), {cotangents[c]}, true);
        for (std::size_t i = 0; i < gradients.size(); ++i) {
          const auto& name = network->named_parameters()[i].key();
          EXPECT_LE(relative_difference(delivered.at(name)[c], gradients[i]), 1e-10) << name;
        }
      }
    }
    expect_torchs_buffers(*network, torchs);
  }
}

// Errors of central differences: the square of the step, 1e-12, and rounding over the step, 1e-10.
TEST(ResNet, GradientsGiveTheDirectionalDerivative) {
  torch::manual_seed(2);
  const auto network = make_resnet({.classes = 3, .width = 2, .blocks = {1, 1}}, 5, false, torch::kFloat64);
  make_uneven(*network);
  const auto inputs = torch::randn({4, 3, 8, 8}, torch::kFloat64);
  const auto cotangent = torch::randn({4, 3}, torch::kFloat64);
  const auto delivered = delivered_by(*network, network->forward(inputs, {}), {cotangent});
  const torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> direction;
  double expected = 0;
  for (const auto& item : network->named_parameters()) {
    direction.push_back(torch::randn_like(item.value()));
    expected += (direction.back() * delivered.at(item.key())[0]).sum().item<double>();
  }
  constexpr double step = 1e-6;
  const auto value_after = [&](double moved) {
    for (std::size_t i = 0; i < direction.size(); ++i) {
      network->named_parameters()[i].value().add_(direction[i], moved);
    }
    return (network->forward(inputs, {}).predictions * cotangent).sum().item<double>();
  };
  const double above = value_after(step);
  const double below = value_after(-2 * step);
  EXPECT_NEAR((above - below) / (2 * step), expected, 1e-7 * std::abs(expected));
}

TEST(ResNet, RunningStatisticsAreTorchsAndEvaluationUsesThem) {
  torch::manual_seed(3);
  const ResNetShape& shape = small_resnets().front();
  for (const bool recompute : {false, true}) {
    const auto network = make_resnet(shape, 3, recompute, torch::kFloat64);
    make_uneven(*network);
    auto torchs = torch_copy(shape, *network);
    for (int step = 0; step < 4; ++step) {
      const auto inputs = torch::randn({6, 3, 16, 16}, torch::kFloat64) + step;
      torchs.forward(inputs);
      delivered_by(*network, network->forward(inputs, {}), {torch::ones({6, shape.classes}, torch::kFloat64)});
    }
    expect_torchs_buffers(*network, torchs);
    torchs.eval();
    const auto inputs = torch::randn({3, 3, 16, 16}, torch::kFloat64);
    EXPECT_LE(relative_difference(network->predict(inputs), torchs.forward(inputs)), 1e-12);
    expect_torchs_buffers(*network, torchs);
  }
}

TEST(ResNet, RecomputationGivesTheSameBits) {
  torch::manual_seed(4);
  const ResNetShape shape{.classes = 10, .width = 8, .blocks = {1, 1, 1}};
  const auto kept = make_resnet(shape, 1);
  const auto again = make_resnet(shape, 1, true);
  const auto inputs = torch::randn({4, 3, 32, 32});
  const auto pass_kept = kept->forward(inputs, {});
  const auto pass_again = again->forward(inputs, {});
  EXPECT_TRUE(same_bits(pass_kept.predictions, pass_again.predictions));
  const std::vector<torch::Tensor> cotangents = {torch::randn({4, 10}), torch::randn({4, 10})};
  const auto delivered = delivered_by(*kept, pass_kept, cotangents);
  for (const auto& [name, pulled] : delivered_by(*again, pass_again, cotangents)) {
    for (std::size_t c = 0; c < 2; ++c) EXPECT_TRUE(same_bits(pulled[c], delivered.at(name)[c])) << name;
  }
  for (const auto& item : kept->named_buffers()) {
    EXPECT_TRUE(same_bits(again->named_buffers()[item.key()], item.value())) << item.key();
  }
}

TEST(ResNet, InvalidResNetShapesAndInputsThrow) {
  EXPECT_EQ(message_of([] { resnet_parameters({.width = 0}); }),
            "a ResNet of 10 classes, width 0 and [2, 2, 2, 2] blocks: expected one to 4 stages, and each number at "
            "least 1");
  for (const ResNetShape& wrong :
       {ResNetShape{.classes = 0}, {.blocks = {}}, {.blocks = {1, 0}}, {.blocks = {1, 1, 1, 1, 1}}}) {
    EXPECT_NE(message_of([&] { make_resnet(wrong, 0); }), "");
  }
  const ResNetShape& shape = small_resnets().front();
  EXPECT_EQ(message_of([&] { make_resnet(shape, 0, false, torch::kFloat16); }),
            "a ResNet of Half: expected float32 or float64");
  const auto network = make_resnet(shape, 0);
  EXPECT_EQ(message_of([&] {
              network->predict(torch::ones({2, 3072}));
            }),
            "the inputs are Float [2, 3072]; expected Float [rows, 3, height, width]");
  EXPECT_EQ(message_of([&] {
              network->forward(torch::ones({2, 3, 8, 8}, torch::kFloat64), {});
            }),
            "the inputs are Double [2, 3, 8, 8]; expected Float [rows, 3, height, width]");
  EXPECT_EQ(message_of([&] { network->predict(torch::Tensor()); }), "the inputs are an undefined tensor");
  EXPECT_EQ(message_of([&] {
              network->forward(torch::ones({1, 3, 8, 8}), {});
            }),
            "batch normalisation can't train on a single row of one pixel: use more rows or larger images");
}

}  // namespace
}  // namespace lehi::model
