// Failures as one sentence, also where no memory is left to make one.
#pragma once

#include <array>
#include <exception>
#include <string>
#include <string_view>

namespace lehi::base {

/// What a scope does, for the sentence about memory that was missing: "load the data of task mnist". The innermost one
/// that an exception leaves is remembered, without allocating anything.
class Doing {
 public:
  explicit Doing(std::string_view what) noexcept;
  Doing(const Doing&) = delete;
  Doing& operator=(const Doing&) = delete;
  ~Doing();

  static constexpr std::size_t longest = 300;

 private:
  std::array<char, longest> what_{};
  int exceptions_;
};

/// std::bad_alloc, or LibTorch's own error about memory.
bool is_lack_of_memory(const std::exception& error) noexcept;

/// "not enough memory to load the data of task mnist" after a lack of memory, by what was done on this thread.
std::string_view lack_of_memory() noexcept;

/// The text of an error without LibTorch's stack trace.
const char* text_of(const std::exception& error) noexcept;

/// The same as one line; for a lack of memory, lack_of_memory().
std::string sentence_of(const std::exception& error);

/// sentence_of() without allocating: in pieces.
template <class Put>
void put_sentence(const std::exception& error, const Put& put) {
  if (is_lack_of_memory(error)) return put(lack_of_memory());
  std::string_view text = text_of(error);
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  for (;;) {
    const auto end = text.find('\n');
    put(text.substr(0, end));
    if (end == std::string_view::npos) return;
    put(std::string_view(" "));
    text.remove_prefix(end + 1);
  }
}

}  // namespace lehi::base
