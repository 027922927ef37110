// What a contest decides from results alone: the best trial, the time of a step, the next fraction of a speed-up.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "contest/result.h"

namespace lehi::contest {

/// Position of the best trial; the first of equal ones. A trial that diverged is worse than any other; 0 when all did.
std::size_t best_trial(const std::vector<Trial>& trials, std::string_view metric);

/// From the seconds of a step in each round. Rounds in which either value is not finite and positive are left out;
/// nothing when no round is left.
std::optional<StepTime> step_time(const std::vector<double>& seconds, const std::vector<double>& baseline);

/// The fractions of the baseline's steps that a speed-up is searched in.
const std::vector<double>& speed_up_fractions();

/// The next of `count` positions to try, of those that reached the target or not so far; nothing when the search has
/// ended. A later position is taken to reach the target when an earlier one does.
std::optional<std::size_t> next_position(const std::map<std::size_t, bool>& reached, std::size_t count);

/// The smallest position that reached the target; nothing when none has.
std::optional<std::size_t> smallest_reached(const std::map<std::size_t, bool>& reached);

/// Whether the mean of these values is at least as good as the target. Never with a value that is not finite.
bool reaches(const std::vector<study::SeedValue>& values, double target, std::string_view metric);

}  // namespace lehi::contest
