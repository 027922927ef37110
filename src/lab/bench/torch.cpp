// The topic "torch": lehi's AdamW step compared with the same step in PyTorch, in a Python process that takes turns.
#include <map>
#include <memory>
#include <optional>

#include "bench/contest.h"
#include "bench/session.h"
#include "bench/torch_peer.h"
#include "bench/workload.h"
#include "bench/workload_difference.h"
#include "train/embedded.h"

namespace lehi::bench {
namespace {

struct PeerPlan {
  std::string model;
  std::string title;
  Workload (*make)() = nullptr;
  TorchPeer::Setup setup = TorchPeer::Setup::tuned;
  Bound bound;                                 // for `setup`
  std::optional<TorchPeer::Setup> other = {};  // measured too, without a bound
  int rounds = 0;
};

std::string torch_measurement_name(const std::string& model, TorchPeer::Setup setup) {
  return fmt::format("torch/{}-{}", model, setup == TorchPeer::Setup::tuned ? "tuned" : "installed");
}

void measure_beside(Session& session, const PeerPlan& plan, double from, double to) {
  session.progress().show(plan.title, from);
  std::map<std::string, std::unique_ptr<TorchPeer>> peers;
  const auto start = [&](TorchPeer::Setup setup) {
    const auto script = train::embedded_text("bench/torch_steps.py");
    if (!script) throw NoTorch("bench/torch_steps.py is not part of this program: the build is incomplete");
    peers[torch_measurement_name(plan.model, setup)] =
        std::make_unique<TorchPeer>(session.settings().python, std::string(*script), plan.model, setup);
  };
  try {
    start(plan.setup);
    if (plan.other) start(*plan.other);
    const std::string name = "step/" + plan.model;
    std::string problem = session.check(name, workload_tolerance, [&] { return workload_difference(plan.model); });
    const Workload workload = plan.make();
    const std::int64_t parameters = model::parameter_count(*workload.network);
    Optimizer adamw(workload.network->named_parameters(), frozen_options(Preset::adamw));
    const int steps = workload.steps_per_turn;
    Contest contest;
    contest.add(
        "ours", [&] { workload.step(adamw); }, steps);
    for (auto& [measured, peer] : peers) {
      if (peer->parameters() != parameters) {
        problem = fmt::format("{}: torch's model has {} parameters, ours {}", measured, peer->parameters(), parameters);
      }
      contest.add_timed({measured},
                        [&peer = *peer, steps]() -> std::vector<double> { return {peer.seconds_of_steps(steps)}; });
    }
    const int rounds = session.rounds(plan.rounds);
    const auto times = contest.run(rounds, session.round_progress(plan.title, rounds, from, to));
    for (const auto& [measured, peer] : peers) {
      Measurement result{measured, times.ratio({{measured}}, {{"ours"}}), "x ours", {}, problem};
      if (measured == torch_measurement_name(plan.model, plan.setup)) result.bound = plan.bound;
      session.add(result);
    }
    session.add({"torch/" + plan.model + "-ours-seconds", times.median_of("ours"), "s"});
  } catch (const NoTorch& error) {
    session.skip({torch_measurement_name(plan.model, plan.setup), error.what()});
  }
}

}  // namespace

void measure_torch(Session& session) {
  using enum TorchPeer::Setup;
  measure_beside(
      session,
      {"mnist", "MNIST's MLP, batch 128", [] { return mnist_workload(128); }, installed, at_least(3), tuned, 11}, 0.0,
      0.1);
  measure_beside(session,
                 {"resnet", "ResNet-18, batch 64", [] { return resnet_workload(64); }, tuned, at_least(1), {}, 3}, 0.1,
                 0.4);
  measure_beside(
      session,
      {"gpt2", "GPT-2 small, 4 x 64 tokens", [] { return gpt2_workload({}, 4, 64); }, tuned, at_least(2), {}, 5}, 0.4,
      1.0);
}

}  // namespace lehi::bench
