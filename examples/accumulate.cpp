// Gradient accumulation, for batches that do not fit in memory: four micro-batches, one step. Except for rounding, the
// weights equal those of a step with the whole batch, also with a random probe.
// Prints "largest difference: " and a number of about 1e-16.
#include <lehi/lehi.h>

#include <cstdio>

int main() {
  torch::manual_seed(0);
  const auto x = torch::randn({64, 8}, torch::kFloat64);
  const auto y = torch::randint(5, {64}, torch::kInt64);
  const auto whole = (0.1 * torch::randn({8, 5}, torch::kFloat64)).requires_grad_();
  const auto parts = whole.detach().clone().requires_grad_();
  const lehi::CrossEntropy loss;

  lehi::LehiGn at_once(std::vector<torch::Tensor>{whole}, lehi::LehiGnOptions(1e-2));
  lehi::LehiGn in_parts(std::vector<torch::Tensor>{parts}, lehi::LehiGnOptions(1e-2));
  for (int step = 0; step < 10; ++step) {
    at_once.step(x.matmul(whole), loss, y);
    for (std::int64_t begin = 0; begin < 64; begin += 16) {
      in_parts.accumulate(x.slice(0, begin, begin + 16).matmul(parts), loss, y.slice(0, begin, begin + 16));
    }
    in_parts.step();
  }
  std::printf("largest difference: %.1e\n", (whole - parts).abs().max().item<double>());
}
