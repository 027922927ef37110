// The paper's figures from our runs: training and test curves, and the metric against the learning rate.
#pragma once

#include <string>
#include <vector>

#include "plot/figure.h"
#include "report/study_report.h"

namespace lehi::report {

struct NamedFigure {
  std::string name;  ///< a valid file name such as "mnist-paper-curves"
  plot::Figure figure;
};

/// For each section: its curves (each optimizer at its picked rate: the smoothed mean over seeds, and the single seeds
/// faded, without the first epochs that the preset cuts) and, where rates were searched, the metric by rate with ± 2
/// std and the paper's values. Figures without data are left out.
std::vector<NamedFigure> figures_of(const Studies& studies);

}  // namespace lehi::report
