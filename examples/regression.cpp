// A custom loss. Fits a straight line to points, a fifth of which are outliers, with the mean squared error and with
// the Cauchy loss, whose derivatives are computed by automatic differentiation. Prints (the last digits may differ):
//
//   mse:    y = 1.86 x + 1.13
//   cauchy: y = 1.98 x - 0.96
#include <lehi/lehi.h>

#include <cstdio>

namespace {

void fit(const char* name, const lehi::Loss& loss, const torch::Tensor& x, const torch::Tensor& y) {
  const auto slope = torch::zeros({1}, torch::requires_grad());
  const auto offset = torch::zeros({1}, torch::requires_grad());
  lehi::Lehi optimizer(std::vector<torch::Tensor>{slope, offset}, lehi::LehiOptions(1.0).eps(1e-2));
  for (int step = 0; step < 1000; ++step) optimizer.step(slope * x + offset, loss, y);
  const auto b = offset.item<double>();
  std::printf("%-7s y = %.2f x %c %.2f\n", name, slope.item<double>(), b < 0 ? '-' : '+', std::abs(b));
}

}  // namespace

int main() {
  torch::manual_seed(0);
  const auto x = torch::linspace(0, 2, 200);
  const auto outlier = torch::arange(200).remainder(5).eq(0);
  const auto y = 2 * x - 1 + 0.1 * torch::randn({200}) + 10 * outlier;

  // One value per prediction, without the mean. For outliers its curvature is negative; lehi uses the absolute value.
  const lehi::Automatic cauchy(
      [](const torch::Tensor& p, const torch::Tensor& t) { return torch::log1p((p - t).square()); });
  fit("mse:", lehi::MeanSquaredError(), x, y);
  fit("cauchy:", cauchy, x, y);
}
