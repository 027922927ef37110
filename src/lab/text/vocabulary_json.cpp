#include "text/vocabulary_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "data/error.h"
#include "text/byte_letters.h"
#include "text/utf8.h"

namespace lehi::text {
namespace {

std::string to_bytes(std::string_view letters, const std::string& where) {
  const auto bytes = bytes_of_letters(letters);
  if (!bytes) {
    data::throw_data_error("{} has the token '{}', in which a character represents no byte", where,
                           letters.substr(0, 100));
  }
  return *bytes;
}

// Parses "left right", both written in letters (byte_letters.h).
std::pair<std::string, std::string> to_merge(std::string_view line, const std::string& where) {
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos || space == 0 || space + 1 == line.size() || space != line.rfind(' ')) {
    data::throw_data_error("{} has the merge '{}'; expected two tokens separated by a space", where,
                           line.substr(0, 100));
  }
  return {to_bytes(line.substr(0, space), where), to_bytes(line.substr(space + 1), where)};
}

constexpr std::size_t min_entry_bytes = 6;  // of "a":1, or "a b",

class VocabularyReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  VocabularyReader(const std::string& vocabulary_path, const std::string& merges_path, const std::string& where)
      : vocabulary_path_(vocabulary_path), merges_path_(merges_path), where_(where) {}

  VocabularyJson result;

  // Reserves memory for as many entries as a file of this size can have.
  void reserve_for(std::size_t bytes) {
    result.parts.tokens.reserve(std::min(bytes / min_entry_bytes + 1, max_tokens));
    if (!merges_path_.empty()) result.parts.merges.reserve(std::min(bytes / min_entry_bytes + 1, max_merges));
  }

  bool null() override { return scalar("null"); }
  bool boolean(bool value) override { return scalar(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { return scalar(std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override {
    if (in_vocabulary_) {
      if (result.parts.tokens.size() == max_tokens)
        data::throw_data_error("{} has more than {} tokens", where_, max_tokens);
      result.parts.tokens.emplace_back(to_bytes(key_, where_), value);
      return true;
    }
    return scalar(std::to_string(value));
  }
  bool number_float(number_float_t /*value*/, const string_t& text) override { return scalar(text); }
  bool string(string_t& value) override {
    if (in_merges_) {
      add_merge(result.parts, value, where_);
      return true;
    }
    return scalar(value);
  }
  bool binary(binary_t& /*value*/) override { return false; }  // does not occur in JSON
  bool start_object(std::size_t /*size*/) override { return open('{'); }
  bool start_array(std::size_t /*size*/) override { return open('['); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    key_ = name;
    return true;
  }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    data::throw_data_error("{} is not valid JSON at byte {}; get the file again", where_, position);
  }

 private:
  struct Level {
    std::string path;
    char kind;
    std::size_t count;
  };

  static constexpr std::size_t longest_path = 400;

  // The path of the next value.
  std::string next_path() {
    if (levels_.empty()) return "";
    Level& level = levels_.back();
    if (level.kind == '[') return fmt::format("{}[{}]", level.path, level.count++);
    // Every path repeats the keys above it: with a long key the paths would need many times the size of the file.
    if (level.path.size() + key_.size() > longest_path) {
      data::throw_data_error("{} has a setting with a very long name, {}...", where_, key_.substr(0, 40));
    }
    return level.path.empty() ? key_ : level.path + "." + key_;
  }

  bool scalar(const std::string& value) {
    if (in_vocabulary_) {
      data::throw_data_error("{} gives the token '{}' the id {}; expected an integer of at least 0", where_,
                             key_.substr(0, 100), value.substr(0, 100));
    }
    if (in_merges_) data::throw_data_error("{} has a merge that is not a string of two tokens", where_);
    keep(next_path(), value);
    return true;
  }

  void keep(const std::string& path, const std::string& value) {
    constexpr std::size_t max_settings = 50'000;  // 256 special tokens have 2,000
    if (result.values.size() == max_settings)
      data::throw_data_error("{} has more than {} settings", where_, max_settings);
    if (!result.values.emplace(path, value).second)
      data::throw_data_error("{} has '{}' twice", where_, path.substr(0, 200));
  }

  bool open(char kind) {
    constexpr std::size_t max_depth = 32;
    if (in_vocabulary_ || in_merges_)
      data::throw_data_error("{} has a list or an object in its vocabulary or merges", where_);
    if (levels_.size() == max_depth) data::throw_data_error("{} has more than {} nested levels", where_, max_depth);
    levels_.push_back({next_path(), kind, 0});
    in_vocabulary_ = levels_.back().path == vocabulary_path_ && kind == '{';
    in_merges_ = !merges_path_.empty() && levels_.back().path == merges_path_ && kind == '[';
    if (in_vocabulary_) set_once(result.has_vocabulary, "vocabulary");
    if (in_merges_) set_once(result.has_merges, "list of merges");
    return true;
  }

  void set_once(bool& found, const char* what) const {
    if (found) data::throw_data_error("{} has more than one {}", where_, what);
    found = true;
  }

  bool close() {
    in_vocabulary_ = false;
    in_merges_ = false;
    levels_.pop_back();
    return true;
  }

  const std::string& vocabulary_path_;
  const std::string& merges_path_;
  const std::string& where_;
  std::vector<Level> levels_;
  std::string key_;
  bool in_vocabulary_ = false;
  bool in_merges_ = false;
};

}  // namespace

VocabularyJson read_vocabulary_json(std::string_view json, const std::string& vocabulary_path,
                                    const std::string& merges_path, const std::string& where) {
  require_utf8(json, where);
  VocabularyReader reader(vocabulary_path, merges_path, where);
  reader.reserve_for(json.size());
  if (!nlohmann::json::sax_parse(json.begin(), json.end(), &reader)) data::throw_data_error("{} can't be read", where);
  return std::move(reader.result);
}

void add_merge(VocabularyParts& parts, std::string_view line, const std::string& where) {
  if (parts.merges.size() == max_merges) data::throw_data_error("{} has more than {} merges", where, max_merges);
  parts.merges.push_back(to_merge(line, where));
}

}  // namespace lehi::text
