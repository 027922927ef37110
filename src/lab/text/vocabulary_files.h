// Reads the reference tokenizers' own files. They are input from outside: everything in them is checked.
#pragma once

#include <string>
#include <string_view>

#include "text/vocabulary.h"

namespace lehi::text {

/// GPT-2: encoder.json, an object of ids by token, and vocab.bpe, a line a merge after a first line with the version.
/// `where` names both in messages. Throws DataError.
VocabularyParts read_gpt2(std::string_view encoder_json, std::string_view vocab_bpe, const std::string& where);

/// Llama-3: Hugging Face's tokenizer.json. Refuses, besides damage, any setting that would make other ids than this
/// program computes: another pattern of words, a normalizer, tokens that strip spaces. Throws DataError.
VocabularyParts read_llama3(std::string_view tokenizer_json, const std::string& where);

}  // namespace lehi::text
