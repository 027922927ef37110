// What an Optimizer keeps behind its pointer.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "lehi/optimizer.h"
#include "optim/micro_batches.h"
#include "optim/parameters.h"
#include "optim/rank_team.h"

namespace lehi {

/// Where the optimizer stands in its schedule.
struct StepCounter {
  std::int64_t step = 0;             ///< steps taken
  std::int64_t schedule_start = 0;   ///< the step before the schedule's first; moves when parameters are added
  std::size_t known_parameters = 0;  ///< how many the last step had
};

struct OptimizerParts {
  Options options;
  ParameterTable parameters;
  StepCounter counter;
  std::unique_ptr<RankTeam> ranks = one_process();
  std::optional<std::int64_t> first_row;  ///< of this rank in the whole batch
  MicroBatches micro_batches;
  std::vector<Evaluation> evaluations;  ///< one a term; their buffers are used again at the next step
  StepReport report;
};

}  // namespace lehi
