// Parses the files of the reference tokenizers. The files are untrusted: everything in them is validated.
#pragma once

#include <string>
#include <string_view>

#include "text/vocabulary.h"

namespace lehi::text {

/// GPT-2: encoder.json, an object of ids by token, and vocab.bpe, a line with the version, then one merge a line.
/// Throws DataError; its message names the files as `where`.
VocabularyParts read_gpt2(std::string_view encoder_json, std::string_view vocab_bpe, const std::string& where);

/// Llama-3: Hugging Face's tokenizer.json. Throws DataError for damage, and for any setting with which the ids would
/// differ from those that this program computes: another pattern of words, a normalizer, tokens that strip spaces.
VocabularyParts read_llama3(std::string_view tokenizer_json, const std::string& where);

}  // namespace lehi::text
