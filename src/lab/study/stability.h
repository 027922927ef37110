// How calm an optimizer is at a rate: the table of the paper's appendix.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "study/selection.h"

namespace lehi::study {

enum class Calm {
  stable,   ///< no spike in any run
  noisy,    ///< spikes, but every run ended with finite numbers
  failed,   ///< a run ended in NaN
  unknown,  ///< no run has finished
};

/// "STABLE", "NOISY", "FAILED" as the paper writes it, or "-".
std::string_view calm_text(Calm calm);

/// One optimizer at one rate, over its finished seeds.
struct Stability {
  double lr = 0.0;
  std::size_t runs = 0;            ///< finished ones
  std::size_t diverged = 0;        ///< that ended in NaN
  double largest_gradient = 0.0;   ///< largest |g|_inf of all steps of all runs; NaN when unknown
  double spike_steps = 0.0;        ///< mean number in a run; NaN without runs, as the next
  double spike_evaluations = 0.0;  ///< mean number of stretches between evaluations (epochs, mostly) with a spike
  Calm calm = Calm::unknown;
};

Stability stability_of(const RateRuns& runs);

/// A row of the table: an optimizer on a task, a cell a rate, rates ascending.
struct StabilityRow {
  std::string task;
  std::string variant;
  std::vector<Stability> rates;
};
std::vector<StabilityRow> stability_table(const std::vector<VariantRuns>& variants);

}  // namespace lehi::study
