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

std::function<void(int)> Session::rounds_of(const std::string& what, int rounds, double from, double to) {
  return [this, what, rounds, from, to](int round) {
    progress_.say(round == 0 ? what + ", warming up" : fmt::format("{}, round {} of {}", what, round, rounds),
                  from + (to - from) * round / (rounds + 1));
  };
}

std::string Session::check(const std::string& name, double tolerance, const std::function<double()>& difference) {
  const auto known =
      std::find_if(checks_.begin(), checks_.end(), [&](const Measurement& figure) { return figure.name == name; });
  if (known != checks_.end()) return known->problem;
  Measurement figure{.name = name, .value = difference(), .unit = "relative difference", .bound = at_most(tolerance)};
  if (!is_ok(figure)) {
    figure.problem = fmt::format("{} differs from the plain version by {:.2g}, which is more than {:g}", name,
                                 figure.value, tolerance);
    err_ << fmt::format("lehi: {}\n", figure.problem);
  }
  checks_.push_back(figure);
  return figure.problem;
}

std::vector<Measurement> Session::figures() const { return settings_.correctness ? checks_ : figures_; }

const std::vector<Topic>& topics() {
  static const std::vector<Topic> table = {
      {"update", "the sweep over weights and state, beside a loop that streams the same bytes", 60, check_update,
       measure_update},
      {"loss", "cross-entropy with u and v, beside a loop that streams the same bytes", 70, check_loss, measure_loss},
      {"step", "whole steps of LEHI and others, in AdamW steps of the same model", 260, check_step, measure_step},
      {"torch", "our AdamW step beside PyTorch's, in a Python process that takes turns", 80, no_checks, measure_torch},
      {"machine", "the part of the machine's matrix-product rate that a GPT-2 step reaches", 30, no_checks,
       measure_machine},
      {"memory", "peak memory of GPT-2 small, each in a process of its own", 60, no_checks, measure_memory},
      {"growth", "time a step against parameters, batch, vocabulary and context", 60, no_checks, measure_growth},
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
