// Runs as tasks of job arrays. The runs' directories, on a file system that the nodes share, tell how far each is; the
// controller tells which tasks wait, run and have ended. An array outlives the program that submitted it: a study that
// is resumed goes on with the arrays that still run instead of submitting their runs again.
#pragma once

#include <deque>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "study/launcher.h"
#include "study/slurm.h"
#include "study/slurm_files.h"

namespace lehi::study {

class SlurmLauncher : public Launcher {
 public:
  /// Looks for arrays of the study that still run; FileError when the controller can't say.
  explicit SlurmLauncher(const RunnerRequest& request);

  void start(const std::vector<std::string>& runs) override;
  bool busy() const override { return !waiting_.empty() || !arrays_.empty(); }
  void look(const LaunchEvents& events) override;
  void stop(int signal) override;
  std::size_t running() const override;
  std::size_t at_once() const override;

 private:
  struct Task {
    std::string run;
    bool started = false;
    bool signalled = false;
    std::optional<double> over_since;  ///< when the controller first said so
  };
  struct Array {
    SlurmArray files;
    std::map<std::size_t, Task> tasks;  ///< those that have not ended
  };

  void submit();
  void ask(const LaunchEvents& events);
  void look_at(Array& array, const LaunchEvents& events);
  bool look_at(Array& array, std::size_t index, const SlurmTask* now, const LaunchEvents& events);
  bool end(const Array& array, std::size_t index, Task& task, const LaunchEvents& events);
  RunEnd end_of(const SlurmArray& array, std::size_t index, const SlurmEnd& slurm) const;
  void tell_progress(const std::string& run, const LaunchEvents& events) const;
  void tell_why_it_waits(const std::string& reason, const LaunchEvents& events);

  const RunnerRequest& request_;
  std::list<Array> alive_;  ///< found when the study was opened, until start() says which of their runs it wants
  std::list<Array> arrays_;
  std::deque<std::string> waiting_;  ///< for an array that can take them
  std::vector<std::string> notes_;   ///< to be said
  int stop_ = 0;
  double changed_at_ = 0.0;
  double asked_at_ = -1e9;
  std::string silence_;      ///< what was said of a controller that does not answer
  std::string wait_reason_;  ///< what was said of tasks that wait
};

/// For a study that is to run elsewhere: FileError while tasks of its arrays wait or run.
void refuse_while_slurm_runs(const std::filesystem::path& study_directory);

}  // namespace lehi::study
