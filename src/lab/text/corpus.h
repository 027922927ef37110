// The training, validation and test tokens of a language-model task: finds the files, tokenises them and splits them.
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
  std::string corpus = {};  ///< "": the task's own files; "speeches": the speeches of the catalogue instead
  TokenizerKind tokenizer = TokenizerKind::gpt2;
  std::string data_dir = {};      ///< the data directory, see data/find_files.h
  std::string field = "text";     ///< the field of JSON Lines with the text
  std::string cache_dir = {};     ///< see TokenRequest
  double validation = 0.0;        ///< fraction for validation, if the corpus has no validation part; 0: none
  double test = 0.1;              ///< fraction for testing, if the corpus has no test part and test_tokens is 0
  std::int64_t train_tokens = 0;  ///< at most this many, from the beginning of the training part; 0: all
  std::int64_t test_tokens = 0;   ///< the same for the test part; if one file is split: exactly this many, its last
  std::function<void(const std::string&)> on_message = {};  ///< see TokenRequest
};

struct Corpus {
  TokenData train;
  std::optional<TokenData> validation;
  TokenData test;
  std::int64_t vocabulary = 0;       ///< the number of tokens of the vocabulary
  std::vector<std::string> notices;  ///< deviations from the request, one sentence each
};

/// ptb has three official parts. fineweb-edu is one file, or a training and a test file; then the validation part is
/// the end of the training file. One file is split in order: training, validation, test. If it has too few tokens for
/// the request, the training part is shorter and a notice says so. Throws DataError for files that are missing (which
/// ones, where they were looked for, how to get them), damaged, or too short to train on, and std::invalid_argument for
/// a wrong request.
Corpus load_corpus(const CorpusRequest& request);

}  // namespace lehi::text
