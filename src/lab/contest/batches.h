// Which arms were run together in which phase of a task. A phase is one study, or several: arms that are added to a
// contest later, or that were held up by a failed run, get a study of their own. TASK/phases.json holds it.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace lehi::contest {

class Batches {
 public:
  static constexpr const char* kFile = "phases.json";

  /// Of a task's directory; empty if it has no such file. FileError if the file is damaged.
  static Batches read(const std::filesystem::path& directory);

  const std::vector<std::vector<std::string>>& of(const std::string& phase) const;
  bool contains(const std::string& phase, const std::string& arm) const;
  std::vector<std::string> arms() const;  ///< of all phases
  void add(const std::string& phase, const std::vector<std::string>& arms);
  void write(const std::filesystem::path& directory) const;

 private:
  std::map<std::string, std::vector<std::vector<std::string>>> phases_;
};

/// The directory of a phase's study: "rates", "rates-2".
std::string batch_directory(const std::string& phase, std::size_t batch);

}  // namespace lehi::contest
