// The table of keys of a run's configuration: how each is read, written, described and compared. For config*.cpp.
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
  std::string about;  ///< the description in help texts
  std::function<void(RunConfig&, const toml::node&)> read;
  std::function<std::string(const RunConfig&)> text;  ///< the value as TOML
  bool decides_result = true;
  bool required = false;  ///< in every run's config.toml; any other key that is missing there has its default
};

/// All keys, in the order of config.toml.
const std::vector<Key>& keys();

/// Throws std::invalid_argument, which suggests the nearest name, for an unknown key.
const Key& find_key(std::string_view name);

}  // namespace lehi::train
