#include "report/format.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "study/statistics.h"

namespace lehi::report {
namespace {

int metric_digits(std::string_view metric) { return study::larger_is_better(metric) ? 2 : 4; }

std::string shell_word(const std::string& word) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+.,/:@%";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

}  // namespace

std::string metric_number(std::string_view metric, double value) {
  if (!std::isfinite(value)) return "diverged";
  return fmt::format("{:.{}f}", value + 0.0, metric_digits(metric));  // + 0.0: no "-0"
}

std::string with_spread(std::string_view metric, double value, double spread) {
  auto text = metric_number(metric, value);
  if (!std::isfinite(value) || !std::isfinite(spread)) return text;
  return fmt::format("{} ± {}", text, metric_number(metric, spread));
}

std::string difference_text(std::string_view metric, double difference) {
  return fmt::format("{:+.{}f}", difference, metric_digits(metric));
}

std::string interval_text(std::string_view metric, double low, double high) {
  if (!std::isfinite(low)) return "-";
  return fmt::format("{} to {}", difference_text(metric, low), difference_text(metric, high));
}

std::string rate_text(double lr) { return fmt::format("{:g}", lr); }

std::string last_evaluations(std::int64_t count) {
  return count == 1 ? "the last evaluation" : fmt::format("the last {} evaluations", count);
}

std::string score_formula(std::string_view metric) {
  return fmt::format("mean {} 2 std", study::larger_is_better(metric) ? "-" : "+");
}

std::string shell_line(const std::vector<std::string>& words) {
  std::vector<std::string> quoted;
  quoted.reserve(words.size());
  for (const auto& word : words) quoted.push_back(shell_word(word));
  return fmt::format("{}", fmt::join(quoted, " "));
}

}  // namespace lehi::report
