// `make soak`: trains with random kills and disk faults, resumes, and compares every run with an undisturbed one.
// Prints a table; exit code 0 if nothing was lost and memory did not grow.
//   usage: lehi_soak [SECONDS [SEED [DATA_DIR]]]      Ctrl-C stops it and prints the table.
#include <fmt/format.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill is POSIX
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <iostream>
#include <random>
#include <thread>

#include "base/startup.h"
#include "faults/differences.h"
#include "faults/harness.h"
#include "faults/scenarios.h"
#include "faults/soak_memory.h"
#include "faults/stopwatch.h"
#include "train/run_record.h"
#include "train/scratch.h"

namespace lehi::faults {
namespace {

namespace fs = std::filesystem;
using testing::Scratch;
using testing::slurp;

struct Counts {
  std::int64_t runs = 0, studies = 0, sessions = 0, resumes = 0;
  std::int64_t kills = 0, kills_inside = 0, terminations = 0, faults = 0;
  std::int64_t lost_runs = 0, differences = 0, bad_answers = 0;
  std::uintmax_t lost_bytes = 0;
  std::vector<std::string> findings;

  std::int64_t total() const { return kills + kills_inside + terminations + faults; }
  void find(std::int64_t& count, const std::string& text) {
    ++count;
    findings.push_back(text);
    std::cerr << "soak: FOUND " << text << '\n';
  }
};

class Soak {
 public:
  Soak(const Scratch& scratch, std::uint32_t seed, const std::string& data_dir)
      : folder_(scratch.path()),
        layer_(scratch.path(), scratch / "w"),
        engine_(seed),
        scenarios_(scenarios_in(scratch.path(), data_dir)) {
    fs::create_directory(folder_ / "w");
  }

  /// Trains one run or study with faults until it is done, and compares it with an undisturbed one.
  void episode() {
    // The quick ones more often, for more kills and faults per hour.
    const auto which = below(5) < 3 ? below(tables) : below(scenarios_.size());
    const auto& scenario = scenarios_[which];
    const auto straight = reference(which);
    if (straight.empty()) return;
    const auto out = folder_ / "w" / "run";
    fs::remove_all(out);
    const auto most = 4 + below(12);
    // A fork has loaded LibTorch already, and without fsync a short run is much faster: more faults per hour.
    real_ = below(5) == 0;
    layer_.keep_syncs(below(4) == 0);
    std::string history = fmt::format("{}{}", scenario.name, real_ ? ", the real program" : "");
    bool ended = false;
    for (std::size_t i = 0; i < most && !ended && interrupted == 0; ++i) ended = session(scenario, out, i, history);
    if (interrupted != 0) return;
    if (!ended) {
      ++counts.sessions;
      ++counts.resumes;
      const auto last = layer_.finish(start(scenario, out, {}));
      if (interrupted != 0) return;
      if (last.code != cli::done) counts.find(counts.bad_answers, history + "\n" + last.err);
    }
    const auto found = scenario.study ? study_differences(straight, out) : run_differences(straight, out);
    for (const auto& text : found) counts.find(counts.differences, text + "\n" + history);
    ++(scenario.study ? counts.studies : counts.runs);
    if (found.empty()) return;
    counts.lost_bytes += bytes_lost(straight, out);
    fs::rename(out, folder_ / fmt::format("kept-{}", counts.differences));
  }

  Layer& layer() { return layer_; }
  const Scenario& table() const { return scenarios_.front(); }
  fs::path any_study() {
    for (std::size_t i = 0; i < scenarios_.size(); ++i) {
      if (scenarios_[i].study) return reference(i);
    }
    return {};
  }

  Counts counts;

 private:
  struct Reference {
    std::int64_t operations = 0;
    double seconds = 0.0;
  };

  std::size_t below(std::size_t limit) { return std::uniform_int_distribution<std::size_t>(0, limit - 1)(engine_); }

  static cli::Arguments with_out(const Scenario& scenario, const fs::path& out) {
    return joined(scenario.words, {"--out", out.string()});
  }

  int start(const Scenario& scenario, const fs::path& out, const Fault& fault) {
    const auto words = with_out(scenario, out);
    return real_ ? layer_.start_real(words, fault) : layer_.start(words, fault);
  }

  /// The directory of an undisturbed run, which is trained once; "" if it failed.
  fs::path reference(std::size_t which) {
    const auto path = folder_ / "w" / fmt::format("straight-{}", which);
    if (references_.count(which) != 0) return path;
    const auto start = Clock::now();
    layer_.keep_syncs(false);
    const auto ended = layer_.run_real(with_out(scenarios_[which], path));
    if (ended.code != cli::done) {
      if (interrupted == 0) counts.find(counts.bad_answers, scenarios_[which].name + ": " + ended.err);
      return {};
    }
    references_[which] = {ended.operations, seconds_since(start)};
    std::cerr << fmt::format("soak: {}: {} file operations, {:.1f} s\n", scenarios_[which].name, ended.operations,
                             references_[which].seconds);
    return path;
  }

  /// Runs one process with a fault or a signal. True if the run reached its end.
  bool session(const Scenario& scenario, const fs::path& out, std::size_t number, std::string& history) {
    const auto& straight = references_.at(static_cast<std::size_t>(&scenario - scenarios_.data()));
    const auto before = scenario.study ? finished_runs(out) : std::map<std::string, std::string>();
    Fault fault;
    int sent = 0;
    const auto choice = below(10);
    if (choice < 6) {
      // Early operations more often: a resumed run has fewer of them.
      const auto span = below(3) == 0 ? straight.operations : std::max<std::int64_t>(40, straight.operations / 4);
      fault = {static_cast<Kind>(1 + below(kinds - 1)),
               1 + static_cast<std::int64_t>(below(static_cast<std::size_t>(span)))};
    } else {
      sent = choice < 9 ? SIGKILL : SIGTERM;
    }
    ++counts.sessions;
    if (number > 0) ++counts.resumes;
    const int process = start(scenario, out, fault);
    if (sent != 0) wait_then_send(process, sent, real_ ? straight.seconds : straight.seconds / 2);
    const auto ended = layer_.finish(process);
    history += fmt::format("\n  {} -> {}", sent != 0 ? fmt::format("signal {}", sent) : text_of(fault), ended.code);
    if (interrupted != 0) return false;
    count(fault, sent, ended);
    check(scenario, fault, sent, ended, out, before, history);
    return ended.code == cli::done;
  }

  void wait_then_send(int process, int signal, double seconds) {
    const auto wait = std::uniform_real_distribution<double>(0.0, seconds * 1.1)(engine_);
    const auto start = Clock::now();
    siginfo_t info = {};
    while (seconds_since(start) < wait && interrupted == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      if (::waitid(P_PID, static_cast<id_t>(process), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0) {
        return;
      }
    }
    ::kill(process, signal);
  }

  void count(const Fault& fault, int sent, const Ended& ended) {
    if (sent == SIGKILL && ended.code == -SIGKILL) ++counts.kills;
    if (sent == SIGTERM && ended.code != cli::done) ++counts.terminations;
    if (ended.struck) ++(kills_process(fault.kind) ? counts.kills_inside : counts.faults);
  }

  void check(const Scenario& scenario, const Fault& fault, int sent, const Ended& ended, const fs::path& out,
             const std::map<std::string, std::string>& before, const std::string& history) {
    for (const char* trace : {"Exception raised", "terminate called", "frame #"}) {
      if (ended.err.find(trace) != std::string::npos) counts.find(counts.bad_answers, history + "\n" + ended.err);
    }
    const bool killed = sent == SIGKILL || kills_process(fault.kind);
    // A study with a killed run has a failed run and exits with 1.
    const bool right = ended.code == cli::done || (killed && (ended.code == -SIGKILL || scenario.study)) ||
                       (sent == SIGTERM && (ended.code == 143 || ended.code == -SIGTERM)) ||
                       (ended.struck && ended.code == cli::bad_input);
    if (!right) counts.find(counts.bad_answers, history + "\n" + ended.err);
    try {
      if (!scenario.study && fs::exists(out / "run.json")) train::read_run_record(out / "run.json");
      for (const auto& [name, record] : before) {
        if (slurp(out / name / "run.json") == record) continue;
        counts.find(counts.lost_runs, name + "\n" + history);
        counts.lost_bytes += record.size();
      }
    } catch (const std::exception& error) {
      counts.find(counts.bad_answers, fmt::format("{}\n{}", error.what(), history));
    }
  }

  fs::path folder_;
  Layer layer_;
  std::mt19937 engine_;
  std::vector<Scenario> scenarios_;
  std::map<std::size_t, Reference> references_;
  bool real_ = true;
};

bool print(const Counts& counts, const std::vector<Memory>& memories, double seconds, std::uint32_t seed) {
  const auto row = [](const std::string& name, const auto& value) { fmt::print("{:<46} {}\n", name, value); };
  fmt::print("\nsoak, seed {}, {:.0f} s\n", seed, seconds);
  row("runs compared", counts.runs);
  row("studies compared (6 runs each)", counts.studies);
  row("processes, of them resumed", fmt::format("{}, {}", counts.sessions, counts.resumes));
  row("killed at a random moment", counts.kills);
  row("killed at a random file operation", counts.kills_inside);
  row("stopped by SIGTERM", counts.terminations);
  row("file operations failed", counts.faults);
  row("kills and faults in total", counts.total());
  row("finished runs lost or repeated", counts.lost_runs);
  row("different results (weights, metrics, files)", counts.differences);
  row("bytes lost or different", counts.lost_bytes);
  row("wrong exit codes, stack traces, bad records", counts.bad_answers);
  bool good = counts.lost_runs + counts.differences + counts.bad_answers == 0;
  for (const auto& memory : memories) {
    if (!memory.enough()) {
      row(memory.name, "too few samples");
      continue;
    }
    good = good && memory.flat();
    row(memory.name, fmt::format("{:.1f} -> {:.1f} MB over {} samples: {}", memory.quarter(1), memory.quarter(3),
                                 memory.megabytes.size(), memory.flat() ? "flat" : "GROWS"));
  }
  fmt::print("flat: the median of the last quarter is at most 2 MB or 1 % above that of the second\n");
  for (const auto& finding : counts.findings) fmt::print("found: {}\n", finding);
  return good;
}

int soak(double seconds, std::uint32_t seed, const std::string& data_dir) {
  const auto start = Clock::now();
  const Scratch scratch;
  std::cerr << fmt::format("soak: seed {}, {:.0f} s, in {}\n", seed, seconds, scratch.path().string());
  Soak soak(scratch, seed, data_dir);
  std::vector<Memory> memories;
  const double share = std::min(120.0, seconds * 0.05);
  auto words = soak.table().words;
  *std::find(words.begin(), words.end(), "3000") = "300";  // steps
  memories.push_back(memory_of_many_runs(scratch.path(), joined(words, {"--set", "train.evaluate_every=10"}), share));
  memories.push_back(memory_of_serving(soak.layer(), scratch.path(), soak.any_study(), share));
  double reported = 0.0;
  while (seconds_since(start) < seconds && interrupted == 0) {
    soak.episode();
    if (seconds_since(start) - reported > 60.0) {
      reported = seconds_since(start);
      std::cerr << fmt::format("soak: {:.0f} of {:.0f} s, {} runs, {} studies, {} points, {} findings\n", reported,
                               seconds, soak.counts.runs, soak.counts.studies, soak.counts.total(),
                               soak.counts.findings.size());
    }
  }
  return print(soak.counts, memories, seconds_since(start), seed) ? 0 : 1;
}

}  // namespace
}  // namespace lehi::faults

int main(int argc, char** argv) {
  lehi::base::prepare(argc, argv);
  std::signal(SIGINT, [](int) { lehi::faults::interrupted = 1; });
  std::signal(SIGTERM, [](int) { lehi::faults::interrupted = 1; });
  const double seconds = argc > 1 ? std::atof(argv[1]) : 3600.0;
  const auto seed = static_cast<std::uint32_t>(argc > 2 ? std::atoi(argv[2]) : 8);
  return lehi::faults::soak(seconds, seed, argc > 3 ? argv[3] : "");
}
