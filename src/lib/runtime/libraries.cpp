#include "runtime/libraries.h"

#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "runtime/blas.h"

namespace lehi::runtime {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string torch_directory() {
  Dl_info info = {};
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): how POSIX defines dladdr for functions
  if (dladdr(reinterpret_cast<void*>(&at::get_num_threads), &info) == 0 || info.dli_fname == nullptr) return "";
  std::error_code error;
  const auto file = std::filesystem::canonical(info.dli_fname, error);
  return (error ? std::filesystem::path(info.dli_fname) : file).parent_path().string();
}

}  // namespace

std::string config_value(std::string_view text, std::string_view label) {
  const auto found = text.find(label);
  if (found == std::string_view::npos) return "";
  const auto line = text.substr(found + label.size(), text.find('\n', found) - found - label.size());
  const auto begin = std::min(line.find_first_not_of(": "), line.size());
  return std::string(line.substr(begin));
}

std::string version_in(std::string_view text) {
  for (std::size_t begin = 0; begin < text.size();) {
    if (!is_digit(text[begin])) {
      ++begin;
      continue;
    }
    std::size_t end = begin;
    while (end < text.size() &&
           (is_digit(text[end]) || (text[end] == '.' && end + 1 < text.size() && is_digit(text[end + 1]))))
      ++end;
    const auto number = text.substr(begin, end - begin);
    if (number.find('.') != std::string_view::npos) return std::string(number);
    begin = end;
  }
  return "";
}

Libraries loaded_libraries() {
  Libraries libraries;
  libraries.directory = torch_directory();
  libraries.instruction_set = config_value(at::show_config(), "CPU capability usage");
  libraries.onednn = version_in(at::get_mkldnn_version());
  libraries.mkl = version_in(at::get_mkl_version());
  libraries.blas_threads = blas_threads();
  return libraries;
}

}  // namespace lehi::runtime
