// `lehi tokenize FILE`: converts text to the token ids of GPT-2's or Llama-3's tokenizer, and back.
#pragma once

#include <iosfwd>
#include <string>

#include "cli/command.h"
#include "text/tokenizer.h"

namespace lehi::cli {

struct TokenizeConfig {
  std::string file;  ///< "-": standard input
  text::TokenizerKind tokenizer = text::TokenizerKind::gpt2;
  text::Specials specials = text::Specials::reference;
  bool decode = false;  ///< convert ids to text
  bool count = false;   ///< print the number of tokens only
  bool json = false;
  std::string field = "text";  ///< of JSON Lines, with `out`
  std::string out;             ///< the token shard to write; "": none
  std::string data_dir;
};

TokenizeConfig parse_tokenize(const Arguments& arguments);

int run_tokenize(const TokenizeConfig& config, std::ostream& out, std::ostream& err);

}  // namespace lehi::cli
