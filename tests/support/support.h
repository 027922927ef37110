// Shared by many tests: data files and comparisons.
#pragma once

#include <torch/types.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

namespace lehi::testing {

/// Reads a JSON file in tests/data.
nlohmann::json read_data(const std::string& file);

/// |a - b| / |b|, 2-norms in float64; 0 when both are 0, infinity when only b is.
double relative_difference(const torch::Tensor& a, const torch::Tensor& b);

/// True when both have the same dtype, shape and bits (NaNs compare by bits).
bool same_bits(const torch::Tensor& a, const torch::Tensor& b);

/// dy/dx by torch's autograd, itself differentiable.
torch::Tensor gradient_of(const torch::Tensor& y, const torch::Tensor& x);

/// The message of the std::exception that `action` throws; "" if it throws none.
std::string message_of(const std::function<void()>& action);

}  // namespace lehi::testing
