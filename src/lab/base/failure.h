// Error messages as one sentence, also when no memory is left to format one.
#pragma once

#include <array>
#include <exception>
#include <string>
#include <string_view>

namespace lehi::base {

/// Describes what a scope does, "load the data of task mnist", for the message after a failed allocation. When an
/// exception leaves nested scopes, the innermost description is kept. Allocates nothing.
class Activity {
 public:
  explicit Activity(std::string_view what) noexcept;
  Activity(const Activity&) = delete;
  Activity(Activity&&) = delete;
  Activity& operator=(const Activity&) = delete;
  Activity& operator=(Activity&&) = delete;
  ~Activity();

  static constexpr std::size_t longest = 300;

 private:
  std::array<char, longest> what_{};
  int exceptions_;
};

/// True for std::bad_alloc and for LibTorch's own error about memory.
bool is_out_of_memory(const std::exception& error) noexcept;

/// "not enough memory to load the data of task mnist": the activity of this thread whose allocation failed last.
std::string_view out_of_memory_message() noexcept;

/// The error's message without LibTorch's stack trace.
const char* message_without_backtrace(const std::exception& error) noexcept;

/// The same on one line; out_of_memory_message() for a failed allocation.
std::string one_line_message(const std::exception& error);

/// Passes one_line_message() in pieces to `write`; allocates nothing itself.
template <class Write>
void write_message(const std::exception& error, const Write& write) {
  if (is_out_of_memory(error)) return write(out_of_memory_message());
  std::string_view message = message_without_backtrace(error);
  while (!message.empty() && message.back() == '\n') message.remove_suffix(1);
  for (;;) {
    const auto end = message.find('\n');
    write(message.substr(0, end));
    if (end == std::string_view::npos) return;
    write(std::string_view(" "));
    message.remove_prefix(end + 1);
  }
}

}  // namespace lehi::base
