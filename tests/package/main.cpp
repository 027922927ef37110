// One LEHI step on l = (w - 1)^2 / 2 from w = 0 with rate 0.1 and b1 = 0: m = g = -1, v = s^2 = 1, so w becomes 0.1.
#include <lehi/lehi.h>

#include <cstdio>

int main() {
  auto w = torch::zeros({1}, torch::requires_grad());
  lehi::Lehi optimizer(std::vector<torch::Tensor>{w}, lehi::LehiOptions(0.1).betas(0.0, 0.999).eps(1e-12));
  const double value = optimizer.step(w * 1.0, lehi::MeanSquaredError(), torch::ones({1}));
  std::printf("lehi %s: loss %.3f, w %.3f\n", LEHI_VERSION, value, w.item<double>());
}
