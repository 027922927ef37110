#include "bench/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

namespace lehi::bench {
namespace {

bool is_chosen(const Settings& settings, std::string_view name) {
  return settings.topics.empty() ||
         std::find(settings.topics.begin(), settings.topics.end(), name) != settings.topics.end();
}

void no_checks(Session& /*session*/) {}

}  // namespace

Session::Session(Settings settings, BenchProgress& progress, std::ostream& err)
    : settings_(std::move(settings)), progress_(progress), err_(err) {}

std::function<void(int)> Session::round_progress(const std::string& what, int rounds, double from, double to) {
  return [this, what, rounds, from, to](int round) {
    progress_.show(round == 0 ? what + ", warming up" : fmt::format("{}, round {} of {}", what, round, rounds),
                   from + (to - from) * round / (rounds + 1));
  };
}

std::string Session::check(const std::string& name, double tolerance, const std::function<double()>& difference) {
  const auto known =
      std::find_if(checks_.begin(), checks_.end(), [&](const Measurement& check) { return check.name == name; });
  if (known != checks_.end()) return known->problem;
  Measurement check{.name = name, .value = difference(), .unit = "relative difference", .bound = at_most(tolerance)};
  if (!is_ok(check)) {
    check.problem = fmt::format("{} differs from the plain version by {:.2g}, which is more than {:g}", name,
                                check.value, tolerance);
    err_ << fmt::format("lehi: {}\n", check.problem);
  }
  checks_.push_back(check);
  return check.problem;
}

std::vector<Measurement> Session::measurements() const { return settings_.correctness ? checks_ : measurements_; }

const std::vector<Topic>& topics() {
  static const std::vector<Topic> table = {
      {"update", "weight updates, relative to a loop that streams the same bytes", 60, check_update, measure_update},
      {"loss", "cross-entropy with u and v, relative to a loop that streams the same bytes", 70, check_loss,
       measure_loss},
      {"step", "whole steps of LEHI and others, relative to AdamW steps of the same model", 260, check_step,
       measure_step},
      {"shapes", "steps of the matrix optimizers at large batches, relative to AdamW steps", 1500, no_checks,
       measure_shapes},
      {"torch", "PyTorch's AdamW steps in a Python process, relative to lehi's", 80, no_checks, measure_torch},
      {"machine", "share of the matrix-product speed that a GPT-2 step reaches", 30, no_checks, measure_machine},
      {"memory", "peak memory of training GPT-2 small, relative to LibTorch's AdamW", 60, no_checks, measure_memory},
      {"growth", "time per step as parameters, batch, vocabulary and context grow", 60, no_checks, measure_growth},
  };
  return table;
}

double expected_seconds(const Settings& settings) {
  double seconds = 0.0;
  for (const Topic& topic : topics()) {
    if (is_chosen(settings, topic.name)) seconds += topic.expected_seconds;
  }
  return seconds;
}

void run_topics(Session& session) {
  for (const Topic& topic : topics()) {
    if (!is_chosen(session.settings(), topic.name)) continue;
    session.progress().begin(std::string(topic.name), topic.expected_seconds);
    (session.settings().correctness ? topic.check : topic.measure)(session);
  }
}

}  // namespace lehi::bench
