// Whole steps (forward, pull-backs, update) of GPT-2 small, ResNet-18 and MNIST's MLP, in AdamW steps of the same
// model. All optimizers of a model train the same weights by turns, at a rate that leaves them where they are.
#include <algorithm>
#include <optional>

#include "bench/contest.h"
#include "bench/session.h"
#include "bench/workload.h"

namespace lehi::bench {
namespace {

struct StepBounds {
  double lehi;
  double lehibrid;
  double amortised;                // lehi-gn and sophia-g
  std::optional<double> backward;  // lehi / (AdamW + one more backward)
};

struct StepPlan {
  Workload (*make)();
  const char* title;
  int rounds;
  StepBounds bounds;
};

Workload step_gpt2() { return gpt2_workload({}, 8, 128); }
Workload step_resnet() { return resnet_workload(64); }
Workload step_mnist() { return mnist_workload(128); }

constexpr const char* step_names[] = {"gpt2", "resnet", "mnist"};
constexpr double period = 10;

std::string check_workload(Session& session, const std::string& name) {
  return session.check("step/" + name, workload_tolerance, [&] { return workload_difference(name); });
}

void add_plain_turns(Contest& contest, const Workload& workload, Optimizer& optimizer, int calls) {
  contest.add(
      optimizer.options().name, [&workload, &optimizer] { workload.step(optimizer); }, calls,
      [&workload, &optimizer] { workload.warm_up(optimizer); });
}

// An optimizer that refreshes every tenth step. Where a turn has many steps they follow that schedule (without the
// dense first steps, which a run leaves behind). Else a turn has one step that refreshes and one that does not, and the
// cost is that of one and nine of them.
Times::Sum add_refreshing(Contest& contest, const Workload& workload, Optimizer& optimizer) {
  const std::string name = optimizer.options().name;
  if (workload.steps_a_turn >= period) {
    add_plain_turns(contest, workload, optimizer, workload.steps_a_turn);
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
  return {{refreshing, 1 / period}, {between, (period - 1) / period}};
}

Optimizer make_refreshing(const Workload& workload, Preset which) {
  Options options = still(which);
  const bool whole = workload.steps_a_turn >= period;
  options.recipe.schedule = {.every = whole ? static_cast<std::int64_t>(period) : 2, .dense = 0};
  return {workload.network->named_parameters(), options};
}

void measure_model(Session& session, const StepPlan& plan, double from, double to) {
  session.progress().say(plan.title, from);
  const Workload workload = plan.make();
  const std::string problem = check_workload(session, workload.name);
  const auto make = [&](Preset which) { return Optimizer(workload.network->named_parameters(), still(which)); };
  Optimizer adamw = make(Preset::adamw);
  Optimizer lehi = make(Preset::lehi);
  Optimizer lehibrid = make(Preset::lehibrid);
  Optimizer lehi_gn = make_refreshing(workload, Preset::lehi_gn);
  Optimizer sophia = make_refreshing(workload, Preset::sophia_g);

  Contest contest;
  add_plain_turns(contest, workload, lehi, workload.steps_a_turn);
  if (plan.bounds.backward) {
    contest.add_timed({"backward"}, [&]() -> std::vector<double> { return {seconds_of_backward(workload)}; });
  }
  // In the middle: nobody's turn is far from that of the one whom all are compared with.
  add_plain_turns(contest, workload, adamw, workload.steps_a_turn);
  // Its period is two steps: the probe, then the gradient.
  add_plain_turns(contest, workload, lehibrid, std::max(2, workload.steps_a_turn));
  const auto gn_sum = add_refreshing(contest, workload, lehi_gn);
  const auto sophia_sum = add_refreshing(contest, workload, sophia);
  const int rounds = session.rounds(plan.rounds);
  const auto times = contest.run(rounds, session.rounds_of(plan.title, rounds, from, to));

  const auto add = [&](const char* what, const Times::Sum& above, const Times::Sum& below, double limit) {
    session.add({"step/" + workload.name + "/" + what, times.ratio(above, below),
                 below.size() == 1 ? "x adamw" : "x (adamw + backward)", at_most(limit), problem});
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
