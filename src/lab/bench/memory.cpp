#include "bench/memory.h"

#include <charconv>
#include <map>

#include "bench/coprocess.h"
#include "bench/session.h"
#include "bench/torch_gpt2.h"
#include "bench/workload.h"
#include "lehi/runtime.h"
#include "runtime/message.h"

namespace lehi::bench {

const std::vector<std::string>& memory_variants() {
  static const std::vector<std::string> variants = {"lehi", "low-memory", "torch"};
  return variants;
}

std::int64_t peak_of_steps(const std::string& variant) {
  constexpr std::int64_t rows = 8;
  constexpr std::int64_t tokens = 128;
  constexpr int steps = 3;  // the peak grows a little from the second to the third
  std::function<double()> step;
  if (variant == "torch") {
    torch::manual_seed(0);
    const auto random = [&] { return torch::randint(0, model::Gpt2Shape{}.vocabulary, {rows, tokens}, torch::kInt64); };
    const auto inputs = random();
    step = torch_gpt2_step(inputs, random());
  } else if (variant == "lehi" || variant == "low-memory") {
    const auto workload = std::make_shared<Workload>(gpt2_workload({}, rows, tokens));
    const bool low = variant == "low-memory";  // as `lehi train --low-memory` does it
    Options options = frozen_options(Preset::lehi);
    options.update_during_pull_back = low;
    if (low) options.non_finite = NonFinite::record;
    const auto optimizer = std::make_shared<Optimizer>(workload->network->named_parameters(), options);
    step = [=] { return workload->step(*optimizer); };
  } else {
    throw_invalid_argument("--memory-of: there is no variant '{}'; expected lehi, low-memory or torch", variant);
  }
  for (int i = 0; i < steps; ++i) step();
  return runtime::peak_resident_bytes();
}

void measure_memory(Session& session) {
  std::map<std::string, double> bytes;
  double fraction = 0.0;
  for (const auto& variant : memory_variants()) {
    session.progress().show(variant + ", three steps", fraction);
    fraction += 1.0 / static_cast<double>(memory_variants().size());
    Coprocess process(session.settings().program, {"bench", "--memory-of", variant});
    std::int64_t peak = 0;
    const auto line = process.read_line();
    if (line) std::from_chars(line->data(), line->data() + line->size(), peak);
    if (peak > 0) {
      bytes[variant] = static_cast<double>(peak);
      session.add({"memory/" + variant + "-peak", 1e-9 * bytes[variant], "GB"});
    } else {
      session.skip({fmt::format("memory/{}-peak", variant),
                    fmt::format("the process that trains GPT-2 ({}) ended: {}", variant, process.last_error()), false});
    }
  }
  const auto ratio = [&](const std::string& variant, double limit) {
    if (bytes.contains(variant) && bytes.contains("torch")) {
      session.add({"memory/" + variant, bytes[variant] / bytes["torch"], "x torch", at_most(limit)});
    } else {
      session.skip({"memory/" + variant, "one of its two processes ended early"});
    }
  };
  ratio("lehi", 1.0);
  ratio("low-memory", 0.75);
}

}  // namespace lehi::bench
