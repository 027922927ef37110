// Numbers and commands as the strings that reports show.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lehi::report {

/// A metric's value: two decimals for accuracies, four for losses; "diverged" when it is not finite.
std::string metric_number(std::string_view metric, double value);

/// "0.2421 ± 0.0031"; without "± ..." when `spread` is not finite.
std::string with_spread(std::string_view metric, double value, double spread);

/// A difference of two values of the metric: "+0.13", "-0.0063".
std::string difference_text(std::string_view metric, double difference);

/// "-0.0081 to -0.0020"; "-" when the interval is not finite.
std::string interval_text(std::string_view metric, double low, double high);

/// A learning rate: "0.001".
std::string rate_text(double lr);

/// "the last 10 evaluations", "the last evaluation".
std::string last_evaluations(std::int64_t count);

/// "mean - 2 std" for accuracies, "mean + 2 std" for losses.
std::string score_formula(std::string_view metric);

/// A command line, quoted for a shell where needed.
std::string shell_line(const std::vector<std::string>& words);

}  // namespace lehi::report
