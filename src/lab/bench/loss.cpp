// The topic "loss": cross-entropy on 4,096 x 50,257 float32 logits with value, u and v, compared with a loop that reads
// and writes as many bytes and with torch's automatic differentiation of the loss and the auxiliary loss z.
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>

#include "bench/contest.h"
#include "bench/difference.h"
#include "bench/session.h"
#include "bench/streams.h"
#include "lehi/cross_entropy.h"
#include "ops/cross_entropy.h"

namespace lehi::bench {
namespace {

using torch::Tensor;

struct TorchLoss {
  Tensor value, u, v;
};

// As a user of torch would write it: u of the mean loss, v of z = sum arcsin(2 softmax - 1), clamped where arcsin has
// no derivative. In float32 the clamping costs accuracy.
TorchLoss torch_loss(const Tensor& logits, const Tensor& targets) {
  const Tensor leaf = logits.detach().requires_grad_(true);
  const auto gradient = [&](const Tensor& of) { return torch::autograd::grad({of}, {leaf}).front(); };
  TorchLoss result;
  result.value = torch::cross_entropy_loss(leaf, targets);
  result.u = gradient(result.value);
  const double edge = logits.scalar_type() == torch::kFloat32 ? 1 - 1e-7 : 1 - 1e-15;
  result.v = gradient((2 * torch::softmax(leaf, 1) - 1).clamp(-edge, edge).arcsin().sum());
  return result;
}

ProbeRequest request_of(Probe probe, std::int64_t first_row) {
  return {.probe = probe, .scale = Scale::sqrt_n, .key = {.first_row = static_cast<std::uint64_t>(first_row)}};
}

// The difference of `ours` on the last rows to float64 values: from autograd or, if v is random, from the plain kernel.
double loss_difference(const Evaluation& ours, const Tensor& logits, const Tensor& targets, Probe probe) {
  const std::int64_t rows = std::min<std::int64_t>(64, logits.size(0));
  const auto last = [&](const Tensor& tensor) { return tensor.narrow(0, logits.size(0) - rows, rows); };
  const Tensor exact = last(logits).to(torch::kFloat64);
  Tensor u = torch::empty_like(exact);
  Tensor v = torch::empty_like(exact);
  if (probe == Probe::imitation) {
    const auto theirs = torch_loss(exact, last(targets));
    u = theirs.u * rows;
    v = theirs.v;
  } else {
    ops::CrossEntropyTask task{.logits = exact, .targets = last(targets), .probe = probe};
    task.key.first_row = static_cast<std::uint64_t>(logits.size(0) - rows);
    ops::cross_entropy_plain(task, u, v);
  }
  return largest_difference({last(ours.gradient), last(ours.probe)}, {u, v});
}

std::string check_loss_of(Session& session, Probe probe, const Tensor& logits, const Tensor& targets, Evaluation& out) {
  // u and v are rounded to float32; z loses digits of small probabilities by subtracting 1.
  constexpr double tolerance = 1e-5;
  return session.check(fmt::format("loss/{}", name(probe)), tolerance, [&] {
    CrossEntropy().evaluate(logits, targets, request_of(probe, 0), out);
    return loss_difference(out, logits, targets, probe);
  });
}

struct LossProblem {
  LossProblem(std::int64_t rows, std::int64_t classes) {
    torch::manual_seed(0);
    logits = torch::randn({rows, classes}).mul_(2);
    targets = torch::randint(0, classes, {rows}, torch::kInt64);
  }
  Tensor logits;
  Tensor targets;
  Evaluation out = {};
};

}  // namespace

void check_loss(Session& session) {
  LossProblem problem(67, 1009);
  for (const Probe probe : {Probe::imitation, Probe::gauss_newton}) {
    check_loss_of(session, probe, problem.logits, problem.targets, problem.out);
  }
}

void measure_loss(Session& session) {
  constexpr std::int64_t rows = 4096;
  constexpr std::int64_t classes = 50257;
  session.progress().show("4,096 x 50,257 logits", 0);
  LossProblem problem(rows, classes);
  const CrossEntropy loss;
  const auto ours = [&](Probe probe) {
    return
        [&problem, &loss, probe] { loss.evaluate(problem.logits, problem.targets, request_of(probe, 0), problem.out); };
  };
  const auto imitation = check_loss_of(session, Probe::imitation, problem.logits, problem.targets, problem.out);
  const auto gauss_newton = check_loss_of(session, Probe::gauss_newton, problem.logits, problem.targets, problem.out);
  Contest contest;
  contest.add("imitation", ours(Probe::imitation));
  contest.add("gauss-newton", ours(Probe::gauss_newton));
  contest.add("stream", [&] {
    stream_loss(problem.logits.data_ptr<float>(), problem.out.gradient.data_ptr<float>(),
                problem.out.probe.data_ptr<float>(), problem.logits.numel());
  });
  const int rounds = session.rounds(7);
  const auto times = contest.run(rounds, session.round_progress("ours", rounds, 0.15, 0.4));
  contest.add(
      "torch", [&] { torch_loss(problem.logits, problem.targets); }, 1, [] {});
  const int few = session.rounds(3);  // a turn of torch takes ten seconds; it has no warm-up either
  const auto beside_torch = contest.run(few, session.round_progress("torch's autodiff", few, 0.4, 1.0));
  session.add({"loss/imitation", times.ratio({{"imitation"}}, {{"stream"}}), "x stream", at_most(2), imitation});
  session.add(
      {"loss/gauss-newton", times.ratio({{"gauss-newton"}}, {{"stream"}}), "x stream", at_most(1.7), gauss_newton});
  session.add({"loss/torch", beside_torch.ratio({{"torch"}}, {{"imitation"}}), "x ours", at_least(5), imitation});
  session.add({"loss/imitation-seconds", times.median_of("imitation"), "s"});
}

}  // namespace lehi::bench
