#include "text/vocabulary_files.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "data/error.h"
#include "text/utf8.h"
#include "text/vocabulary_json.h"
#include "text/words.h"

namespace lehi::text {
namespace {

constexpr std::string_view end_of_text = "<|endoftext|>";

// Throws unless a setting has one of the supported values; "" in `allowed` means that it may be absent.
void require_value(const VocabularyJson& json, const std::string& path, const std::vector<std::string_view>& allowed,
                   const std::string& where) {
  const auto found = json.values.find(path);
  const std::string value = found == json.values.end() ? "" : found->second;
  if (std::find(allowed.begin(), allowed.end(), value) != allowed.end()) return;
  data::throw_data_error("{}: {} is '{}', but this program supports only '{}'", where, path, value.substr(0, 200),
                         allowed.front());
}

std::uint64_t to_id(const std::string& id_text, const std::string& where) {
  std::uint64_t id = 0;
  const auto [end, error] = std::from_chars(id_text.data(), id_text.data() + id_text.size(), id);
  if (error != std::errc() || end != id_text.data() + id_text.size()) {
    data::throw_data_error("{} has a special token with the id '{}'; expected a number", where, id_text.substr(0, 100));
  }
  return id;
}

void read_specials(VocabularyJson& json, const std::string& where) {
  for (std::size_t i = 0;; ++i) {
    const std::string path = fmt::format("added_tokens[{}].", i);
    const auto next = json.values.lower_bound(path);
    if (next == json.values.end() || !next->first.starts_with(path)) return;
    for (const char* flag : {"single_word", "lstrip", "rstrip", "normalized"}) {
      require_value(json, path + flag, {"false", ""}, where);
    }
    const auto id = json.values.find(path + "id");
    const auto text = json.values.find(path + "content");
    if (id == json.values.end() || text == json.values.end()) {
      data::throw_data_error("{}: added_tokens[{}] has no id or no content", where, i);
    }
    json.parts.specials.emplace_back(text->second, to_id(id->second, where));
  }
}

}  // namespace

VocabularyParts read_gpt2(std::string_view encoder_json, std::string_view vocab_bpe, const std::string& where) {
  VocabularyParts parts = std::move(read_vocabulary_json(encoder_json, "", "", where).parts);
  const auto special = std::find_if(parts.tokens.begin(), parts.tokens.end(),
                                    [](const auto& token) { return token.first == end_of_text; });
  if (special == parts.tokens.end()) data::throw_data_error("{} has no token {}", where, end_of_text);
  parts.specials.push_back(*special);
  parts.tokens.erase(special);

  require_utf8(vocab_bpe, where);
  const auto lines = static_cast<std::size_t>(std::count(vocab_bpe.begin(), vocab_bpe.end(), '\n')) + 1;
  parts.merges.reserve(std::min(lines, max_merges));
  for (std::size_t begin = 0, number = 0; begin < vocab_bpe.size(); ++number) {
    const std::size_t end = std::min(vocab_bpe.find('\n', begin), vocab_bpe.size());
    const std::string_view line = vocab_bpe.substr(begin, end - begin);
    begin = end + 1;
    if (number > 0) {
      add_merge(parts, line, where);
    } else if (!line.starts_with("#version")) {
      data::throw_data_error("{} does not begin with '#version', so it is not a list of merges", where);
    }
  }
  return parts;
}

VocabularyParts read_llama3(std::string_view tokenizer_json, const std::string& where) {
  VocabularyJson json = read_vocabulary_json(tokenizer_json, "model.vocab", "model.merges", where);
  if (!json.has_vocabulary) data::throw_data_error("{} has no object model.vocab", where);
  if (!json.has_merges) data::throw_data_error("{} has no list model.merges", where);
  require_value(json, "model.type", {"BPE"}, where);
  require_value(json, "model.ignore_merges", {"true"}, where);
  require_value(json, "model.byte_fallback", {"false", ""}, where);
  require_value(json, "normalizer", {"null"}, where);
  for (const char* unused : {"dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix"}) {
    require_value(json, std::string("model.") + unused, {"null", ""}, where);
  }
  const std::string split = "pre_tokenizer.pretokenizers[0].";
  const std::string byte_level = "pre_tokenizer.pretokenizers[1].";
  require_value(json, "pre_tokenizer.type", {"Sequence"}, where);
  require_value(json, split + "type", {"Split"}, where);
  require_value(json, split + "pattern.Regex", {llama3_pattern}, where);
  require_value(json, split + "behavior", {"Isolated"}, where);
  require_value(json, split + "invert", {"false"}, where);
  require_value(json, byte_level + "type", {"ByteLevel"}, where);
  require_value(json, byte_level + "add_prefix_space", {"false"}, where);
  require_value(json, byte_level + "use_regex", {"false"}, where);
  require_value(json, "pre_tokenizer.pretokenizers[2].type", {""}, where);
  read_specials(json, where);
  return std::move(json.parts);
}

}  // namespace lehi::text
