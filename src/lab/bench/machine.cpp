// The topic "machine": the share of the machine's speed that a language model's AdamW step reaches. Its operations per
// second (6 x parameters x tokens: 2 forward, 4 backward) are divided by those of a large matrix product, which takes
// turns with it.
#include "bench/contest.h"
#include "bench/session.h"
#include "bench/workload.h"
#include "bench/workload_difference.h"

namespace lehi::bench {

void measure_machine(Session& session) {
  constexpr std::int64_t rows = 8;
  constexpr std::int64_t tokens = 128;
  constexpr std::int64_t n =
      2048;  // three matrices of 16 MiB, so that starting threads and packing take little of the time
  constexpr int products = 8;
  session.progress().show("GPT-2 small, 8 x 128 tokens", 0);
  const std::string problem =
      session.check("step/gpt2", workload_tolerance, [] { return workload_difference("gpt2"); });
  const Workload workload = gpt2_workload({}, rows, tokens);
  Optimizer adamw(workload.network->named_parameters(), frozen_options(Preset::adamw));
  const torch::Tensor a = torch::rand({n, n});
  const torch::Tensor b = torch::rand({n, n});
  torch::Tensor c = torch::empty({n, n});

  Contest contest;
  contest.add(
      "adamw", [&] { workload.step(adamw); }, 1, [&] { workload.warm_up(adamw); });
  contest.add(
      "product", [&] { torch::mm_out(c, a, b); }, products);
  const int rounds = session.rounds(3);
  const auto times = contest.run(rounds, session.round_progress("AdamW beside matrix products", rounds, 0.2, 1.0));
  const double step_operations = 6.0 * static_cast<double>(model::parameter_count(*workload.network)) * rows * tokens;
  const double product_operations = 2.0 * n * n * n;
  session.add({"machine/sgemm", 1e-9 * product_operations / times.median_of("product"), "GFLOP/s"});
  session.add({"machine/gpt2-adamw", 1e-9 * step_operations / times.median_of("adamw"), "GFLOP/s"});
  session.add({"machine/gpt2-share", step_operations / product_operations * times.ratio({{"product"}}, {{"adamw"}}),
               "of sgemm", at_least(0.55), problem});
}

}  // namespace lehi::bench
