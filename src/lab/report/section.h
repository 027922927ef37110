// The runs of studies, sorted into what may stand in one table, and the rate that each optimizer is judged with.
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

/// The runs that may stand in one table: of one task and preset, with or without a part held out for validation.
struct Section {
  std::string task;
  std::string preset;
  bool held_out = false;
  std::vector<const study::StudyRun*> runs;
  std::map<const study::StudyRun*, std::filesystem::path> places;  ///< the directory of a run's study
  std::vector<std::string> notices;

  std::int64_t window() const { return runs.front()->window; }
  std::string title() const;
};

/// In the order in which they appear; the pointers are into `studies`.
std::vector<Section> sections_of(const std::vector<NamedStudy>& studies);

/// A variant at the rate that was picked for it.
struct Picked {
  const study::VariantRuns* variant = nullptr;
  const study::RateRuns* runs = nullptr;
  study::Selection selection;
};

/// What the tables of a section are made of. The pointers are into itself, so it is not copied.
struct Analysis {
  explicit Analysis(const Section& section);
  Analysis(const Analysis&) = delete;
  Analysis(Analysis&&) = default;
  Analysis& operator=(const Analysis&) = delete;
  Analysis& operator=(Analysis&&) = delete;
  ~Analysis() = default;

  std::vector<study::VariantRuns> variants;
  std::string chosen_by;  ///< the metric that picks rates
  std::string metric;     ///< that is reported
  std::vector<std::uint64_t> seeds;
  bool searched = false;             ///< some variant has several rates
  std::vector<Picked> picked;        ///< of the variants with a finished run
  const Picked* baseline = nullptr;  ///< adam where it took part, else the first; null without any
};

std::vector<std::uint64_t> seeds_of(const std::vector<const study::StudyRun*>& runs);

/// All rates, ascending.
std::vector<double> rates_of(const std::vector<study::VariantRuns>& variants);

/// Null when the variant was not run at it.
const study::RateRuns* at_rate(const study::VariantRuns& variant, double lr);

/// The window means of the finished runs, seed by seed.
std::vector<study::SeedValue> values_of(const study::RateRuns& runs, const std::string& metric);

std::string rate_text(double lr);

/// "mean - 2 std", or plus for losses.
std::string score_formula(const std::string& metric);

/// How a figure smooths and what it leaves out, as the first run that tells says.
train::JudgeConfig judge_of(const Section& section);

/// How a run departs from its preset, other than by its rate and seed; "" when it does not.
std::string departure(const study::StudyRun& run, const std::filesystem::path& study_directory);

}  // namespace lehi::report
