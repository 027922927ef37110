#!/usr/bin/env node
// Writes src/lab/text/unicode_ranges.h: the code points that JavaScript's \p{L} and \p{N} match. The reference tokenizers run
// on node, so the tables are those of node's regular expressions and not of another library.
//
// usage: node scripts/reference/unicode_ranges.js > src/lab/text/unicode_ranges.h && clang-format -i src/lab/text/unicode_ranges.h
'use strict'

function ranges(pattern) {
  const found = []
  for (let code = 0, begin = -1; code <= 0x110000; ++code) {
    const surrogate = code >= 0xd800 && code <= 0xdfff
    const inside = code < 0x110000 && !surrogate && pattern.test(String.fromCodePoint(code))
    if (inside && begin < 0) begin = code
    if (!inside && begin >= 0) {
      found.push(`{0x${begin.toString(16)}, 0x${(code - 1).toString(16)}}`)
      begin = -1
    }
  }
  return found
}

function table(name, pattern) {
  const list = ranges(pattern)
  return `inline constexpr std::array<CodeRange, ${list.length}> ${name} = {{${list.join(', ')}}};`
}

console.log(`// Letters and numbers of Unicode ${process.versions.unicode}, as node's regular expressions see them.
// Written by scripts/reference/unicode_ranges.js; change that, not this.
#pragma once

#include <array>

namespace lehi::text {

/// From first to last, both included.
struct CodeRange {
  char32_t first;
  char32_t last;
};

${table('letter_ranges', /^\p{L}$/u)}

${table('number_ranges', /^\p{N}$/u)}

}  // namespace lehi::text`)
