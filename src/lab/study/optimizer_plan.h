// One optimizer on one task in a study's plan: its configuration and its learning rates.
#pragma once

#include <string>
#include <vector>

#include "study/plan.h"

namespace lehi::study {

struct OptimizerPlan {
  train::OptimizerChoice choice;
  train::RunConfig config;    ///< with the first seed
  std::vector<double> rates;  ///< ascending
};

/// `optimizer` is an entry of `request.optimizers`. Throws std::invalid_argument for an invalid configuration or rate.
OptimizerPlan plan_optimizer(const PlanRequest& request, const std::string& task, const std::string& optimizer);

}  // namespace lehi::study
