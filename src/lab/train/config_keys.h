// The table of keys of a run's configuration: reads, writes, explains and compares each of them. For config.cpp.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "train/config.h"
#include "train/toml_file.h"

namespace lehi::train {

struct Key {
  std::string name;
  std::string about;
  std::function<void(RunConfig&, const toml::node&)> read;
  std::function<std::string(const RunConfig&)> text;
  bool decides_result = true;
  bool required = false;  ///< of a run's config.toml; any other key has its default where the file lacks it
};

/// In the order of config.toml.
const std::vector<Key>& keys();

/// Throws std::invalid_argument with the nearest name for one that there is not.
const Key& find_key(std::string_view name);

}  // namespace lehi::train
