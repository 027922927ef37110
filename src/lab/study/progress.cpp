#include "study/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ostream>
#include <string_view>
#include <utility>

#include "base/duration.h"
#include "study/names.h"
#include "study/statistics.h"

namespace lehi::study {
namespace {

constexpr double kRedrawInterval = 0.2;    // seconds, on a terminal
constexpr double kSummaryInterval = 10.0;  // seconds, elsewhere

std::string label_of(const StudyRun& run) { return run_label(run.task, run.variant, run.lr, run.seed); }

std::string left_text(const std::optional<double>& seconds) {
  return seconds ? fmt::format("about {} left", base::duration_text(*seconds)) : "";
}

}  // namespace

StudyProgress::Style StudyProgress::style_for(bool terminal) {
  const auto set = [](const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0';
  };
  const char* kind = std::getenv("TERM");
  Style style{.live = terminal && !set("NO_COLOR") && kind != nullptr && std::string_view(kind) != "dumb"};
  winsize size{};
  if (style.live && ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20) style.width = size.ws_col;
  return style;
}

StudyProgress::StudyProgress(std::ostream& err, Style style, std::size_t jobs, const std::vector<StudyRun>& runs,
                             std::vector<StudyRun> expected)
    : err_(err), style_(style), jobs_(jobs) {
  replace(runs, std::move(expected));
}

void StudyProgress::replace(const std::vector<StudyRun>& runs, std::vector<StudyRun> expected) {
  runs_ = runs;
  expected_ = std::move(expected);
  ended_.clear();
  ended_.reserve(runs_.size());
  for (const auto& run : runs_) ended_.push_back(run.finished() || run.status == train::RunStatus::failed);
}

void StudyProgress::started(std::size_t run, double now) {
  ended_[run] = false;
  running_[run].since = now;
  if (!style_.live) print(fmt::format("{}: started", label_of(runs_[run])));
}

void StudyProgress::reported(std::size_t run, const ProgressLine& line, double now) {
  auto& state = running_[run];
  if (!state.first) {
    state.first = line;
    state.first_at = now;
  }
  state.latest = line;
  state.latest_at = now;
}

void StudyProgress::ended(std::size_t run, const StudyRun& how, double now) {
  const auto& state = running_[run];
  const double seconds = now - state.since;
  const bool complete = how.done() && state.first && state.first->step * 10 < state.first->total;
  if (complete) durations_[kind_of(runs_[run])].push_back(seconds);
  running_.erase(run);
  ended_[run] = true;
  runs_[run] = how;
  std::string text = fmt::format("{}: {} in {}", label_of(how), status_text(how), base::duration_text(seconds));
  if (how.done()) text += fmt::format(", {} {:.5g}", how.metric, how.mean(how.metric));
  if (!how.done() && !how.message.empty()) text += fmt::format(": {}", how.message);
  print(text);
}

void StudyProgress::print(const std::string& sentence) {
  clear();
  err_ << "lehi: " << sentence << '\n' << std::flush;
  drawn_at_ = -1e9;
}

std::optional<double> StudyProgress::seconds_left(std::size_t run, double now) const {
  const auto found = running_.find(run);
  if (found == running_.end()) return {};
  const auto& state = found->second;
  if (!state.latest || state.latest->step <= state.first->step) return {};
  const double speed =
      static_cast<double>(state.latest->step - state.first->step) / std::max(state.latest_at - state.first_at, 1e-9);
  const double left = static_cast<double>(state.latest->total - state.latest->step) / speed;
  return std::max(left - (now - state.latest_at), 0.0);
}

// The mean duration of runs of the same task and optimizer, else of the same task, else of all runs.
std::optional<double> StudyProgress::expected_duration(const StudyRun& run, const Durations& known) {
  if (const auto own = known.find(kind_of(run)); own != known.end()) return mean_of(own->second);
  std::vector<double> same_task;
  std::vector<double> all;
  for (const auto& [kind, durations] : known) {
    all.push_back(mean_of(durations));
    if (kind.first == run.task) same_task.push_back(all.back());
  }
  if (all.empty()) return {};
  return mean_of(same_task.empty() ? all : same_task);
}

std::optional<double> StudyProgress::seconds_left(double now) const {
  auto known = durations_;
  double sum = 0.0;
  double longest = 0.0;
  for (const auto& [run, state] : running_) {
    const auto left = seconds_left(run, now);
    if (!left) return {};
    known[kind_of(runs_[run])].push_back(now - state.since + *left);
    sum += *left;
    longest = std::max(longest, *left);
  }
  auto waiting = expected_;
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    if (!ended_[i] && running_.count(i) == 0) waiting.push_back(runs_[i]);
  }
  for (const auto& run : waiting) {
    const auto duration = expected_duration(run, known);
    if (!duration) return {};
    sum += *duration;
  }
  return std::max(longest, sum / static_cast<double>(jobs_));
}

std::string StudyProgress::summary(double now) const {
  const auto ended = std::count(ended_.begin(), ended_.end(), true);
  std::string text =
      fmt::format("{} of {} runs ended, {} running", ended, runs_.size() + expected_.size(), running_.size());
  if (const auto left = left_text(seconds_left(now)); !left.empty()) text += ", " + left;
  return text;
}

std::string StudyProgress::line_of(std::size_t run, double now) const {
  const auto& state = running_.at(run);
  std::size_t longest = 0;
  for (const auto& [other, ignored] : running_) longest = std::max(longest, label_of(runs_[other]).size());
  std::string text = fmt::format("  {:<{}}", label_of(runs_[run]), longest);
  if (!state.latest) return text + "  starting";
  const auto& latest = *state.latest;
  text += fmt::format("  {:3.0f} %", 100.0 * static_cast<double>(latest.step) / static_cast<double>(latest.total));
  text += fmt::format("  epoch {}", latest.epoch);
  if (std::isfinite(latest.train_loss)) text += fmt::format("  loss {:.4g}", latest.train_loss);
  if (const auto left = left_text(seconds_left(run, now)); !left.empty()) text += "  " + left;
  return text;
}

void StudyProgress::tick(double now) {
  if (now - drawn_at_ < (style_.live ? kRedrawInterval : kSummaryInterval)) return;
  const bool first = drawn_at_ < 0.0;
  drawn_at_ = now;
  if (!style_.live) {
    if (!first) err_ << "lehi: " << summary(now) << '\n' << std::flush;
    return;
  }
  std::vector<std::string> lines;
  lines.reserve(running_.size() + 1);
  for (const auto& [run, state] : running_) lines.push_back(line_of(run, now));
  lines.push_back("  " + summary(now));
  std::string text = drawn_lines_ > 0 ? fmt::format("\x1b[{}A\r\x1b[J", drawn_lines_) : "";
  for (const auto& line : lines) text += line.substr(0, static_cast<std::size_t>(style_.width - 1)) + "\n";
  drawn_lines_ = static_cast<int>(lines.size());
  err_ << text << std::flush;
}

void StudyProgress::clear() {
  if (drawn_lines_ > 0) err_ << fmt::format("\x1b[{}A\r\x1b[J", drawn_lines_) << std::flush;
  drawn_lines_ = 0;
}

}  // namespace lehi::study
