#include "train/metrics_log.h"

#include <fmt/format.h>

#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/message.h"
#include "train/json_file.h"

namespace lehi::train {
namespace {

using nlohmann::json;

constexpr std::uint64_t kLargestLog = std::uint64_t{1} << 30;
constexpr std::int64_t kEveryStep = std::numeric_limits<std::int64_t>::max();

// A log of many tiny lines needs many times the memory of its text. That of a run needs five times.
constexpr std::size_t kMostMemory = std::size_t{56} << 20;
constexpr std::size_t kMostMemoryPerByte = 8;

struct ParsedLines {
  std::vector<json> lines;
  std::size_t bytes = 0;  ///< length of the lines in the file
};

/// The lines up to `step`. What follows the first line of a later step is not parsed: it will be removed.
ParsedLines lines_up_to(std::string_view text, std::int64_t step, const std::filesystem::path& path) {
  ParsedLines kept;
  std::int64_t last = -1;
  std::size_t memory = 0;
  while (kept.bytes < text.size()) {
    const auto end = text.find('\n', kept.bytes);
    if (end == std::string_view::npos) break;  // incomplete: a line ends with its newline
    const auto where = fmt::format("{}, line {}", path.string(), kept.lines.size() + 1);
    auto line = parse_json(text.substr(kept.bytes, end - kept.bytes), where);
    const auto line_step = count_field(line, "step", where);
    if (line_step <= last) throw FileError(fmt::format("{}: step {} comes after step {}", where, line_step, last));
    if (line_step > step) break;
    last = line_step;
    memory += memory_of(line);
    if (memory > kMostMemory + kMostMemoryPerByte * text.size()) {
      throw FileError(fmt::format("{}: the log has too many values for its {} bytes", where, text.size()));
    }
    kept.lines.push_back(std::move(line));
    kept.bytes = end + 1;
  }
  return kept;
}

}  // namespace

std::vector<json> read_metrics(const std::filesystem::path& path) {
  return lines_up_to(read_text(path, kLargestLog), kEveryStep, path).lines;
}

MetricsLog MetricsLog::create(const std::filesystem::path& path) {
  publish_text(path, "");
  return {path, {}};
}

MetricsLog MetricsLog::resume(const std::filesystem::path& path, std::int64_t step) {
  const auto text = read_text(path, kLargestLog);
  auto kept = lines_up_to(text, step, path);
  if (kept.bytes != text.size()) publish_text(path, std::string_view(text).substr(0, kept.bytes));
  return {path, std::move(kept.lines)};
}

MetricsLog::MetricsLog(const std::filesystem::path& path, std::vector<json> kept)
    : kept_(std::move(kept)), file_(path, OutputFile::Mode::append) {
  if (!kept_.empty()) last_step_ = kept_.back().at("step").get<std::int64_t>();
}

void MetricsLog::append(const json& line) {
  const auto step = count_field(line, "step", "a line of metrics");
  if (step <= last_step_)
    throw_invalid_argument("metrics of step {} cannot be appended after those of step {}", step, last_step_);
  file_.write(to_text(line) + "\n");
  last_step_ = step;
}

}  // namespace lehi::train
