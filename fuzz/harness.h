// What all fuzz targets stand on. A target takes bytes, hands them to one of the program's readers, and requires
// more than that nothing crashes: only the errors that the reader promises may leave it, each with one sentence that is
// fit for a terminal; what was read can be written and read again; memory stays within what the input's size allows.
//
// libFuzzer (driver.cpp) and the replay of the corpus (tests/fuzz) run the same table of targets.
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

/// A promise that was broken. Never a target's own business to catch.
class Finding : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

void require(bool holds, const std::string& what);

struct Target {
  std::string name;
  void (*run)(std::string_view input);
};

/// All of them, in the order of their files.
const std::vector<Target>& targets();
/// nullptr when there is none of that name.
const Target* find_target(std::string_view name);

/// Runs one input; throws Finding where a promise is broken, also that of memory: at most 2 x (the input's size, or
/// what allow() says) + 64 MiB at any moment.
void run_target(const Target& target, std::string_view input);

/// For inputs that rightly stand for more bytes than they have: compressed ones.
void allow(std::size_t bytes);

/// What is wrong with an error's text as the one sentence that a user sees; "" when nothing is.
std::string sentence_fault(std::string_view text);

/// By a decoder of its own, so that it can judge the program's.
bool is_utf8(std::string_view bytes);

[[noreturn]] void report_stray(const std::exception& error);
void check_refusal(const std::exception& error);

/// What `read` returns, or nothing where it refused the input with one of Errors. Any other exception is a finding, and
/// so is a refusal whose text is no sentence.
template <class... Errors, class Read>
auto accepted(Read&& read) -> std::optional<decltype(read())> {
  try {
    return read();
  } catch (const Finding&) {
    throw;
  } catch (const std::exception& error) {
    if (!((dynamic_cast<const Errors*>(&error) != nullptr) || ...)) report_stray(error);
    check_refusal(error);
    return std::nullopt;
  }
}

/// A file of the process's own folder, with these bytes. Where TMPDIR is on a memory file system, it costs
/// microseconds.
std::filesystem::path input_file(const std::string& name, std::string_view bytes);
/// That folder.
const std::filesystem::path& own_folder();

/// The parts of an input between lines that are "====".
std::vector<std::string_view> parts_of(std::string_view input);

}  // namespace lehi::fuzz
