// Prints what the C++ library's optimizers do in 200 steps, for test_reference.py, which repeats it in Python.
//
//   c++ -std=c++20 make_reference.cpp ... -o make_reference && ./make_reference > reference.json
//
// (with the include folders and libraries of examples/regression.cpp). Weights and data are sines of their index, so
// that both sides make the same; everything is float64.
#include <lehi/lehi.h>
#include <torch/torch.h>

#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace {

using torch::Tensor;

Tensor waves(std::vector<std::int64_t> sizes, double phase, double size) {
  const std::int64_t count = c10::multiply_integers(sizes);
  const Tensor index = torch::arange(count, torch::kFloat64);
  return (size * torch::sin(1.3 * index + phase)).view(sizes);
}

struct Case {
  std::string name;
  lehi::Options options;
};

Case named(std::string name, lehi::Options options) {
  options.group.weight_decay = 0.05;
  return {std::move(name), std::move(options)};
}

std::vector<Case> cases() {
  using lehi::Preset;
  std::vector<Case> all;
  for (const Preset preset : lehi::all_presets()) {
    lehi::Options options = lehi::preset(preset);
    if (options.recipe.shape == lehi::Shape::diagonal) all.push_back(named(std::string(lehi::name(preset)), options));
  }
  const auto add = [&](const char* name, const char* preset, const std::function<void(lehi::Options&)>& change) {
    lehi::Options options = lehi::preset(preset);
    change(options);
    all.push_back(named(name, options));
  };
  add("lehi-gn sparse", "lehi-gn", [](auto& o) { o.recipe.schedule = {.every = 7, .dense = 20}; });
  add("lehi-gn sum", "lehi-gn", [](auto& o) {
    o.recipe.schedule = {.every = 8, .doubling = true};
    o.recipe.mix = lehi::Mix::sum;
  });
  add("lehi amortised", "lehi", [](auto& o) { o.recipe.schedule = {.every = 5, .dense = 10}; });
  add("lehi diagonal", "lehi", [](auto& o) { o.recipe.probe = lehi::Probe::diagonal; });
  add("sgd nesterov", "sgd", [](auto& o) {
    o.group.momentum = 0.9;
    o.group.nesterov = true;
  });
  add("sgd dampening", "sgd", [](auto& o) {
    o.group.momentum = 0.9;
    o.group.dampening = 0.5;
  });
  add("rmsprop momentum", "rmsprop", [](auto& o) { o.group.momentum = 0.9; });
  return all;
}

std::vector<Case> matrix_cases() {
  std::vector<Case> all;
  const auto add = [&](const char* name, const char* preset, const std::function<void(lehi::Options&)>& change) {
    lehi::Options options = lehi::preset(preset);
    change(options);
    all.push_back(named(name, options));
  };
  for (const char* name : {"muon", "soap", "lehi-kron"}) add(name, name, [](auto&) {});
  add("muon one diagonal", "muon", [](auto& o) { o.shapes.diagonal_names = {"2"}; });
  add("soap smaller", "soap", [](auto& o) { o.recipe.kronecker.sides = lehi::Sides::smaller; });
  add("lehi-kron probe", "lehi-kron", [](auto& o) {
    o.recipe.probe = lehi::Probe::gauss_newton;
    o.recipe.schedule = {.every = 4, .dense = 10};
    o.recipe.mix = lehi::Mix::max;
    o.recipe.kronecker.factors = lehi::FactorSource::probe;
  });
  add("lehi-kron both", "lehi-kron", [](auto& o) {
    o.recipe.probe = lehi::Probe::gauss_newton;
    o.recipe.kronecker.factors = lehi::FactorSource::both;
  });
  return all;
}

// A model is its weights and its predictions for the data of a step.
struct Model {
  std::string name;
  torch::OrderedDict<std::string, Tensor> weights;
  std::function<std::pair<Tensor, Tensor>(std::int64_t)> batch;  // predictions and target
  std::shared_ptr<lehi::Loss> loss;
};

void add_weight(Model& model, const std::string& name, std::vector<std::int64_t> sizes) {
  const auto phase = static_cast<double>(model.weights.size());
  model.weights.insert(name, waves(std::move(sizes), phase, 0.4).clone().requires_grad_());
}

Model mlp(const std::string& kind) {
  Model model;
  model.name = "mlp " + kind;
  add_weight(model, "0.weight", {6, 4});
  add_weight(model, "0.bias", {6});
  add_weight(model, "2.weight", {3, 6});
  add_weight(model, "2.bias", {3});
  const auto weights = model.weights;
  model.batch = [weights, kind](std::int64_t step) {
    const Tensor x = waves({16, 4}, 0.1 * static_cast<double>(step), 1.0);
    const Tensor y = waves({16, 3}, 2.0 + 0.1 * static_cast<double>(step), 1.0);
    const Tensor hidden = torch::tanh(torch::linear(x, weights["0.weight"], weights["0.bias"]));
    const Tensor predictions = torch::linear(hidden, weights["2.weight"], weights["2.bias"]);
    if (kind == "cross-entropy") return std::pair{predictions, y.argmax(-1)};
    if (kind == "bce") return std::pair{predictions, y.gt(0).to(torch::kFloat64)};
    return std::pair{predictions, y};
  };
  if (kind == "cross-entropy") model.loss = std::make_shared<lehi::CrossEntropy>();
  if (kind == "bce") model.loss = std::make_shared<lehi::BinaryCrossEntropy>();
  if (kind == "mse") model.loss = std::make_shared<lehi::MeanSquaredError>();
  return model;
}

constexpr std::int64_t vocabulary = 11;
constexpr std::int64_t length = 6;
constexpr std::int64_t width = 8;

// Its matrices' factors have full rank: of others LAPACK chooses some of the eigenvectors.
Model square() {
  Model model;
  model.name = "square mse";
  add_weight(model, "0.weight", {4, 4});
  add_weight(model, "0.bias", {4});
  add_weight(model, "2.weight", {4, 4});
  add_weight(model, "2.bias", {4});
  const auto weights = model.weights;
  model.batch = [weights](std::int64_t step) {
    const Tensor x = waves({16, 4}, 0.1 * static_cast<double>(step), 1.0);
    const Tensor y = waves({16, 4}, 2.0 + 0.1 * static_cast<double>(step), 1.0);
    const Tensor hidden = torch::tanh(torch::linear(x, weights["0.weight"], weights["0.bias"]));
    return std::pair{torch::linear(hidden, weights["2.weight"], weights["2.bias"]), y};
  };
  model.loss = std::make_shared<lehi::MeanSquaredError>();
  return model;
}

Model gpt() {
  Model model;
  model.name = "gpt";
  add_weight(model, "wte", {vocabulary, width});
  add_weight(model, "wpe", {length, width});
  add_weight(model, "qkv", {3 * width, width});
  add_weight(model, "out", {width, width});
  add_weight(model, "up", {2 * width, width});
  add_weight(model, "down", {width, 2 * width});
  const auto w = model.weights;
  model.batch = [w](std::int64_t step) {
    const Tensor tokens = (torch::arange(4 * (length + 1)) * 5 + step * 3).remainder(vocabulary).view({4, length + 1});
    const Tensor mask = torch::ones({length, length}, torch::kBool).triu(1);
    Tensor h = w["wte"].index_select(0, tokens.slice(1, 0, length).flatten()).view({4, length, width}) + w["wpe"];
    const auto heads = torch::linear(torch::layer_norm(h, {width}), w["qkv"]).view({4, length, 3, 2, width / 2});
    const Tensor q = heads.select(2, 0).transpose(1, 2);
    const Tensor k = heads.select(2, 1).transpose(1, 2);
    const Tensor v = heads.select(2, 2).transpose(1, 2);
    const Tensor scores = torch::matmul(q, k.transpose(-1, -2)) / std::sqrt(static_cast<double>(width / 2));
    const Tensor attention = torch::softmax(scores.masked_fill(mask, -1e9), -1);
    h = h + torch::linear(torch::matmul(attention, v).transpose(1, 2).reshape({4, length, width}), w["out"]);
    h = h + torch::linear(torch::gelu(torch::linear(torch::layer_norm(h, {width}), w["up"])), w["down"]);
    return std::pair{torch::linear(torch::layer_norm(h, {width}), w["wte"]), tokens.slice(1, 1)};
  };
  model.loss = std::make_shared<lehi::CrossEntropy>();
  return model;
}

void print_numbers(const Tensor& tensor) {
  const Tensor flat = tensor.detach().to(torch::kFloat64).flatten().contiguous();
  std::printf("[");
  for (std::int64_t i = 0; i < flat.numel(); ++i) {
    std::printf("%s%.17g", i > 0 ? "," : "", flat.data_ptr<double>()[i]);
  }
  std::printf("]");
}

void run(Model model, const Case& which, bool last) {
  lehi::Options options = which.options;
  if (model.name == "gpt") {  // at larger rates, and where eps is below rounding, the last bit grows a billion times
    options.group.lr *= 0.1;
    options.group.eps = 1e-6;
  }
  lehi::Optimizer optimizer(model.weights, options);
  std::printf("{\"model\":\"%s\",\"case\":\"%s\",\"losses\":[", model.name.c_str(), which.name.c_str());
  const bool saves = model.name == "mlp cross-entropy" || model.name == "square mse";
  lehi::Optimizer::NamedState saved;
  for (std::int64_t step = 1; step <= 200; ++step) {
    const auto [predictions, target] = model.batch(step);
    const double loss = optimizer.step(predictions, *model.loss, target);
    if (step % 20 == 1) std::printf("%s%.17g", step > 1 ? "," : "", loss);
    if (step != 30 || !saves) continue;
    for (const auto& [name, tensor] : optimizer.named_state()) saved.emplace_back(name, tensor.clone());
    for (const auto& item : model.weights) saved.emplace_back("w." + item.key(), item.value().detach().clone());
  }
  std::printf("],\"weights\":{");
  const char* comma = "";
  for (const auto& item : model.weights) {
    std::printf("%s\"%s\":", std::exchange(comma, ","), item.key().c_str());
    // Of the larger model a sum that sees every weight's place.
    const Tensor flat = item.value().detach().flatten();
    const Tensor place = torch::cos(torch::arange(flat.numel(), torch::kFloat64));
    print_numbers(model.name == "gpt" ? (flat * place).sum().view({1}) : flat);
  }
  std::printf("},\"state at 30\":{");
  comma = "";
  for (const auto& [name, tensor] : saved) {
    std::printf("%s\"%s\":", std::exchange(comma, ","), name.c_str());
    print_numbers(tensor);
  }
  std::printf("}}%s\n", last ? "" : ",");
}

}  // namespace

int main() {
  const auto all = cases();
  std::printf("[\n");
  for (const Case& which : all) {
    for (const char* kind : {"cross-entropy", "bce", "mse"}) run(mlp(kind), which, false);
    run(gpt(), which, false);
  }
  const auto matrices = matrix_cases();
  for (const Case& which : matrices) run(square(), which, which.name == matrices.back().name);
  std::printf("]\n");
}
