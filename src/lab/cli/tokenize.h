// `lehi tokenize FILE`: a text's tokens and ids by GPT-2's or Llama-3's tokenizer, and back.
#pragma once

#include <iosfwd>
#include <string>

#include "cli/command.h"
#include "text/tokenizer.h"

namespace lehi::cli {

struct TokenizeConfig {
  std::string file;  ///< "-" is standard input
  text::TokenizerKind tokenizer = text::TokenizerKind::gpt2;
  text::Specials specials = text::Specials::reference;
  bool decode = false;  ///< the file has ids, the answer is text
  bool count = false;   ///< the number of tokens only
  bool json = false;
  std::string field = "text";  ///< of JSON Lines, with out
  std::string out;             ///< write a token shard there
  std::string data_dir;
};

TokenizeConfig parse_tokenize(const Arguments& arguments);

int run_tokenize(const TokenizeConfig& config, std::ostream& out, std::ostream& err);

}  // namespace lehi::cli
