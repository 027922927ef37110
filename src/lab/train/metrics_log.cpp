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

// Many tiny lines need many times their text's memory. Those of a run take five times; a log of more is none of ours.
constexpr std::size_t kMostMemory = std::size_t{56} << 20;
constexpr std::size_t kMostMemoryPerByte = 8;

struct Kept {
  std::vector<json> lines;
  std::size_t bytes = 0;  ///< that the lines take at the beginning of the file
};

/// The lines up to `step`. Those after the first later one are not looked at: they are about to go.
Kept keep(std::string_view text, std::int64_t step, const std::filesystem::path& path) {
  Kept kept;
  std::int64_t last = -1;
  std::size_t memory = 0;
  while (kept.bytes < text.size()) {
    const auto end = text.find('\n', kept.bytes);
    if (end == std::string_view::npos) break;  // torn: a line is whole when its newline is there
    const auto where = fmt::format("{}, line {}", path.string(), kept.lines.size() + 1);
    auto line = parse_json(text.substr(kept.bytes, end - kept.bytes), where);
    const auto line_step = count_field(line, "step", where);
    if (line_step <= last) throw FileError(fmt::format("{}: step {} comes after step {}", where, line_step, last));
    if (line_step > step) break;
    last = line_step;
    memory += memory_of(line);
    if (memory > kMostMemory + kMostMemoryPerByte * text.size()) {
      throw FileError(fmt::format("{}: the log holds more values than one of {} bytes may", where, text.size()));
    }
    kept.lines.push_back(std::move(line));
    kept.bytes = end + 1;
  }
  return kept;
}

}  // namespace

std::vector<json> read_metrics(const std::filesystem::path& path) {
  return keep(read_text(path, kLargestLog), kEveryStep, path).lines;
}

MetricsLog MetricsLog::create(const std::filesystem::path& path) {
  publish_text(path, "");
  return {path, {}};
}

MetricsLog MetricsLog::resume(const std::filesystem::path& path, std::int64_t step) {
  const auto text = read_text(path, kLargestLog);
  auto kept = keep(text, step, path);
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
    throw_invalid_argument("metrics of step {} were appended after those of step {}", step, last_step_);
  file_.write(to_text(line) + "\n");
  last_step_ = step;
}

}  // namespace lehi::train
