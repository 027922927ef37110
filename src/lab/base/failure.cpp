#include "base/failure.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace lehi::base {
namespace {

constexpr std::string_view kPrefix = "not enough memory to ";

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): a message can't be allocated after bad_alloc
thread_local std::array<char, kPrefix.size() + Activity::longest> memory_message = {};

}  // namespace

Activity::Activity(std::string_view what) noexcept : exceptions_(std::uncaught_exceptions()) {
  memory_message[0] = '\0';
  std::copy_n(what.begin(), std::min(what.size(), longest - 1), what_.begin());
}

Activity::~Activity() {
  if (std::uncaught_exceptions() <= exceptions_ || memory_message[0] != '\0') return;
  std::copy(kPrefix.begin(), kPrefix.end(), memory_message.begin());
  std::copy(what_.begin(), what_.end(), memory_message.begin() + kPrefix.size());
}

bool is_out_of_memory(const std::exception& error) noexcept {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return true;
  return dynamic_cast<const c10::Error*>(&error) != nullptr &&
         std::strstr(message_without_backtrace(error), "can't allocate memory") != nullptr;
}

std::string_view out_of_memory_message() noexcept {
  return memory_message[0] != '\0' ? std::string_view(memory_message.data())
                                   : "not enough memory; free some, or ask for less";
}

const char* message_without_backtrace(const std::exception& error) noexcept {
  const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
  return torch_error != nullptr ? torch_error->what_without_backtrace() : error.what();
}

std::string one_line_message(const std::exception& error) {
  std::string message;
  write_message(error, [&](std::string_view piece) { message += piece; });
  return message;
}

}  // namespace lehi::base
