#include "data/column_encoding.h"

#include <cmath>
#include <limits>
#include <map>

#include "base/numbers.h"
#include "data/error.h"

namespace lehi::data {
namespace {

torch::Tensor float_columns(std::size_t rows, std::size_t columns) {
  return torch::zeros({static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)}, torch::kFloat32);
}

}  // namespace

// Sums sequentially in float64: a parallel sum would round differently on another machine.
torch::Tensor standardised(const std::vector<double>& values, std::size_t train, const std::string& name) {
  double sum = 0.0;
  for (std::size_t i = 0; i < train; ++i) sum += values[i];
  const double mean = sum / static_cast<double>(train);
  double squares = 0.0;
  for (std::size_t i = 0; i < train; ++i) squares += (values[i] - mean) * (values[i] - mean);
  const double variance = squares / static_cast<double>(train);
  if (!std::isnormal(variance)) {
    throw_data_error("column '{}' can't be standardised: its variance is {}; rescale the column", name, variance);
  }
  auto result = float_columns(values.size(), 1);
  auto* out = result.data_ptr<float>();
  const double deviation = std::sqrt(variance);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double scaled = (values[i] - mean) / deviation;
    // A value of a test row may be far outside the range of the training rows.
    if (std::abs(scaled) > std::numeric_limits<float>::max()) {
      throw_data_error(
          "column '{}' can't be standardised: {}, divided by the standard deviation {}, is too large for float32; "
          "correct the value or rescale the column",
          name, values[i], deviation);
    }
    out[i] = static_cast<float>(scaled);
  }
  return result;
}

torch::Tensor one_hot(const Strings& values, std::size_t train, const std::string& name,
                      std::vector<std::string>& notices) {
  std::map<std::string, std::size_t> category;
  for (std::size_t i = 0; i < train; ++i) category.emplace(values[i], 0);
  if (category.size() > max_categories) {
    const auto example =
        std::find_if(values.begin(), values.end(), [](const auto& value) { return !base::parse_number(value); });
    throw_data_error(
        "column '{}' has {} different strings (such as '{}'), but at most {} can become inputs; correct its values or "
        "remove the column",
        name, category.size(), *example, max_categories);
  }
  std::size_t next = 0;
  for (auto& [value, index] : category) index = next++;
  auto result = float_columns(values.size(), category.size());
  auto* out = result.data_ptr<float>();
  std::int64_t unseen = 0;
  for (std::size_t i = 0; i < values.size(); ++i, out += category.size()) {
    const auto found = category.find(values[i]);
    if (found != category.end()) {
      out[found->second] = 1.0F;
    } else {
      ++unseen;
    }
  }
  if (unseen > 0) {
    notices.push_back(fmt::format(
        "{} test rows have a category of column '{}' that no training row has; it becomes all zeros", unseen, name));
  }
  return result;
}

}  // namespace lehi::data
