#include "study/progress_line.h"

#include <nlohmann/json.hpp>
#include <string>

#include "study/json.h"

namespace lehi::study {

std::optional<ProgressLine> parse_progress_line(std::string_view line) {
  const auto object = nlohmann::json::parse(line.begin(), line.end(), nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return {};
  const auto count = [&](const char* key) -> std::optional<std::int64_t> {
    const auto found = object.find(key);
    if (found == object.end() || !found->is_number_integer() || found->get<std::int64_t>() < 0) return {};
    return found->get<std::int64_t>();
  };
  const auto step = count("step");
  const auto total = count("total");
  if (!step || !total || *total == 0) return {};
  return ProgressLine{.step = *step,
                      .total = *total,
                      .epoch = count("epoch").value_or(0),
                      .train_loss = number_or_nan(object, "train_loss")};
}

}  // namespace lehi::study
