// Classification. A small network learns to distinguish the three arms of a spiral; three optimizers train it from the
// same start. Prints this table (the losses may differ slightly between machines) and then a map of the arm that the
// network of lehi-gn predicts at each point:
//
//   optimizer   second pull-backs   test loss   test accuracy
//   lehi                     1350      0.0008         100.0 %
//   lehi-gn                   315      0.0021         100.0 %
//   adam                        0      0.0017         100.0 %
#include <lehi/lehi.h>
#include <torch/torch.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <string>

namespace {

constexpr int arms = 3;

struct Points {
  torch::Tensor x;  // [n, 2], within about the unit circle
  torch::Tensor y;  // [n], the arm
};

Points spiral(std::int64_t per_arm) {
  const auto radius = torch::linspace(0.1, 1.0, per_arm).repeat({arms});
  const auto arm = torch::arange(arms).repeat_interleave(per_arm);
  const auto angle = 4.0 * radius + arm * (2.0 * M_PI / arms) + 0.2 * torch::randn({arms * per_arm});
  return {torch::stack({radius * angle.cos(), radius * angle.sin()}, 1), arm};
}

torch::nn::Sequential network() {
  torch::manual_seed(1);
  torch::nn::Sequential layers(torch::nn::Linear(2, 64), torch::nn::Tanh(), torch::nn::Linear(64, 64),
                               torch::nn::Tanh(), torch::nn::Linear(64, arms));
  return layers;
}

// Trains for some epochs in batches of 100 and prints a row of the table.
void train(torch::nn::Sequential& model, lehi::Optimizer& optimizer, const Points& points, const Points& test) {
  const lehi::CrossEntropy loss;
  int second_pull_backs = 0;
  for (int epoch = 0; epoch < 150; ++epoch) {
    for (const auto& rows : torch::randperm(points.y.size(0)).split(100)) {
      optimizer.step(model->forward(points.x.index_select(0, rows)), loss, points.y.index_select(0, rows));
      if (optimizer.report().second_pull_back) ++second_pull_backs;
    }
  }
  const torch::NoGradGuard no_grad;
  const auto predictions = model->forward(test.x);
  const auto accuracy = predictions.argmax(1).eq(test.y).to(torch::kFloat64).mean().item<double>();
  std::printf("%-9s   %17d   %9.4f   %11.1f %%\n", optimizer.options().name.c_str(), second_pull_backs,
              loss.evaluate(predictions, test.y).mean(), 100.0 * accuracy);
}

// Draws the predictions for the square from -1.1 to 1.1, one character per arm.
void draw(torch::nn::Sequential& model) {
  constexpr std::int64_t height = 23;
  constexpr std::int64_t width = 2 * height;  // a character is about twice as high as wide
  const torch::NoGradGuard no_grad;
  const auto grid = torch::meshgrid({torch::linspace(1.1, -1.1, height), torch::linspace(-1.1, 1.1, width)}, "ij");
  const auto arm = model->forward(torch::stack({grid[1].flatten(), grid[0].flatten()}, 1)).argmax(1);
  const std::array<const char*, arms> shades = {"░", "▒", "▓"};
  for (std::int64_t i = 0; i < arm.numel(); ++i) {
    std::printf("%s%s", shades.at(arm[i].item<int>()), (i + 1) % width == 0 ? "\n" : "");
  }
}

}  // namespace

int main() {
  torch::set_num_threads(1);  // more threads would slow down so small a network
  torch::manual_seed(0);
  const Points points = spiral(300);
  const Points test = spiral(200);

  std::printf("optimizer   second pull-backs   test loss   test accuracy\n");
  auto lehi_model = network();
  lehi::Lehi lehi_optimizer(lehi_model->named_parameters(), lehi::LehiOptions(3e-2).eps(1e-4));
  train(lehi_model, lehi_optimizer, points, test);

  auto gn_model = network();
  lehi::LehiGn gn_optimizer(gn_model->named_parameters(), lehi::LehiGnOptions(3e-3));
  train(gn_model, gn_optimizer, points, test);

  auto adam_model = network();
  lehi::Adam adam_optimizer(adam_model->named_parameters(), lehi::AdamOptions(3e-3));
  train(adam_model, adam_optimizer, points, test);

  std::printf("\n");
  draw(gn_model);
}
