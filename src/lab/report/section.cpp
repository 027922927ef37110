#include "report/section.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/names.h"
#include "study/run_directory.h"

namespace lehi::report {

using study::RateRuns;
using study::StudyRun;
using study::VariantRuns;

namespace {

bool has_validation(const StudyRun& run) {
  return std::any_of(run.windows.begin(), run.windows.end(),
                     [](const auto& window) { return window.first.starts_with("validation_"); });
}

bool same_run(const StudyRun& a, const StudyRun& b) {
  return a.variant == b.variant && a.lr == b.lr && a.seed == b.seed;
}

}  // namespace

std::string Section::title() const {
  return fmt::format("{} ({} preset{})", base::short_task(task), preset,
                     held_out ? ", part of the training rows held out" : "");
}

std::vector<Section> sections_of(const std::vector<NamedStudy>& studies) {
  std::vector<Section> sections;
  for (const auto& [directory, study] : studies) {
    std::set<std::string> tasks_with_validation;  // a diverged run may lack the validation window that others have
    for (const auto& run : study.runs) {
      if (has_validation(run)) tasks_with_validation.insert(run.task);
    }
    for (const auto& run : study.runs) {
      const bool held_out = tasks_with_validation.count(run.task) != 0;
      auto section = std::find_if(sections.begin(), sections.end(), [&](const auto& candidate) {
        return candidate.task == run.task && candidate.preset == run.preset && candidate.held_out == held_out;
      });
      if (section == sections.end()) {
        section = sections.insert(sections.end(), {run.task, run.preset, held_out, {}, {}, {}});
      }
      const bool duplicate = !run.damaged && std::any_of(section->runs.begin(), section->runs.end(),
                                                         [&](const auto* other) { return same_run(*other, run); });
      if (duplicate) {
        section->notices.push_back(
            fmt::format("{} with rate {} and seed {} is in more than one study; the first of them is used.",
                        run.variant, run.lr, run.seed));
        continue;
      }
      section->runs.push_back(&run);
      section->study_directories[&run] = directory;
    }
  }
  return sections;
}

Analysis::Analysis(const Section& section)
    : variants(study::group_runs(section.runs)),
      selection_metric(study::selection_metric(section.runs)),
      metric(study::reported_metric(section.runs)),
      seeds(seeds_of(section.runs)) {
  for (const auto& variant : variants) {
    searched = searched || variant.rates.size() > 1;
    const auto selection = study::select_rate(variant, selection_metric);
    if (selection) picked.push_back({&variant, &variant.rates[selection->index], *selection});
  }
  if (picked.empty()) return;
  const auto adam =
      std::find_if(picked.begin(), picked.end(), [](const auto& entry) { return entry.variant->variant == "adam"; });
  baseline = adam != picked.end() ? &*adam : &picked.front();
}

std::vector<std::uint64_t> seeds_of(const std::vector<const StudyRun*>& runs) {
  std::set<std::uint64_t> seeds;
  for (const auto* run : runs) seeds.insert(run->seed);
  return {seeds.begin(), seeds.end()};
}

std::vector<double> rates_of(const std::vector<VariantRuns>& variants) {
  std::set<double> rates;
  for (const auto& variant : variants) {
    for (const auto& rate : variant.rates) rates.insert(rate.lr);
  }
  return {rates.begin(), rates.end()};
}

const RateRuns* at_rate(const VariantRuns& variant, double lr) {
  const auto found =
      std::find_if(variant.rates.begin(), variant.rates.end(), [lr](const auto& rate) { return rate.lr == lr; });
  return found != variant.rates.end() ? &*found : nullptr;
}

std::vector<study::SeedValue> values_of(const RateRuns& runs, const std::string& metric) {
  std::vector<study::SeedValue> values;
  for (const auto* run : runs.runs) {
    if (run->finished()) values.push_back({run->seed, run->mean(metric)});
  }
  return values;
}

study::MeanAndStd spread_of(const RateRuns& runs, const std::string& metric) {
  const auto seeds = values_of(runs, metric);
  std::vector<double> values;
  values.reserve(seeds.size());
  for (const auto& seed : seeds) values.push_back(seed.value);
  return study::mean_and_std(values);
}

train::JudgeConfig judge_config(const Section& section) {
  for (const auto* run : section.runs) {
    try {
      return train::read_config(study::run_file(*run, section.study_directory(*run), "config.toml")).judge;
    } catch (const std::exception&) {
      continue;
    }
  }
  return {};
}

std::string difference_from_paper_preset(const Section& section, const StudyRun& run) {
  try {
    const auto config = train::read_config(study::run_file(run, section.study_directory(run), "config.toml"));
    auto preset = train::resolve({.task = run.task, .preset = "paper", .optimizer = run.optimizer});
    preset.seed = config.seed;
    preset.optimizer.seed = config.optimizer.seed;
    preset.optimizer.group.lr = config.optimizer.group.lr;
    preset.threads = config.threads;
    return train::difference(preset, config);
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace lehi::report
