#include "text/words.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "text/unicode_ranges.h"
#include "text/utf8.h"

namespace lehi::text {
namespace {

// `other` is [^\s\p{L}\p{N}] in the patterns.
enum class Kind : std::uint8_t { other, letter, number, space };

// One byte for each code point: a megabyte, of which ordinary text uses a few pages.
std::vector<Kind> make_kinds() {
  std::vector<Kind> kinds(0x110000, Kind::other);
  const auto fill = [&kinds](const CodeRange& range, Kind kind) {
    std::fill(kinds.begin() + range.first, kinds.begin() + range.last + 1, kind);
  };
  for (const CodeRange& range : letter_ranges) fill(range, Kind::letter);
  for (const CodeRange& range : number_ranges) fill(range, Kind::number);
  // JavaScript's \s, which both references use: it has U+FEFF, but neither U+0085 nor U+180E.
  for (const CodeRange& range : {CodeRange{0x9, 0xd},
                                 {0x20, 0x20},
                                 {0xa0, 0xa0},
                                 {0x1680, 0x1680},
                                 {0x2000, 0x200a},
                                 {0x2028, 0x2029},
                                 {0x202f, 0x202f},
                                 {0x205f, 0x205f},
                                 {0x3000, 0x3000},
                                 {0xfeff, 0xfeff}}) {
    fill(range, Kind::space);
  }
  return kinds;
}

const Kind* kind_table() {
  static const std::vector<Kind> kinds = make_kinds();
  return kinds.data();
}

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  // 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
  std::size_t gpt2_word(std::size_t begin) const {
    if (const std::size_t end = contraction(begin, false)) return end;
    const std::size_t first = begin + (text_[begin] == ' ' ? 1 : 0);
    if (first < text_.size()) {
      if (const Kind kind = kind_at(first); kind != Kind::space) return run_of(kind, first);
    }
    return spaces(begin).end;
  }

  // See llama3_pattern. Its contractions match ASCII letters only: the reference replaces (?i:...) by [sS] and so on,
  // whereas other libraries' (?i:...) would also match U+017F as an s.
  std::size_t llama3_word(std::size_t begin) const {
    if (const std::size_t end = contraction(begin, true)) return end;
    const auto [code, length] = character_at(text_, begin);
    const Kind kind = kinds_[code];
    if (kind == Kind::letter) return run_of(Kind::letter, begin);
    if (kind == Kind::number) return up_to_three_numbers(begin);
    if (const std::size_t next = begin + length; next < text_.size() && !is_line_end(begin)) {
      if (kind_at(next) == Kind::letter) return run_of(Kind::letter, next);
    }
    const std::size_t first = begin + (code == ' ' ? 1 : 0);
    if (first < text_.size() && kind_at(first) == Kind::other) {
      std::size_t end = run_of(Kind::other, first);
      while (end < text_.size() && is_line_end(end)) ++end;
      return end;
    }
    const Spaces run = spaces(begin);
    return run.line_end != 0 ? run.line_end : run.end;
  }

 private:
  struct Spaces {
    std::size_t end;       // of a match of \s+(?!\S)|\s+
    std::size_t line_end;  // of a match of \s*[\r\n]+: after the last \r or \n of the run; 0 if there is none
  };

  Kind kind_at(std::size_t at) const { return kinds_[character_at(text_, at).code]; }
  bool is_line_end(std::size_t at) const { return text_[at] == '\r' || text_[at] == '\n'; }

  std::size_t run_of(Kind kind, std::size_t at) const {
    while (at < text_.size()) {
      const auto [code, length] = character_at(text_, at);
      if (kinds_[code] != kind) break;
      at += length;
    }
    return at;
  }

  std::size_t up_to_three_numbers(std::size_t at) const {
    for (int i = 0; i < 3 && at < text_.size(); ++i) {
      const auto [code, length] = character_at(text_, at);
      if (kinds_[code] != Kind::number) break;
      at += length;
    }
    return at;
  }

  // If text follows the run, the run's last space is left to that text, unless the run is a single space.
  Spaces spaces(std::size_t begin) const {
    std::size_t at = begin;
    std::size_t last = begin;
    std::size_t line_end = 0;
    while (at < text_.size()) {
      const auto [code, length] = character_at(text_, at);
      if (kinds_[code] != Kind::space) break;
      last = at;
      at += length;
      if (code == '\r' || code == '\n') line_end = at;
    }
    return {at < text_.size() && last > begin ? last : at, line_end};
  }

  // The end of a match of 's, 't, 're, 've, 'm, 'll or 'd; 0 if there is none.
  std::size_t contraction(std::size_t begin, bool any_case) const {
    if (text_[begin] != '\'' || begin + 1 == text_.size()) return 0;
    const auto letter = [&](std::size_t at) {
      if (at >= text_.size()) return '\0';
      const char c = text_[at];
      return any_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    };
    const char first = letter(begin + 1);
    if (first == 's' || first == 't' || first == 'm' || first == 'd') return begin + 2;
    const char second = letter(begin + 2);
    const bool three = ((first == 'r' || first == 'v') && second == 'e') || (first == 'l' && second == 'l');
    return three ? begin + 3 : 0;
  }

  std::string_view text_;
  const Kind* kinds_ = kind_table();
};

}  // namespace

const std::string_view llama3_pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

std::size_t word_end(WordRule rule, std::string_view text, std::size_t begin) {
  const Scanner scanner(text);
  return rule == WordRule::gpt2 ? scanner.gpt2_word(begin) : scanner.llama3_word(begin);
}

}  // namespace lehi::text
