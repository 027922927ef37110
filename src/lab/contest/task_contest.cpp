#include "contest/task_contest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "contest/batches.h"
#include "contest/choices.h"
#include "contest/entry_runs.h"
#include "contest/plan.h"
#include "files/files.h"
#include "study/study_directory.h"
#include "study/study_file.h"

namespace lehi::contest {
namespace fs = std::filesystem;
namespace {

using study::StudyRun;
using Names = std::vector<std::string>;

bool is_listed(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// One phase as run_phase() needs it.
struct Phase {
  std::string name;
  std::vector<std::uint64_t> seeds;
  std::function<std::vector<Entry>(const std::string& arm)> entries;
  /// With the runs of an arm that have all ended. Returns what the arm lacks to go on, or "".
  std::function<std::string(const std::string& arm, const EntryRuns& runs)> take;
  bool in_turn = false;
  bool with_baseline = false;  ///< each study has the baseline too, for comparison
};

// As the study's directory has it; a study that was not begun, or not with these runs, has waiting runs only.
study::Study stored_study(const PhaseStudy& phase) {
  if (fs::exists(phase.directory / study::kStudyFile)) {
    auto study = study::read_study(phase.directory);
    const auto same = [](const StudyRun& run, const study::PlannedRun& planned) {
      return run.directory == planned.directory;
    };
    if (std::equal(study.runs.begin(), study.runs.end(), phase.plan.begin(), phase.plan.end(), same)) {
      study::read_runs(phase.directory, study);
      return study;
    }
  }
  return study::new_study("contest", {}, phase.plan);
}

class TaskContest {
 public:
  TaskContest(const Contest& contest, const TaskSpec& task, const Names& selected, fs::path directory,
              const StudySource& source, const std::function<void(const TaskOutcome&)>& after_phase)
      : contest_(contest),
        task_(task),
        selected_(selected),
        directory_(std::move(directory)),
        source_(source),
        after_phase_(after_phase),
        batches_(Batches::read(directory_)) {}

  TaskOutcome run(Until until) {
    begin();
    auto ready = measure_speed(arms());
    if (until == Until::speed) return outcome();
    ready = try_rates(ready);
    ready = try_knob(ready);
    ready = hold_verdict(ready);
    measure_speed_up(ready);
    return outcome();
  }

 private:
  const std::vector<double>& rates_of(const std::string& arm) const { return task_.rates_of.at(arm); }

  ArmResult& result_of(const std::string& arm) {
    return *std::find_if(results_.begin(), results_.end(), [&](const auto& result) { return result.arm == arm; });
  }

  Names arms() const {
    Names names;
    for (const auto& result : results_) names.push_back(result.arm);
    return names;
  }

  // The arms that take part, in the file's order, and the facts that need no run.
  void begin() {
    const auto begun = batches_.arms();
    for (const auto& name : task_.arms) {
      if (!is_listed(selected_, name) && !is_listed(begun, name)) {
        not_selected_.push_back(name);
        continue;
      }
      const auto& spec = contest_.arm(name);
      const auto optimizer = optimizer_text(task_, name, "");
      results_.push_back(
          {.arm = name, .label = spec.label, .optimizer = optimizer == name ? "" : optimizer, .control = spec.control});
    }
    const auto plan =
        plan_runs(task_, {{contest_.baseline, rates_of(contest_.baseline).front(), "", task_.steps}}, {0});
    const auto& config = plan.front().config;
    tuning_metric_ = tuning_metric(config.judge.metric);
    reported_metric_ = reported_metric(config.judge.metric);
    batch_size_ = config.batch_size;
  }

  // Runs the phase for the arms that are ready; returns those that have gone through it, in the file's order.
  Names run_phase(const Phase& phase, const Names& ready) {
    start_batch(phase.name, ready);
    std::map<std::string, std::string> lacks;
    for (const auto& arm : ready) lacks[arm] = "has not been run";
    const auto& batches = batches_.of(phase.name);
    for (std::size_t i = 0; i < batches.size(); ++i) {
      const bool held_up =
          std::any_of(batches[i].begin(), batches[i].end(), [&](const auto& arm) { return !is_listed(ready, arm); });
      if (held_up) {  // its plan needs the results of all its arms
        for (const auto& arm : batches[i]) lacks[arm] = "waits for another arm of its study, which lacks a result";
        continue;
      }
      run_batch(phase, i, batches[i], lacks);
    }
    Names through;
    for (const auto& arm : ready) {
      if (lacks[arm].empty()) {
        through.push_back(arm);
      } else {
        missing_.push_back(fmt::format("{}, {}: {} {}", task_.name, phase.name, arm, lacks[arm]));
      }
    }
    if (source_.may_start()) after_phase_(outcome());
    return through;
  }

  void start_batch(const std::string& phase, const Names& ready) {
    if (!source_.may_start()) return;
    Names fresh;
    for (const auto& arm : ready) {
      if (is_listed(selected_, arm) && !batches_.contains(phase, arm)) fresh.push_back(arm);
    }
    if (fresh.empty()) return;
    batches_.add(phase, fresh);
    make_directories(directory_);
    batches_.write(directory_);
  }

  void run_batch(const Phase& phase, std::size_t batch, const Names& arms, std::map<std::string, std::string>& lacks) {
    Names in_study = arms;
    if (phase.with_baseline && !is_listed(arms, contest_.baseline))
      in_study.insert(in_study.begin(), contest_.baseline);
    std::vector<Entry> entries;
    for (const auto& arm : in_study) {
      const auto more = phase.entries(arm);
      entries.insert(entries.end(), more.begin(), more.end());
    }
    const auto directory = batch_directory(phase.name, batch);
    const auto study = source_.get({.title = fmt::format("{}, {}", task_.name, directory),
                                    .directory = directory_ / directory,
                                    .plan = plan_runs(task_, entries, phase.seeds),
                                    .in_turn = phase.in_turn});
    note_parameters(study, directory_ / directory);
    std::map<std::string, EntryRuns> runs;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      std::vector<StudyRun> with_seeds;
      for (std::size_t s = 0; s < phase.seeds.size(); ++s) with_seeds.push_back(study.runs.at(s * entries.size() + i));
      runs[entries[i].arm].push_back(std::move(with_seeds));
    }
    baseline_runs_ = runs[contest_.baseline];
    for (const auto& arm : arms) {
      const auto failure = first_failure(runs[arm]);
      if (all_finished(runs[arm]) && (!phase.with_baseline || all_finished(baseline_runs_))) {
        lacks[arm] = phase.take(arm, runs[arm]);
      } else {
        lacks[arm] = failure.empty() ? "has unfinished runs" : fmt::format("has failed runs; {}", failure);
      }
    }
  }

  void note_parameters(const study::Study& study, const fs::path& directory) {
    if (parameters_ > 0) return;
    const auto found =
        std::find_if(study.runs.begin(), study.runs.end(), [](const auto& run) { return run.finished(); });
    if (found == study.runs.end()) return;
    parameters_ = train::read_run_record(directory / found->directory / "run.json").parameters;
  }

  Names measure_speed(const Names& ready) {
    Phase phase{.name = "speed", .seeds = {}, .entries = {}, .take = {}, .in_turn = true, .with_baseline = true};
    for (std::int64_t round = 0; round < task_.speed_rounds; ++round) {
      phase.seeds.push_back(static_cast<std::uint64_t>(round));
    }
    // The smallest rate, because a run that diverges is short.
    phase.entries = [&](const std::string& arm) {
      return std::vector<Entry>{{arm, rates_of(arm).front(), "", task_.speed_steps}};
    };
    phase.take = [&](const std::string& arm, const EntryRuns& runs) -> std::string {
      std::vector<double> seconds;
      std::vector<double> baseline;
      for (const auto& run : runs.front()) seconds.push_back(seconds_per_step(run));
      for (const auto& run : baseline_runs_.front()) baseline.push_back(seconds_per_step(run));
      const auto time = step_time(seconds, baseline);
      if (!time) return "or the baseline has no time of a step";
      auto& result = result_of(arm);
      result.time = *time;
      result.steps = equal_time_steps(task_.steps, time->ratio);
      return "";
    };
    return run_phase(phase, ready);
  }

  Names try_rates(const Names& ready) {
    return run_phase({.name = "rates",
                      .seeds = task_.tuning_seeds,
                      .entries =
                          [&](const std::string& arm) {
                            std::vector<Entry> entries;
                            for (const double rate : rates_of(arm)) {
                              entries.push_back({arm, rate, "", result_of(arm).steps});
                            }
                            return entries;
                          },
                      .take =
                          [&](const std::string& arm, const EntryRuns& runs) {
                            auto& result = result_of(arm);
                            const auto& rates = rates_of(arm);
                            for (std::size_t i = 0; i < rates.size(); ++i) add_trial(result, rates[i], "", runs[i]);
                            choose(result);
                            return std::string();
                          }},
                     ready);
  }

  Names try_knob(const Names& ready) {
    Names with_knob;
    for (const auto& arm : ready) {
      if (contest_.arm(arm).knob) with_knob.push_back(arm);
    }
    const auto through = with_knob.empty() ? with_knob : run_phase(knob_phase(), with_knob);
    Names all;
    for (const auto& arm : ready) {
      if (!contest_.arm(arm).knob || is_listed(through, arm)) all.push_back(arm);
    }
    return all;
  }

  Phase knob_phase() {
    return {.name = "knob",
            .seeds = task_.tuning_seeds,
            .entries =
                [&](const std::string& arm) {
                  std::vector<Entry> entries;
                  const auto& knob = *contest_.arm(arm).knob;
                  const auto& result = result_of(arm);
                  for (const auto& value : knob.values) {
                    entries.push_back({arm, result.lr, knob_text(knob, value), result.steps});
                  }
                  return entries;
                },
            .take =
                [&](const std::string& arm, const EntryRuns& runs) {
                  auto& result = result_of(arm);
                  const auto& knob = *contest_.arm(arm).knob;
                  const double lr = result.lr;
                  for (std::size_t i = 0; i < knob.values.size(); ++i) {
                    add_trial(result, lr, knob_text(knob, knob.values[i]), runs[i]);
                  }
                  choose(result);
                  return std::string();
                }};
  }

  void add_trial(ArmResult& result, double lr, const std::string& knob, const std::vector<StudyRun>& runs) {
    for (const auto& run : runs) {
      if (run.done() && run.windows.count(tuning_metric_) == 0) {
        throw train::ConfigError(
            fmt::format("{}, line {}: the runs of {} have no {}; add validation = 0.1 to hold out rows",
                        task_.origin.file, task_.origin.line, task_.name, tuning_metric_));
      }
    }
    result.trials.push_back({lr, knob, mean_of_runs(runs, tuning_metric_)});
  }

  void choose(ArmResult& result) {
    const auto& best = result.trials[best_trial(result.trials, tuning_metric_)];
    const auto& rates = rates_of(result.arm);
    result.lr = best.lr;
    result.knob = best.knob;
    result.rate_at_edge = rates.size() > 1 && (best.lr == rates.front() || best.lr == rates.back());
  }

  Names hold_verdict(const Names& ready) {
    return run_phase({.name = "verdict",
                      .seeds = task_.seeds,
                      .entries =
                          [&](const std::string& arm) {
                            const auto& result = result_of(arm);
                            return std::vector<Entry>{{arm, result.lr, result.knob, result.steps}};
                          },
                      .take =
                          [&](const std::string& arm, const EntryRuns& runs) {
                            result_of(arm).values = seed_values(runs.front(), reported_metric_);
                            return std::string();
                          }},
                     ready);
  }

  void measure_speed_up(const Names& ready) {
    if (task_.speed_up_seeds == 0) return;
    Names searching;
    for (const auto& arm : ready) {
      if (is_listed(task_.speed_up, arm)) searching.push_back(arm);
    }
    if (searching.empty()) return;
    const auto target = speed_up_target(ready);
    if (!target) return;
    for (int round = 1; !searching.empty(); ++round) {
      searching = run_phase(speed_up_phase(fmt::format("speedup-round{}", round), *target), searching);
      std::erase_if(searching, [&](const auto& arm) { return !next_fraction(arm); });
    }
  }

  // The baseline's mean in the verdict, over the seeds of the speed-up.
  std::optional<double> speed_up_target(const Names& ready) {
    const auto sentence = [&](const char* reason) {
      missing_.push_back(fmt::format("{}, speed-up: the baseline {} {}", task_.name, contest_.baseline, reason));
    };
    if (!is_listed(ready, contest_.baseline)) {
      sentence("has no verdict yet");
      return {};
    }
    std::vector<double> values;
    for (std::size_t i = 0; i < task_.speed_up_seeds; ++i) {
      values.push_back(result_of(contest_.baseline).values[i].value);
    }
    const double mean = study::mean_of(values);
    if (std::isfinite(mean)) return mean;
    sentence("diverged");
    return {};
  }

  Phase speed_up_phase(const std::string& name, double target) {
    return {.name = name,
            .seeds = {task_.seeds.begin(), task_.seeds.begin() + static_cast<std::ptrdiff_t>(task_.speed_up_seeds)},
            .entries =
                [&](const std::string& arm) {
                  const auto& result = result_of(arm);
                  const double fraction = speed_up_fractions()[*next_fraction(arm)];
                  const auto steps = std::llround(fraction * static_cast<double>(task_.steps));
                  return std::vector<Entry>{{arm, result.lr, result.knob, std::max<std::int64_t>(1, steps)}};
                },
            .take =
                [this, target](const std::string& arm, const EntryRuns& runs) {
                  add_speed_up_point(arm, seed_values(runs.front(), reported_metric_), target);
                  return std::string();
                }};
  }

  std::optional<std::size_t> next_fraction(const std::string& arm) {
    return next_position(reached_[arm], speed_up_fractions().size());
  }

  void add_speed_up_point(const std::string& arm, std::vector<study::SeedValue> values, double target) {
    auto& result = result_of(arm);
    if (!result.speed_up) result.speed_up.emplace();
    const auto position = *next_fraction(arm);
    reached_[arm][position] = reaches(values, target, reported_metric_);
    auto& points = result.speed_up->points;
    points.push_back({speed_up_fractions()[position], std::move(values)});
    std::sort(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.fraction < b.fraction; });
    if (next_fraction(arm)) return;
    if (const auto smallest = smallest_reached(reached_[arm])) {
      const double fraction = speed_up_fractions()[*smallest];
      result.speed_up->steps_fraction = fraction;
      result.speed_up->seconds_fraction = fraction * result.time.ratio;
    }
  }

  TaskOutcome outcome() const {
    auto missing = missing_;
    for (const auto& arm : not_selected_) missing.push_back(fmt::format("{}: {} has not been run", task_.name, arm));
    return {.result = {.name = task_.name,
                       .title = task_.title,
                       .group = task_.group,
                       .batch_size = batch_size_,
                       .parameters = parameters_,
                       .metric = reported_metric_,
                       .tuning_metric = tuning_metric_,
                       .baseline = contest_.baseline,
                       .steps = task_.steps,
                       .effect = task_.effect,
                       .arms = results_},
            .missing = std::move(missing)};
  }

  const Contest& contest_;
  const TaskSpec& task_;
  const Names& selected_;
  fs::path directory_;
  const StudySource& source_;
  const std::function<void(const TaskOutcome&)>& after_phase_;
  Batches batches_;
  std::vector<ArmResult> results_;
  Names not_selected_;
  std::vector<std::string> missing_;
  std::string tuning_metric_;
  std::string reported_metric_;
  std::int64_t batch_size_ = 0;
  std::int64_t parameters_ = 0;
  EntryRuns baseline_runs_;                                     ///< of the study that is being read
  std::map<std::string, std::map<std::size_t, bool>> reached_;  ///< by arm, the fractions tried
};

}  // namespace

StudySource stored_studies() {
  return {.may_start = [] { return false; }, .get = [](const PhaseStudy& phase) { return stored_study(phase); }};
}

TaskOutcome run_task(const Contest& contest, const TaskSpec& task, const std::vector<std::string>& selected,
                     const fs::path& directory, const StudySource& source,
                     const std::function<void(const TaskOutcome&)>& after_phase, Until until) {
  return TaskContest(contest, task, selected, directory, source, after_phase).run(until);
}

}  // namespace lehi::contest
