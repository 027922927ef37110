// The published values of the paper, from configs/paper_tables.json, for comparison with ours.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lehi::study {

/// One cell of a learning-rate table. In `search`: with seed 0, over the last `window` evaluations.
struct PaperCell {
  double lr = 0.0;
  double mean = 0.0;
  double two_std = 0.0;
};

/// One optimizer at one rate over the paper's three seeds.
struct PaperStability {
  double lr = 0.0;
  double largest_gradient = 0.0;
  double spikes = 0.0;    ///< mean number per run
  std::int64_t nans = 0;  ///< runs that ended in NaN
  std::string status;     ///< STABLE, NOISY or FAILED
};

struct PaperTask {
  std::string metric;
  std::int64_t window = 0;
  std::map<std::string, std::vector<PaperCell>> search;   ///< by optimizer, rates ascending
  std::map<std::string, std::vector<PaperCell>> summary;  ///< by optimizer, the rates that were run with three seeds
  std::map<std::string, std::vector<PaperStability>> stability;  ///< by optimizer; ptb only
};

/// By task. Throws FileError when the built-in file is damaged; a test checks that it is not.
const std::map<std::string, PaperTask>& paper_tables();

/// nullptr when the paper has no such cell.
const PaperCell* paper_cell(std::string_view task, std::string_view optimizer, double lr);

/// Mean and two_std of the curve averaged over seeds 0, 1 and 2, over the last `window` evaluations (selection.h:
/// seed_averaged); nullptr when the paper has no such cell.
const PaperCell* paper_summary_cell(std::string_view task, std::string_view optimizer, double lr);

/// The largest deviation from the paper's mean that counts as reproduced: twice the paper's two_std, but at least 2.5 %
/// of a loss and 0.5 points of an accuracy.
double paper_tolerance(std::string_view metric, const PaperCell& cell);

}  // namespace lehi::study
