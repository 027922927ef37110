// Shared by all fuzz targets. A target passes bytes to one of the program's readers and requires more than that nothing
// crashes: the reader throws only the exceptions that it documents, each with one sentence fit for a terminal; what was
// read can be written and read again; memory stays within a limit that depends on the input's size.
//
// libFuzzer (driver.cpp) and the replay of the corpus (tests/fuzz) use the same table of targets.
#pragma once

#include <cstddef>
#include <exception>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>
#include <vector>

namespace lehi::fuzz {

/// A requirement that was violated. Targets must not catch it.
class Finding : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws Finding with the message `what` unless `holds`.
void require(bool holds, const std::string& what);

struct Target {
  std::string name;
  void (*run)(std::string_view input);
};

/// All targets, in the order of their files.
const std::vector<Target>& targets();
/// nullptr if there is no target of this name.
const Target* find_target(std::string_view name);

/// Runs one input; throws Finding if a requirement is violated. The memory in use must never exceed
/// 2 x (the input's size, or the value of allow()) + 64 MiB.
void run_target(const Target& target, std::string_view input);

/// Raises the memory limit, for inputs that legitimately expand, such as compressed ones.
void allow(std::size_t bytes);

/// Why a message is not one sentence fit for a terminal; "" if it is.
std::string sentence_fault(std::string_view text);

/// Independent of the program's own UTF-8 decoder, so that it can check that one.
bool is_utf8(std::string_view bytes);

/// Throws Finding for an exception of a type that the reader does not document.
[[noreturn]] void report_unexpected(const std::exception& error);
/// Throws Finding unless the exception's message is one sentence fit for a terminal.
void check_message(const std::exception& error);

/// The result of `read`, or nothing if it rejected the input with one of Errors. Any other exception is a finding, and
/// so is a message that is not one sentence.
template <class... Errors, class Read>
auto accepted(Read&& read) -> std::optional<decltype(read())> {
  try {
    return read();
  } catch (const Finding&) {
    throw;
  } catch (const std::exception& error) {
    if (!((dynamic_cast<const Errors*>(&error) != nullptr) || ...)) report_unexpected(error);
    check_message(error);
    return std::nullopt;
  }
}

/// Writes these bytes to a file in own_folder(). Takes microseconds if TMPDIR is on a file system in memory.
std::filesystem::path input_file(const std::string& name, std::string_view bytes);
/// A temporary directory of this process.
const std::filesystem::path& own_folder();

/// Splits an input at lines "====".
std::vector<std::string_view> parts_of(std::string_view input);

}  // namespace lehi::fuzz
