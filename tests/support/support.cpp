#include "support/support.h"

#include <torch/csrc/autograd/autograd.h>

#include <cstring>
#include <exception>
#include <fstream>
#include <limits>
#include <stdexcept>

namespace lehi::testing {

nlohmann::json read_data(const std::string& file) {
  std::ifstream stream(std::string(LEHI_TEST_DATA) + "/" + file);
  if (!stream) throw std::runtime_error("tests/data/" + file + " is missing from the checkout");
  return nlohmann::json::parse(stream);
}

double relative_difference(const torch::Tensor& a, const torch::Tensor& b) {
  const auto exact = b.detach().to(torch::kFloat64);
  const double difference = (a.detach().to(torch::kFloat64) - exact).norm().item<double>();
  const double size = exact.norm().item<double>();
  if (difference == 0.0) return 0.0;
  return size > 0.0 ? difference / size : std::numeric_limits<double>::infinity();
}

bool same_bits(const torch::Tensor& a, const torch::Tensor& b) {
  if (a.dtype() != b.dtype() || a.sizes() != b.sizes()) return false;
  const auto left = a.detach().contiguous();
  const auto right = b.detach().contiguous();
  return left.nbytes() == 0 || std::memcmp(left.data_ptr(), right.data_ptr(), left.nbytes()) == 0;
}

torch::Tensor gradient_of(const torch::Tensor& y, const torch::Tensor& x) {
  return torch::autograd::grad({y}, {x}, {}, /*retain_graph=*/true, /*create_graph=*/true).at(0);
}

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace lehi::testing
