#include "harness.h"

#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp is POSIX

#include <cstdio>
#include <memory>

#include "meter.h"

namespace lehi::fuzz {
namespace {

constexpr std::size_t base_memory = std::size_t{64} << 20;
constexpr std::size_t longest_sentence = 4096;

std::size_t allowed_bytes = 0;

class Folder {
 public:
  Folder() {
    auto name = (std::filesystem::temp_directory_path() / "lehi-fuzz-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot create a temporary directory");
    path = name;
  }
  Folder(const Folder&) = delete;
  Folder(Folder&&) = delete;
  Folder& operator=(const Folder&) = delete;
  Folder& operator=(Folder&&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::filesystem::path path;
};

}  // namespace

void require(bool holds, const std::string& what) {
  if (!holds) throw Finding(what);
}

const Target* find_target(std::string_view name) {
  for (const auto& target : targets()) {
    if (target.name == name) return &target;
  }
  return nullptr;
}

void allow(std::size_t bytes) { allowed_bytes = std::max(allowed_bytes, bytes); }

void run_target(const Target& target, std::string_view input) {
  allowed_bytes = input.size();
  const Meter meter;
  target.run(input);
  const std::size_t limit = 2 * allowed_bytes + base_memory;
  if (meter.peak() <= limit) return;
  throw Finding(target.name + ": " + std::to_string(meter.peak()) + " bytes were in use for an input of " +
                std::to_string(allowed_bytes) + "; the limit is " + std::to_string(limit));
}

// The well-formed sequences of Unicode 15, table 3-7.
bool is_utf8(std::string_view bytes) {
  const auto in = [&](std::size_t at, int low, int high) {
    if (at >= bytes.size()) return false;
    const int byte = static_cast<unsigned char>(bytes[at]);
    return byte >= low && byte <= high;
  };
  const auto tail = [&](std::size_t at) { return in(at, 0x80, 0xbf); };
  for (std::size_t at = 0; at < bytes.size();) {
    if (in(at, 0x00, 0x7f)) {
      at += 1;
    } else if (in(at, 0xc2, 0xdf) && tail(at + 1)) {
      at += 2;
    } else if (((in(at, 0xe0, 0xe0) && in(at + 1, 0xa0, 0xbf)) || (in(at, 0xe1, 0xec) && tail(at + 1)) ||
                (in(at, 0xed, 0xed) && in(at + 1, 0x80, 0x9f)) || (in(at, 0xee, 0xef) && tail(at + 1))) &&
               tail(at + 2)) {
      at += 3;
    } else if (((in(at, 0xf0, 0xf0) && in(at + 1, 0x90, 0xbf)) || (in(at, 0xf1, 0xf3) && tail(at + 1)) ||
                (in(at, 0xf4, 0xf4) && in(at + 1, 0x80, 0x8f))) &&
               tail(at + 2) && tail(at + 3)) {
      at += 4;
    } else {
      return false;
    }
  }
  return true;
}

std::string sentence_fault(std::string_view text) {
  if (text.empty()) return "it is empty";
  if (text.size() > longest_sentence) return "it has " + std::to_string(text.size()) + " bytes";
  if (!is_utf8(text)) return "it is not UTF-8";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 || byte == 0x7f) return "it has the control character " + std::to_string(byte);
    if (byte == 0xc2 && static_cast<unsigned char>(text[i + 1]) < 0xa0) return "it has a C1 control character";
  }
  return "";
}

void report_unexpected(const std::exception& error) {
  throw Finding(std::string("an undocumented exception was thrown: ") + typeid(error).name() + ": " + error.what());
}

void check_message(const std::exception& error) {
  const auto fault = sentence_fault(error.what());
  if (!fault.empty()) throw Finding("an error message is not one sentence for a user: " + fault + ": " + error.what());
}

const std::filesystem::path& own_folder() {
  static const Folder folder;
  return folder.path;
}

std::filesystem::path input_file(const std::string& name, std::string_view bytes) {
  auto path = own_folder() / name;
  std::error_code ignored;
  std::filesystem::remove(path,
                          ignored);  // a new file is faster: ext4 writes a truncated one to disk when it is closed
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "wb"), &std::fclose);
  if (!file || (!bytes.empty() && std::fwrite(bytes.data(), 1, bytes.size(), file.get()) != bytes.size())) {
    throw std::runtime_error("cannot write " + path.string());
  }
  return path;
}

std::vector<std::string_view> parts_of(std::string_view input) {
  constexpr std::string_view line = "\n====\n";
  std::vector<std::string_view> parts;
  for (std::size_t at = input.find(line); at != std::string_view::npos; at = input.find(line)) {
    parts.push_back(input.substr(0, at));
    input.remove_prefix(at + line.size());
  }
  parts.push_back(input);
  return parts;
}

}  // namespace lehi::fuzz
