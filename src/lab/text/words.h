// Pre-tokenisation: splits text into the words within which BPE merges. Scanners written by hand for the regular
// expressions of the two reference tokenizers (see words.cpp). Their character classes come from the engine that the
// references use (unicode_ranges.h), so both agree on letters, numbers and spaces.
#pragma once

#include <cstddef>
#include <string_view>

namespace lehi::text {

/// The tokenizer whose words these are.
enum class WordRule { gpt2, llama3 };

/// The end of the word that starts at `begin`; more than `begin`, at most text.size(). `text` must be valid UTF-8, and
/// `begin` the start of a character. The end of `text` is treated as the end of the input.
std::size_t word_end(WordRule rule, std::string_view text, std::size_t begin);

/// The regular expression of Llama-3's words, as in its tokenizer.json.
extern const std::string_view llama3_pattern;

}  // namespace lehi::text
