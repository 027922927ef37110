// What a language-model task trains and tests on, in one call: finds the files, tokenises them, cuts them into parts.
//
//   const Corpus corpus = load_corpus({.task = "text:book.txt", .tokenizer = TokenizerKind::bytes});
//   const auto blocks = corpus.train.blocks(128);
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "text/token_data.h"

namespace lehi::text {

struct CorpusRequest {
  std::string task;         ///< "ptb", "fineweb-edu" or "text:FILE"
  std::string corpus = {};  ///< "": the task's own files; "speeches": that text of the catalogue instead
  TokenizerKind tokenizer = TokenizerKind::gpt2;
  std::string data_dir = {};      ///< as everywhere, see data/catalogue.h
  std::string field = "text";     ///< of JSON Lines
  std::string cache_dir = {};     ///< as in TokenRequest
  double validation = 0.0;        ///< fraction for validation, where the corpus has no such part; 0: none
  double test = 0.1;              ///< fraction for testing, where the corpus has no such part and test_tokens is 0
  std::int64_t train_tokens = 0;  ///< at most so many, from the front of the part; 0: all
  std::int64_t test_tokens = 0;   ///< the same; of one file that is cut, exactly its last
  std::function<void(const std::string&)> on_message = {};  ///< as in TokenRequest
};

struct Corpus {
  TokenData train;
  std::optional<TokenData> validation;
  TokenData test;
  std::int64_t vocabulary;           ///< number of tokens that there are
  std::vector<std::string> notices;  ///< what is not as asked, a sentence each
};

/// ptb has three official parts. fineweb-edu is one file, or train and test apart: then validation is the end of train.
/// One file is cut in order: training from its front, validation, testing up to its end; where it has too few tokens
/// for what was asked, training gets fewer, and a notice says so. Throws DataError for files that are missing (which,
/// where looked for, how to get them), damaged, or leave nothing to train on, and std::invalid_argument for a wrong
/// request.
Corpus load_corpus(const CorpusRequest& request);

}  // namespace lehi::text
