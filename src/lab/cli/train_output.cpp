#include "cli/train_output.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>
#include <vector>

#include "base/duration.h"
#include "cli/table.h"
#include "train/json_file.h"

namespace lehi::cli {
namespace {

std::string short_time(double seconds) {
  return seconds < 10.0 ? fmt::format("{:.1f} s", seconds) : base::duration_text(seconds);
}

std::string scores_of(const nlohmann::json& evaluation) {
  std::string scores;
  for (const char* key : {"validation_loss", "validation_accuracy", "test_loss", "test_accuracy"}) {
    const auto found = evaluation.find(key);
    if (found != evaluation.end() && found->is_number()) {
      scores += fmt::format("  {} {:.4g}", key, found->get<double>());
    }
  }
  return scores;
}

}  // namespace

TerminalProgress::TerminalProgress(std::ostream& err) : err_(err), terminal_(is_terminal(err)) {}

void TerminalProgress::show(const train::RunProgress& progress) {
  if (progress.evaluation != nullptr) scores_ = scores_of(*progress.evaluation);
  const bool last = progress.step == progress.total;
  if (!terminal_ && (progress.evaluation == nullptr || (progress.seconds - shown_ < 2.0 && !last))) return;
  shown_ = progress.seconds;
  const double percent = 100.0 * static_cast<double>(progress.step) / static_cast<double>(progress.total);
  const std::string line = fmt::format("{:3.0f} %  epoch {}  step {}/{}  train_loss {:.4g}{}  {} elapsed, {} left",
                                       percent, progress.epoch, progress.step, progress.total, progress.train_loss,
                                       scores_, short_time(progress.seconds), short_time(progress.seconds_left));
  if (terminal_) {
    err_ << '\r' << line << "\x1b[K" << std::flush;
    open_ = true;
  } else {
    err_ << line << '\n' << std::flush;
  }
}

void TerminalProgress::end_line() {
  if (open_) err_ << '\n';
  open_ = false;
}

void print_progress_line(const train::RunProgress& progress, std::ostream& out) {
  const nlohmann::json line = {{"step", progress.step},
                               {"total", progress.total},
                               {"epoch", progress.epoch},
                               {"seconds", progress.seconds},
                               {"train_loss", progress.train_loss}};
  out << train::to_text(line) << '\n' << std::flush;
}

void print_run_summary(const train::RunRecord& record, const std::string& directory, std::ostream& out) {
  const auto& result = record.result;
  const auto number = [&](const char* key) {
    const auto found = result.find(key);
    return found != result.end() && found->is_number() ? found->get<double>() : std::nan("");
  };
  std::vector<std::vector<std::string>> rows = {{"run", directory}};
  rows.push_back({"status", std::string(train::status_name(record.status)) +
                                (record.message.empty() ? "" : fmt::format(" ({})", record.message))});
  rows.push_back({"steps", fmt::format("{} ({:.4g} epochs)", number("steps"), number("epochs"))});
  for (const char* key : {"train_loss", "validation_loss", "validation_accuracy", "test_loss", "test_accuracy"}) {
    if (!std::isnan(number(key))) rows.push_back({key, short_number(number(key), 6)});
  }
  rows.push_back({"time", short_time(number("seconds"))});
  if (const auto split = result.find("split"); split != result.end() && number("seconds") > 0.0) {
    const auto part = [&](const char* key) { return 100.0 * split->value(key, 0.0) / number("seconds"); };
    rows.push_back({"time split", fmt::format("step {:.1f} %, batch {:.1f} %, evaluate {:.1f} %, record {:.1f} %",
                                              part("step"), part("batch"), part("evaluate"), part("record"))});
  }
  rows.push_back({"peak memory", fmt::format("{:.0f} MB", number("peak_memory_bytes") / 1e6)});
  for (const auto& notice : record.notices) rows.push_back({"notice", notice});
  for (const auto& row : rows) out << fmt::format("{:<20} {}\n", row[0], row[1]);
}

}  // namespace lehi::cli
