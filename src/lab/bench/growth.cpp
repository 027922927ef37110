// The topic "growth": seconds per LEHI step of a GPT-2 as one size grows: parameters, batch, vocabulary or context.
#include <algorithm>
#include <memory>

#include "bench/contest.h"
#include "bench/session.h"
#include "bench/workload.h"
#include "bench/workload_difference.h"
#include "lehi/runtime.h"

namespace lehi::bench {
namespace {

struct GrowthModel {
  model::Gpt2Shape shape;
  std::int64_t rows = 4;
  std::int64_t tokens = 64;
  double size = 0.0;  // on the curve's x axis
  bool low_memory = false;
};

// Floating-point operations of a LEHI step: a forward pass and two backward passes of twice its cost, and with low
// memory one more forward pass, to recompute activations.
double step_arithmetic(const GrowthModel& model) {
  const auto& shape = model.shape;
  const auto number = [](std::int64_t value) { return static_cast<double>(value); };
  const double width = number(shape.width);
  const double linear = 2 * (12 * width * width * number(shape.layers) + width * number(shape.vocabulary));
  const double attention = 4 * width * number(model.tokens) * number(shape.layers);
  const double forward = number(model.rows * model.tokens) * (linear + attention);
  return (model.low_memory ? 6 : 5) * forward;
}

class TimedModel {
 public:
  explicit TimedModel(const GrowthModel& model)
      : workload_(gpt2_workload(model.shape, model.rows, model.tokens, model.low_memory)),
        optimizer_(workload_.network->named_parameters(), options_of(model)) {
    // Several short steps are timed together.
    workload_.step(optimizer_);
    const double seconds = seconds_of([&] { workload_.step(optimizer_); });
    calls_ = static_cast<int>(std::clamp(0.15 / seconds, 1.0, 200.0));
  }

  void step() { workload_.step(optimizer_); }
  int calls() const { return calls_; }

 private:
  static Options options_of(const GrowthModel& model) {
    Options options = frozen_options(Preset::lehi);
    options.update_during_pull_back = model.low_memory;
    if (model.low_memory) options.non_finite = NonFinite::record;
    return options;
  }

  Workload workload_;
  Optimizer optimizer_;
  int calls_ = 1;
};

// Adds one point per model to the curve. The models take turns.
void measure_points(Session& session, const std::vector<GrowthModel>& models, int rounds, GrowthCurve& curve,
                    double from, double to) {
  std::vector<std::unique_ptr<TimedModel>> timed;
  Contest contest;
  for (const GrowthModel& model : models) {
    timed.push_back(std::make_unique<TimedModel>(model));
    contest.add(
        std::to_string(timed.size()), [&one = *timed.back()] { one.step(); }, timed.back()->calls());
  }
  const auto times = contest.run(rounds, session.round_progress(curve.name, rounds, from, to));
  for (std::size_t i = 0; i < models.size(); ++i) {
    curve.points.push_back({models[i].size, step_arithmetic(models[i]), times.median_of(std::to_string(i + 1))});
  }
}

void add_curve(Session& session, const GrowthCurve& curve, const std::string& problem) {
  session.add({"growth/" + curve.name, largest_excess(curve), "x arithmetic", at_most(1.25), problem});
  session.add(curve);
}

GrowthModel model_of_width(std::int64_t width, std::int64_t layers, bool low_memory = false) {
  GrowthModel model{.shape = {.vocabulary = 8192, .context = 64, .width = width, .layers = layers, .heads = width / 64},
                    .low_memory = low_memory};
  model.size = static_cast<double>(model::parameter_count(model::gpt2_parameters(model.shape)));
  return model;
}

GrowthModel medium_model(std::int64_t rows, std::int64_t tokens, std::int64_t vocabulary, std::int64_t size) {
  return {.shape = {.vocabulary = vocabulary, .context = tokens, .width = 256, .layers = 4, .heads = 4},
          .rows = rows,
          .tokens = tokens,
          .size = static_cast<double>(size)};
}

}  // namespace

void measure_growth(Session& session) {
  const int rounds = session.rounds(3);
  const std::string problem =
      session.check("step/gpt2", workload_tolerance, [] { return workload_difference("gpt2"); });

  GrowthCurve parameters{"parameters", "weights", {}};
  measure_points(session,
                 {model_of_width(64, 6), model_of_width(128, 8), model_of_width(256, 8), model_of_width(512, 8),
                  model_of_width(768, 12)},
                 rounds, parameters, 0.0, 0.4);
  if (session.settings().growth_large) {
    const double memory = static_cast<double>(runtime::describe_host().memory_bytes);
    for (const GrowthModel& large : {model_of_width(1024, 24, true), model_of_width(2048, 24, true)}) {
      constexpr double bytes_per_weight = 14;  // weight, m and v in float32, and part of g and s
      if (large.size * bytes_per_weight > memory) {
        session.skip({"growth/parameters",
                      fmt::format("this machine has too little memory for {:.2g} weights", large.size), false});
        continue;
      }
      // One at a time, since a model with its state may fill the memory.
      measure_points(session, {large}, session.rounds(3), parameters, 0.4, 0.4);
    }
  }
  add_curve(session, parameters, problem);

  const auto curve = [&](const char* name, const char* axis, double from, const std::vector<GrowthModel>& models) {
    GrowthCurve found{name, axis, {}};
    measure_points(session, models, rounds, found, from, from + 0.2);
    add_curve(session, found, problem);
  };
  std::vector<GrowthModel> batches;
  for (const std::int64_t rows : {1, 2, 4, 8, 16, 32}) batches.push_back(medium_model(rows, 64, 8192, rows));
  curve("batch", "rows of 64 tokens", 0.4, batches);
  std::vector<GrowthModel> vocabularies;
  for (const std::int64_t size : {2048, 4096, 8192, 16384, 32768, 65536}) {
    vocabularies.push_back(medium_model(4, 64, size, size));
  }
  curve("vocabulary", "tokens in the vocabulary", 0.6, vocabularies);
  std::vector<GrowthModel> contexts;
  for (const std::int64_t tokens : {64, 128, 256, 512, 1024}) contexts.push_back(medium_model(2, tokens, 8192, tokens));
  curve("context", "tokens a row", 0.8, contexts);
}

}  // namespace lehi::bench
