// The topic "step": times of whole steps (forward and backward passes, update) of GPT-2 small, ResNet-18 and MNIST's
// MLP, relative to AdamW steps of the same model. All optimizers of a model take turns on the same weights, at a
// learning rate so small that the weights hardly change.
#include <algorithm>
#include <array>
#include <optional>

#include "bench/contest.h"
#include "bench/session.h"
#include "bench/workload.h"
#include "bench/workload_difference.h"

namespace lehi::bench {
namespace {

struct StepBounds {
  double lehi = 0.0;
  double lehibrid = 0.0;
  double amortised = 0.0;               // lehi-gn and sophia-g
  std::optional<double> backward = {};  // lehi / (AdamW + one more backward pass)
};

struct StepPlan {
  Workload (*make)() = nullptr;
  const char* title = "";
  int rounds = 0;
  StepBounds bounds = {};
};

Workload step_gpt2() { return gpt2_workload({}, 8, 128); }
Workload step_resnet() { return resnet_workload(64); }
Workload step_mnist() { return mnist_workload(128); }

constexpr std::array<const char*, 3> step_names = {"gpt2", "resnet", "mnist"};
constexpr double refresh_period = 10;  // steps

std::string check_workload(Session& session, const std::string& name) {
  return session.check("step/" + name, workload_tolerance, [&] { return workload_difference(name); });
}

void add_plain_turns(Contest& contest, const Workload& workload, Optimizer& optimizer, int calls) {
  contest.add(
      optimizer.options().name, [&workload, &optimizer] { workload.step(optimizer); }, calls,
      [&workload, &optimizer] { workload.warm_up(optimizer); });
}

// Adds an optimizer that refreshes every tenth step and returns its mean time as a weighted sum. If a turn has at least
// ten steps, they follow this schedule (without the dense first steps). Otherwise a turn has one step that refreshes
// and one that does not, with weights 1/10 and 9/10.
Times::Sum add_refreshing(Contest& contest, const Workload& workload, Optimizer& optimizer) {
  const std::string name = optimizer.options().name;
  if (workload.steps_per_turn >= refresh_period) {
    add_plain_turns(contest, workload, optimizer, workload.steps_per_turn);
    return {{name}};
  }
  const std::string refreshing = name + ", refreshing";
  const std::string between = name + ", between";
  const auto turn = [&workload, &optimizer] {
    std::vector<double> seconds(2);
    for (int i = 0; i < 2; ++i) {
      const double one = seconds_of([&] { workload.step(optimizer); });
      seconds[optimizer.report().second_pull_back ? 0 : 1] = one;
    }
    return seconds;
  };
  contest.add_timed({refreshing, between}, turn, [&workload, &optimizer] { workload.warm_up(optimizer); });
  return {{refreshing, 1 / refresh_period}, {between, (refresh_period - 1) / refresh_period}};
}

Optimizer make_refreshing(const Workload& workload, Preset which) {
  Options options = frozen_options(which);
  const bool whole = workload.steps_per_turn >= refresh_period;
  options.recipe.schedule = {.every = whole ? static_cast<std::int64_t>(refresh_period) : 2, .dense = 0};
  return {workload.network->named_parameters(), options};
}

void measure_model(Session& session, const StepPlan& plan, double from, double to) {
  session.progress().show(plan.title, from);
  const Workload workload = plan.make();
  const std::string problem = check_workload(session, workload.name);
  const auto make = [&](Preset which) {
    return Optimizer(workload.network->named_parameters(), frozen_options(which));
  };
  Optimizer adamw = make(Preset::adamw);
  Optimizer lehi = make(Preset::lehi);
  Optimizer lehibrid = make(Preset::lehibrid);
  Optimizer lehi_gn = make_refreshing(workload, Preset::lehi_gn);
  Optimizer sophia = make_refreshing(workload, Preset::sophia_g);

  Contest contest;
  add_plain_turns(contest, workload, lehi, workload.steps_per_turn);
  if (plan.bounds.backward) {
    contest.add_timed({"backward"}, [&]() -> std::vector<double> { return {seconds_of_backward(workload)}; });
  }
  // AdamW is in the middle, so that no turn is far from the turn that it is compared with.
  add_plain_turns(contest, workload, adamw, workload.steps_per_turn);
  // LEHIBRID alternates between probe and gradient, so it needs two steps.
  add_plain_turns(contest, workload, lehibrid, std::max(2, workload.steps_per_turn));
  const auto gn_sum = add_refreshing(contest, workload, lehi_gn);
  const auto sophia_sum = add_refreshing(contest, workload, sophia);
  const int rounds = session.rounds(plan.rounds);
  const auto times = contest.run(rounds, session.round_progress(plan.title, rounds, from, to));

  const auto add = [&](const char* what, const Times::Sum& numerator, const Times::Sum& denominator, double limit) {
    session.add({"step/" + workload.name + "/" + what, times.ratio(numerator, denominator),
                 denominator.size() == 1 ? "x adamw" : "x (adamw + backward)", at_most(limit), problem});
  };
  add("lehi", {{"lehi"}}, {{"adamw"}}, plan.bounds.lehi);
  if (plan.bounds.backward) add("lehi-backward", {{"lehi"}}, {{"adamw"}, {"backward"}}, *plan.bounds.backward);
  add("lehibrid", {{"lehibrid"}}, {{"adamw"}}, plan.bounds.lehibrid);
  add("lehi-gn", gn_sum, {{"adamw"}}, plan.bounds.amortised);
  add("sophia-g", sophia_sum, {{"adamw"}}, plan.bounds.amortised);
  session.add({"step/" + workload.name + "/adamw-seconds", times.median_of("adamw"), "s"});
}

}  // namespace

void check_step(Session& session) {
  for (const char* name : step_names) check_workload(session, name);
}

void measure_step(Session& session) {
  measure_model(session, {step_mnist, "MNIST's MLP, batch 128", 11, {1.45, 1.25, 1.08, {}}}, 0.0, 0.03);
  measure_model(session, {step_resnet, "ResNet-18, batch 64", 5, {1.66, 1.34, 1.08, 1.03}}, 0.03, 0.3);
  measure_model(session, {step_gpt2, "GPT-2 small, 8 x 128 tokens", 3, {1.66, 1.34, 1.08, 1.03}}, 0.3, 1.0);
}

}  // namespace lehi::bench
