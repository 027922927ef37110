#include "base/failure.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace lehi::base {
namespace {

constexpr std::string_view lacking = "not enough memory to ";

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): memory for when there is none
thread_local std::array<char, lacking.size() + Doing::longest> failed = {};

}  // namespace

Doing::Doing(std::string_view what) noexcept : exceptions_(std::uncaught_exceptions()) {
  failed[0] = '\0';
  std::copy_n(what.begin(), std::min(what.size(), longest - 1), what_.begin());
}

Doing::~Doing() {
  if (std::uncaught_exceptions() <= exceptions_ || failed[0] != '\0') return;
  std::copy(lacking.begin(), lacking.end(), failed.begin());
  std::copy(what_.begin(), what_.end(), failed.begin() + lacking.size());
}

bool is_lack_of_memory(const std::exception& error) noexcept {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return true;
  return dynamic_cast<const c10::Error*>(&error) != nullptr &&
         std::strstr(text_of(error), "can't allocate memory") != nullptr;
}

std::string_view lack_of_memory() noexcept {
  return failed[0] != '\0' ? std::string_view(failed.data()) : "not enough memory; free some, or ask for less";
}

const char* text_of(const std::exception& error) noexcept {
  const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
  return torch_error != nullptr ? torch_error->what_without_backtrace() : error.what();
}

std::string sentence_of(const std::exception& error) {
  std::string text;
  put_sentence(error, [&](std::string_view piece) { text += piece; });
  return text;
}

}  // namespace lehi::base
