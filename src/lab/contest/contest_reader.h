// Reads the tables of a contest file. For contest_file.cpp.
#pragma once

#include <string>
#include <vector>

#include "contest/contest_file.h"
#include "study/toml_reader.h"

namespace lehi::contest {

/// A task while its keys are read: first those of the file, then its own.
struct TaskDefaults {
  TaskSpec task;
  std::vector<double> rates;  ///< of all its arms
};

class ContestReader : public study::TomlReader {
 public:
  using TomlReader::TomlReader;

  /// The keys before the tables.
  void read_file(const toml::table& table, Contest& contest, TaskDefaults& common) const;
  ArmSpec read_arm(const toml::table& table) const;
  void read_task(const toml::table& table, TaskDefaults& defaults) const;

 private:
  std::string text(const std::string& key, const toml::node& node) const;
  std::string optimizer(const std::string& key, const toml::node& node) const;  ///< "soap[sides=automatic]"
  std::vector<std::string> names(const std::string& key, const toml::node& node) const;
  std::vector<double> rates(const std::string& key, const toml::node& node) const;
  std::int64_t count(const std::string& key, const toml::node& node, std::int64_t least) const;
  Knob read_knob(const toml::node& node, const std::string& arm) const;
  /// True if the key is one that a file has for all tasks and a task for itself.
  bool read_common(const std::string& key, const toml::node& node, TaskDefaults& defaults) const;
};

}  // namespace lehi::contest
