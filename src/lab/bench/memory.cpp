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

const std::vector<std::string>& memory_ways() {
  static const std::vector<std::string> ways = {"lehi", "low-memory", "torch"};
  return ways;
}

std::int64_t peak_of_steps(const std::string& way) {
  constexpr std::int64_t rows = 8;
  constexpr std::int64_t tokens = 128;
  constexpr int steps = 3;  // the peak still grows a little from the second to the third
  std::function<double()> step;
  if (way == "torch") {
    torch::manual_seed(0);
    const auto random = [&] { return torch::randint(0, model::Gpt2Shape{}.vocabulary, {rows, tokens}, torch::kInt64); };
    const auto inputs = random();
    step = torch_gpt2_step(inputs, random());
  } else if (way == "lehi" || way == "low-memory") {
    const auto workload = std::make_shared<Workload>(gpt2_workload({}, rows, tokens));
    const bool low = way == "low-memory";  // as `lehi train --low-memory` does it
    Options options = still(Preset::lehi);
    options.update_during_pull_back = low;
    if (low) options.non_finite = NonFinite::record;
    const auto optimizer = std::make_shared<Optimizer>(workload->network->named_parameters(), options);
    step = [=] { return workload->step(*optimizer); };
  } else {
    throw_invalid_argument("there is no way '{}' to train GPT-2: expected lehi, low-memory or torch", way);
  }
  for (int i = 0; i < steps; ++i) step();
  return runtime::peak_resident_bytes();
}

void measure_memory(Session& session) {
  std::map<std::string, double> bytes;
  double fraction = 0.0;
  for (const auto& way : memory_ways()) {
    session.progress().say(way + ", three steps", fraction);
    fraction += 1.0 / static_cast<double>(memory_ways().size());
    Coprocess process(session.settings().program, {"bench", "--memory-of", way});
    std::int64_t peak = 0;
    const auto line = process.read_line();
    if (line) std::from_chars(line->data(), line->data() + line->size(), peak);
    if (peak > 0) {
      bytes[way] = static_cast<double>(peak);
      session.add({"memory/" + way + "-peak", 1e-9 * bytes[way], "GB"});
    } else {
      session.skip({fmt::format("memory/{}-peak", way),
                    fmt::format("the process that trains GPT-2 ({}) ended: {}", way, process.last_error()), false});
    }
  }
  const auto ratio = [&](const std::string& way, double limit) {
    if (bytes.contains(way) && bytes.contains("torch")) {
      session.add({"memory/" + way, bytes[way] / bytes["torch"], "x torch", at_most(limit)});
    } else {
      session.skip({"memory/" + way, "one of its two processes ended before its peak was known"});
    }
  };
  ratio("lehi", 1.0);
  ratio("low-memory", 0.75);
}

}  // namespace lehi::bench
