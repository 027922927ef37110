// The records of every version (tests/fixtures); each test has a copy of its own.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/run.h"
#include "files/files.h"
#include "support/environment.h"
#include "train/scratch.h"

namespace lehi::records {

/// The directory of all records, and the versions there: "0.1", ...
inline std::filesystem::path fixtures() { return std::filesystem::path(LEHI_SOURCE_DIR) / "tests" / "fixtures"; }

inline std::vector<std::string> versions() {
  std::vector<std::string> names;
  for (const auto& name : list_directory(fixtures())) {
    if (std::filesystem::is_directory(fixtures() / name)) names.push_back(name);
  }
  return names;
}

/// A copy of a version's records, with its path in place of the original one. The directories run, stopped, study,
/// stopped-study and language are described in tests/fixtures/README.md.
class Records : public ::testing::TestWithParam<std::string> {
 protected:
  Records() {
    std::filesystem::copy(fixtures() / GetParam(), scratch_ / "copy", std::filesystem::copy_options::recursive);
    const std::string neutral = "/fixtures/";
    for (const auto& [name, bytes] : files_below("")) {
      if (!name.ends_with(".json") && !name.ends_with(".toml")) continue;
      std::string text = bytes;
      const std::string own = at("") + "/";
      for (auto place = text.find(neutral); place != std::string::npos;
           place = text.find(neutral, place + own.size())) {
        text.replace(place, neutral.size(), own);
      }
      if (text != bytes) put(name, text);
    }
  }

  std::filesystem::path path(const std::string& name) const {
    return name.empty() ? scratch_ / "copy" : scratch_ / "copy" / name;
  }
  std::string at(const std::string& name) const { return path(name).string(); }
  std::string get(const std::string& name) const { return lehi::testing::slurp(path(name)); }
  nlohmann::json get_json(const std::string& name) const { return nlohmann::json::parse(get(name)); }
  void put(const std::string& name, const std::string& text) const { lehi::testing::spill(path(name), text); }

  /// The contents of every file below a directory, by relative path.
  std::map<std::string, std::string> files_below(const std::string& folder) const {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path(folder))) {
      if (!entry.is_regular_file()) continue;
      files[std::filesystem::relative(entry.path(), path(folder)).string()] = lehi::testing::slurp(entry.path());
    }
    return files;
  }

  /// The directory of a run's newest checkpoint.
  std::string checkpoint_of(const std::string& run) const {
    return run + "/checkpoints/" + list_directory(path(run) / "checkpoints").back();
  }

  cli::Result resume(const std::string& run) const {
    return cli::run({"train", "--resume", "--out", at(run), "--progress", "none", "--json"});
  }

  lehi::testing::Scratch scratch_;
  lehi::testing::Environment cache_{"XDG_CACHE_HOME", (scratch_ / "cache").string()};
};

}  // namespace lehi::records
