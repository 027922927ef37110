// Pre-tokenisation: text into the words inside which BPE merges. Hand-written scanners for the two regular expressions
// of the reference tokenizers (see words.cpp), whose tables are those of the references' own engine (unicode_ranges.h),
// so that both see the same letters, numbers and spaces.
#pragma once

#include <cstddef>
#include <string_view>

namespace lehi::text {

/// Whose words.
enum class WordRule { gpt2, llama3 };

/// The end of the word that starts at `begin`: more than `begin`, at most text.size(). `text` is valid UTF-8, its end
/// counts as the end of everything, and `begin` is below it, at the start of a character.
std::size_t word_end(WordRule rule, std::string_view text, std::size_t begin);

/// The regular expression of Llama-3's words, as its tokenizer.json writes it.
extern const std::string_view llama3_pattern;

}  // namespace lehi::text
