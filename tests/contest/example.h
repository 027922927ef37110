// Shared by the tests of this room: a small contest file.
#pragma once

#include <string>

namespace lehi::testing {

/// Three optimizers on one task; muon has no knob, and is measured for its speed-up like lion.
inline const std::string kSmallContest = R"(baseline = "adamw"
challenger = "muon"
rivals = ["lion"]
classics = ["adamw"]
tuning_seeds = [0, 1]
seeds = [100, 101, 102]
speed_steps = 50
speed_rounds = 3
speed_up_seeds = 2
validation = 0.1

[[arm]]
name = "adamw"
rates = [1e-3, 1e-2, 1e-1]
knob = { key = "weight_decay", values = [0.5, 0.25] }

[[arm]]
name = "muon"
rates = [1e-3, 1e-2]

[[arm]]
name = "lion"
label = "Lion"
rates = [1e-3, 1e-2, 1e-1]
knob = { key = "weight_decay", values = [0.5, 0.25] }

[[task]]
name = "little"
task = "protein"
steps = 400
)";

/// `text` with the first `from` replaced, which it must have.
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  if (at == std::string::npos) return "replaced(): there is no " + from;
  return text.replace(at, from.size(), to);
}

}  // namespace lehi::testing
