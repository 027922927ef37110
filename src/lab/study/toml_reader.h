// Reads values of a TOML file that describes studies, with errors that name file and line. For study_toml.cpp and
// contest/contest_file.cpp.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "train/config.h"
#include "train/toml_file.h"

namespace lehi::study {

class TomlReader {
 public:
  explicit TomlReader(std::string where) : where_(std::move(where)) {}

  const std::string& where() const { return where_; }

  /// Throws train::ConfigError.
  [[noreturn]] void throw_at(const toml::node& node, const std::string& what) const;

  /// For a key that is not one of `known`.
  [[noreturn]] void throw_unknown_key(const toml::node& node, const std::string& key,
                                      const std::vector<std::string>& known) const;

  /// A string, a finite number, a whole number or a boolean; `expected` completes "KEY is VALUE, but must be ...".
  template <class T>
  T value(const std::string& key, const toml::node& node, std::string_view expected) const {
    const auto found = exact<T>(node);
    if (!found) throw_at(node, fmt::format("{} is {}, but must be {}", key, train::shown_toml(node), expected));
    return *found;
  }

  /// A list with at least one entry.
  template <class T>
  std::vector<T> list(const std::string& key, const toml::node& node, std::string_view expected) const {
    const auto* nodes = node.as_array();
    if (nodes == nullptr || nodes->empty()) {
      throw_at(node, fmt::format("{} is {}, but must be {}", key, train::shown_toml(node), expected));
    }
    std::vector<T> values;
    for (const auto& entry : *nodes) values.push_back(value<T>(key, entry, fmt::format("in {}", expected)));
    return values;
  }

  std::vector<std::uint64_t> seeds(const std::string& key, const toml::node& node) const;

  /// The value of `key` as a setting; train::resolve() checks key and value later.
  train::Setting setting(const std::string& key, const toml::node& node) const;

  /// Appends the entries of a table of settings, which may be nested. A key in `taken`, or below one that ends in '.',
  /// is an error: the file has a key of its own for it.
  void read_settings(const toml::node& node, const std::vector<std::string>& taken,
                     std::vector<train::Setting>& settings) const;

 private:
  template <class T>
  static std::optional<T> exact(const toml::node& node) {
    if constexpr (std::is_same_v<T, double>) {  // integers are valid numbers
      const auto number = node.is_number() ? node.value<double>() : std::nullopt;
      return number && std::isfinite(*number) ? number : std::nullopt;
    } else {
      return node.value_exact<T>();
    }
  }

  void read_settings(const toml::table& table, const std::string& prefix, const std::vector<std::string>& taken,
                     std::vector<train::Setting>& settings) const;

  std::string where_;
};

}  // namespace lehi::study
