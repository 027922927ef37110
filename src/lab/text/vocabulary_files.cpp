#include "text/vocabulary_files.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>

#include "data/error.h"
#include "text/byte_letters.h"
#include "text/utf8.h"
#include "text/words.h"

namespace lehi::text {
namespace {

constexpr std::string_view end_of_text = "<|endoftext|>";

// Entries among a file's settings that say that the two lists were there.
constexpr const char* vocabulary_found = "the vocabulary";
constexpr const char* merges_found = "the merges";

std::string to_bytes(std::string_view letters, const std::string& where) {
  const auto bytes = bytes_of_letters(letters);
  if (!bytes) {
    data::refuse_data("{} has the token '{}', which holds a character that stands for no byte", where,
                      letters.substr(0, 100));
  }
  return *bytes;
}

// "left right", both in letters.
std::pair<std::string, std::string> to_merge(std::string_view line, const std::string& where) {
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos || space == 0 || space + 1 == line.size() || space != line.rfind(' ')) {
    data::refuse_data("{} has the merge '{}', which is not two tokens with a space between", where,
                      line.substr(0, 100));
  }
  return {to_bytes(line.substr(0, space), where), to_bytes(line.substr(space + 1), where)};
}

void add_merge(VocabularyParts& parts, std::string_view line, const std::string& where) {
  if (parts.merges.size() == most_merges) data::refuse_data("{} has more than {} merges", where, most_merges);
  parts.merges.push_back(to_merge(line, where));
}

constexpr std::size_t least_token_bytes = 6;  // "a":1, and "a b",

// Takes the two long lists out of the stream of a parser, so that no document of half a million values is built; the
// few other values are kept as text by path, e.g. "model.type" or "added_tokens[0].id".
class VocabularyReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  VocabularyReader(std::string vocabulary_path, std::string merges_path, const std::string& where)
      : vocabulary_path_(std::move(vocabulary_path)), merges_path_(std::move(merges_path)), where_(where) {}

  VocabularyParts parts;
  std::map<std::string, std::string> values;

  /// Room for what a file of so many bytes can hold at most, so that the lists need not grow.
  void expect(std::size_t bytes) {
    parts.tokens.reserve(std::min(bytes / least_token_bytes + 1, most_tokens));
    if (!merges_path_.empty()) parts.merges.reserve(std::min(bytes / least_token_bytes + 1, most_merges));
  }

  bool null() override { return scalar("null"); }
  bool boolean(bool value) override { return scalar(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { return scalar(std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override {
    if (in_vocabulary_) {
      if (parts.tokens.size() == most_tokens) data::refuse_data("{} has more than {} tokens", where_, most_tokens);
      parts.tokens.emplace_back(to_bytes(key_, where_), value);
      return true;
    }
    return scalar(std::to_string(value));
  }
  bool number_float(number_float_t /*value*/, const string_t& text) override { return scalar(text); }
  bool string(string_t& value) override {
    if (in_merges_) {
      add_merge(parts, value, where_);
      return true;
    }
    return scalar(value);
  }
  bool binary(binary_t& /*value*/) override { return false; }  // JSON has none
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
    data::refuse_data("{} is not valid JSON at byte {}; get the file again", where_, position);
  }

 private:
  struct Level {
    std::string path;
    char kind;
    std::size_t count;
  };

  static constexpr std::size_t longest_path = 400;

  // The path of the value that comes next.
  std::string place() {
    if (levels_.empty()) return "";
    Level& level = levels_.back();
    if (level.kind == '[') return fmt::format("{}[{}]", level.path, level.count++);
    // Every value repeats the names above it: a long one would cost a multiple of the file.
    if (level.path.size() + key_.size() > longest_path) {
      data::refuse_data("{} has a setting whose name, {}..., is very long", where_, key_.substr(0, 40));
    }
    return level.path.empty() ? key_ : level.path + "." + key_;
  }

  bool scalar(const std::string& value) {
    if (in_vocabulary_) {
      data::refuse_data("{} gives the token '{}' the id {}, which is not a number of at least 0", where_,
                        key_.substr(0, 100), value.substr(0, 100));
    }
    if (in_merges_) data::refuse_data("{} has a merge that is not a text of two tokens", where_);
    keep(place(), value);
    return true;
  }

  void keep(const std::string& path, const std::string& value) {
    constexpr std::size_t most_values = 50'000;  // 256 special tokens make 2,000
    if (values.size() == most_values) data::refuse_data("{} has more than {} settings", where_, most_values);
    if (!values.emplace(path, value).second) data::refuse_data("{} has '{}' twice", where_, path.substr(0, 200));
  }

  bool open(char kind) {
    constexpr std::size_t most_levels = 32;
    if (in_vocabulary_ || in_merges_) data::refuse_data("{} has a list inside its vocabulary or merges", where_);
    if (levels_.size() == most_levels) data::refuse_data("{} is nested more than {} deep", where_, most_levels);
    levels_.push_back({place(), kind, 0});
    in_vocabulary_ = levels_.back().path == vocabulary_path_ && kind == '{';
    in_merges_ = !merges_path_.empty() && levels_.back().path == merges_path_ && kind == '[';
    if (in_vocabulary_ || in_merges_) keep(in_vocabulary_ ? vocabulary_found : merges_found, "");
    return true;
  }

  bool close() {
    in_vocabulary_ = false;
    in_merges_ = false;
    levels_.pop_back();
    return true;
  }

  std::string vocabulary_path_;
  std::string merges_path_;
  const std::string& where_;
  std::vector<Level> levels_;
  std::string key_;
  bool in_vocabulary_ = false;
  bool in_merges_ = false;
};

void read_json(VocabularyReader& reader, std::string_view json, const std::string& where) {
  require_utf8(json, where);
  reader.expect(json.size());
  if (!nlohmann::json::sax_parse(json.begin(), json.end(), &reader)) data::refuse_data("{} can't be read", where);
}

// A setting that has to be what this program does; "" is for one that may be absent.
void require_value(const VocabularyReader& reader, const std::string& path,
                   const std::vector<std::string_view>& allowed, const std::string& where) {
  const auto found = reader.values.find(path);
  const std::string value = found == reader.values.end() ? "" : found->second;
  if (std::find(allowed.begin(), allowed.end(), value) != allowed.end()) return;
  data::refuse_data("{} says {} is '{}' where '{}' is the only one that this program knows", where, path,
                    value.substr(0, 200), allowed.front());
}

std::uint64_t to_id(const std::string& text, const std::string& where) {
  std::uint64_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc() || end != text.data() + text.size()) {
    data::refuse_data("{} has a special token with the id '{}', which is not a number", where, text.substr(0, 100));
  }
  return id;
}

void read_specials(VocabularyReader& reader, const std::string& where) {
  for (std::size_t i = 0;; ++i) {
    const std::string path = fmt::format("added_tokens[{}].", i);
    const auto next = reader.values.lower_bound(path);
    if (next == reader.values.end() || !next->first.starts_with(path)) return;
    for (const char* flag : {"single_word", "lstrip", "rstrip", "normalized"}) {
      require_value(reader, path + flag, {"false", ""}, where);
    }
    const auto id = reader.values.find(path + "id");
    const auto text = reader.values.find(path + "content");
    if (id == reader.values.end() || text == reader.values.end()) {
      data::refuse_data("{} has an entry {} of added_tokens without id or content", where, i);
    }
    reader.parts.specials.emplace_back(text->second, to_id(id->second, where));
  }
}

}  // namespace

VocabularyParts read_gpt2(std::string_view encoder_json, std::string_view vocab_bpe, const std::string& where) {
  VocabularyReader reader("", "", where);
  read_json(reader, encoder_json, where);
  VocabularyParts parts = std::move(reader.parts);
  const auto special = std::find_if(parts.tokens.begin(), parts.tokens.end(),
                                    [](const auto& token) { return token.first == end_of_text; });
  if (special == parts.tokens.end()) data::refuse_data("{} has no token {}", where, end_of_text);
  parts.specials.push_back(*special);
  parts.tokens.erase(special);

  require_utf8(vocab_bpe, where);
  const auto lines = static_cast<std::size_t>(std::count(vocab_bpe.begin(), vocab_bpe.end(), '\n')) + 1;
  parts.merges.reserve(std::min(lines, most_merges));
  for (std::size_t begin = 0, number = 0; begin < vocab_bpe.size(); ++number) {
    const std::size_t end = std::min(vocab_bpe.find('\n', begin), vocab_bpe.size());
    const std::string_view line = vocab_bpe.substr(begin, end - begin);
    begin = end + 1;
    if (number > 0) {
      add_merge(parts, line, where);
    } else if (!line.starts_with("#version")) {
      data::refuse_data("{} does not begin with '#version': it is no list of merges", where);
    }
  }
  return parts;
}

VocabularyParts read_llama3(std::string_view tokenizer_json, const std::string& where) {
  VocabularyReader reader("model.vocab", "model.merges", where);
  read_json(reader, tokenizer_json, where);
  for (const char* list : {vocabulary_found, merges_found}) {
    if (!reader.values.contains(list)) data::refuse_data("{} lacks {}", where, list);
  }
  require_value(reader, "model.type", {"BPE"}, where);
  require_value(reader, "model.ignore_merges", {"true"}, where);
  require_value(reader, "model.byte_fallback", {"false", ""}, where);
  require_value(reader, "normalizer", {"null"}, where);
  for (const char* unused : {"dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix"}) {
    require_value(reader, std::string("model.") + unused, {"null", ""}, where);
  }
  const std::string split = "pre_tokenizer.pretokenizers[0].";
  const std::string byte_level = "pre_tokenizer.pretokenizers[1].";
  require_value(reader, "pre_tokenizer.type", {"Sequence"}, where);
  require_value(reader, split + "type", {"Split"}, where);
  require_value(reader, split + "pattern.Regex", {llama3_pattern}, where);
  require_value(reader, split + "behavior", {"Isolated"}, where);
  require_value(reader, split + "invert", {"false"}, where);
  require_value(reader, byte_level + "type", {"ByteLevel"}, where);
  require_value(reader, byte_level + "add_prefix_space", {"false"}, where);
  require_value(reader, byte_level + "use_regex", {"false"}, where);
  require_value(reader, "pre_tokenizer.pretokenizers[2].type", {""}, where);
  read_specials(reader, where);
  return std::move(reader.parts);
}

}  // namespace lehi::text
