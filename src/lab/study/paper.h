// The paper's published values, from configs/paper_tables.json, to stand beside ours.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lehi::study {

/// One cell of a learning-rate table: of `search` with seed 0, over the last `window` evaluations.
struct PaperCell {
  double lr = 0.0;
  double mean = 0.0;
  double two_std = 0.0;
};

/// One optimizer at one rate over the paper's three seeds.
struct PaperStability {
  double lr = 0.0;
  double largest_gradient = 0.0;
  double spikes = 0.0;    ///< mean number a run
  std::int64_t nans = 0;  ///< runs that ended in NaN
  std::string status;     ///< STABLE, NOISY or FAILED
};

struct PaperTask {
  std::string metric;
  std::int64_t window = 0;
  std::map<std::string, std::vector<PaperCell>> search;          ///< by optimizer, rates ascending
  std::map<std::string, std::vector<PaperCell>> summary;         ///< the same of the rates that have three seeds
  std::map<std::string, std::vector<PaperStability>> stability;  ///< by optimizer; ptb only
};

/// By task. Throws FileError when the built-in file is damaged, which a test forbids.
const std::map<std::string, PaperTask>& paper_tables();

/// Null when the paper has no such cell.
const PaperCell* paper_cell(std::string_view task, std::string_view optimizer, double lr);

/// Mean and two_std of the curve averaged over seeds 0, 1 and 2, over the last `window` evaluations (selection.h:
/// seed_averaged); null when the paper has no such cell.
const PaperCell* paper_summary_cell(std::string_view task, std::string_view optimizer, double lr);

/// How far a measurement may be off to count as reproduced: twice the paper's two_std, but at least 2.5 % of a loss and
/// 0.5 points of an accuracy.
double paper_tolerance(std::string_view metric, const PaperCell& cell);

}  // namespace lehi::study
