// The figures of the paper from our runs: training and test curves, and score against learning rate.
#pragma once

#include <string>
#include <vector>

#include "plot/figure.h"
#include "report/study_report.h"

namespace lehi::report {

struct NamedFigure {
  std::string name;  ///< fit for a file, e.g. "mnist-paper-curves"
  plot::Figure figure;
};

/// Of each section: its curves (each optimizer at its picked rate, the moving average of the mean over seeds above the
/// faded seeds, the first epochs cut as its preset says) and, where rates were searched, the rates with ± 2 std and the
/// paper's values. What has nothing to draw is left out.
std::vector<NamedFigure> figures_of(const Studies& studies);

}  // namespace lehi::report
