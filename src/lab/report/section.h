// Groups the runs of studies into sections, one for each task and preset, and picks a learning rate for each optimizer.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "study/selection.h"
#include "study/study.h"
#include "train/config.h"

namespace lehi::report {

struct NamedStudy {
  std::filesystem::path directory;
  study::Study study;
};

/// Runs that can be compared: one task, one preset, all with or all without held-out validation rows.
struct Section {
  std::string task;
  std::string preset;
  bool held_out = false;
  std::vector<const study::StudyRun*> runs;
  std::map<const study::StudyRun*, std::filesystem::path> study_directories;  ///< of each run
  std::vector<std::string> notices;                                           ///< sentences for the report

  const std::filesystem::path& study_directory(const study::StudyRun& run) const { return study_directories.at(&run); }

  std::int64_t window() const { return runs.front()->window; }
  std::string title() const;
};

/// In order of first appearance. The sections point into `studies`.
std::vector<Section> sections_of(const std::vector<NamedStudy>& studies);

/// An optimizer at its picked learning rate.
struct Picked {
  const study::VariantRuns* variant = nullptr;
  const study::RateRuns* runs = nullptr;
  study::Selection selection;
};

/// What the tables of a section show. Not copyable: it points into itself.
struct Analysis {
  explicit Analysis(const Section& section);
  Analysis(const Analysis&) = delete;
  Analysis(Analysis&&) = default;
  Analysis& operator=(const Analysis&) = delete;
  Analysis& operator=(Analysis&&) = delete;
  ~Analysis() = default;

  std::vector<study::VariantRuns> variants;
  std::string selection_metric;  ///< picks the rates
  std::string metric;            ///< is reported
  std::vector<std::uint64_t> seeds;
  bool searched = false;             ///< some optimizer has several rates
  std::vector<Picked> picked;        ///< of each optimizer with a finished run
  const Picked* baseline = nullptr;  ///< adam, else the first of `picked`; null if `picked` is empty
};

std::vector<std::uint64_t> seeds_of(const std::vector<const study::StudyRun*>& runs);

/// The rates of all variants, ascending.
std::vector<double> rates_of(const std::vector<study::VariantRuns>& variants);

/// Null if the variant was not run at this rate.
const study::RateRuns* at_rate(const study::VariantRuns& variant, double lr);

/// The window mean of each finished run.
std::vector<study::SeedValue> values_of(const study::RateRuns& runs, const std::string& metric);

/// Mean and standard deviation of values_of().
study::MeanAndStd spread_of(const study::RateRuns& runs, const std::string& metric);

/// The `judge` settings of the section's first run whose configuration can be read, else the defaults.
train::JudgeConfig judge_config(const Section& section);

/// How a run's configuration differs from the paper preset, ignoring rate, seeds and threads; "" if it does not. If the
/// configuration cannot be read, the reason.
std::string difference_from_paper_preset(const Section& section, const study::StudyRun& run);

}  // namespace lehi::report
