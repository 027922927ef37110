#include "study/toml_reader.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/nearest.h"

namespace lehi::study {

void TomlReader::throw_at(const toml::node& node, const std::string& what) const {
  throw train::ConfigError(fmt::format("{}, line {}: {}", where_, node.source().begin.line, what));
}

void TomlReader::throw_unknown_key(const toml::node& node, const std::string& key,
                                   const std::vector<std::string>& known) const {
  throw_at(node, fmt::format("there is no key '{}'{}; there are {}", key, base::suggestion(key, known),
                             fmt::join(known, ", ")));
}

std::vector<std::uint64_t> TomlReader::seeds(const std::string& key, const toml::node& node) const {
  std::vector<std::uint64_t> seeds;
  for (const auto seed : list<std::int64_t>(key, node, "a list of whole numbers, such as [0, 1, 2]")) {
    if (seed < 0 || seed > 4294967295) throw_at(node, fmt::format("the seed {} is not in 0 to 4294967295", seed));
    seeds.push_back(static_cast<std::uint64_t>(seed));
  }
  return seeds;
}

train::Setting TomlReader::setting(const std::string& key, const toml::node& node) const {
  return {key, train::toml_text(node), fmt::format("{}, line {}", where_, node.source().begin.line)};
}

void TomlReader::read_settings(const toml::node& node, const std::vector<std::string>& taken,
                               std::vector<train::Setting>& settings) const {
  if (!node.is_table()) throw_at(node, "settings must be a table, such as settings.train.batch_size = 64");
  read_settings(*node.as_table(), "", taken, settings);
}

void TomlReader::read_settings(const toml::table& table, const std::string& prefix,
                               const std::vector<std::string>& taken, std::vector<train::Setting>& settings) const {
  for (const auto& [name, node] : table) {
    const auto key = prefix + std::string(name.str());
    const bool is_taken = std::any_of(taken.begin(), taken.end(), [&](const auto& other) {
      return key == other || (other.ends_with('.') && key.starts_with(other));
    });
    if (is_taken) {
      throw_at(node, fmt::format("settings.{} is not allowed: the file has a key of its own for it", key));
    }
    if (const auto* inner = node.as_table()) {
      read_settings(*inner, key + ".", taken, settings);
    } else {
      settings.push_back(setting(key, node));
    }
  }
}

}  // namespace lehi::study
