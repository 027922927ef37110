#include "train/json_parse.h"

#include <fmt/format.h>

#include <functional>
#include <set>
#include <vector>

#include "files/file_error.h"
#include "train/json_file.h"

namespace lehi::train {
namespace {

using nlohmann::json;

// Bytes that a value takes, with malloc's overhead: its place in a list (which doubles when it grows, so that both
// copies exist for a moment), a list or object itself, an object's node with its key, a string.
constexpr std::size_t kPlace = 48;
constexpr std::size_t kContainer = 64;
constexpr std::size_t kMember = 112;
constexpr std::size_t kString = 64;
constexpr std::size_t kGuardedKey = 80;  // in JsonGuard's set

/// A parser callback that throws when the document exceeds a limit or repeats a key.
class JsonGuard {
 public:
  JsonGuard(std::size_t text_size, const std::string& where, const JsonLimits& limits)
      : where_(where), limits_(limits), text_size_(text_size) {}

  bool operator()(int, json::parse_event_t event, json& value) {
    using Event = json::parse_event_t;
    switch (event) {
      case Event::object_start:
      case Event::array_start:
        count_child();
        spend(kPlace + kContainer);
        if (open_.size() == limits_.depth) stop(fmt::format("nests deeper than {} levels", limits_.depth));
        open_.push_back({event == Event::array_start, 0, {}});
        break;
      case Event::object_end:
      case Event::array_end:
        open_.pop_back();
        break;
      case Event::key:
        spend(kMember + kGuardedKey + 2 * value.get_ref<const std::string&>().size());
        if (!open_.back().keys.insert(value.get_ref<const std::string&>()).second) {
          stop(fmt::format("repeats the key {}", in_quotes(value.get_ref<const std::string&>())));
        }
        break;
      case Event::value:
        count_child();
        spend(kPlace + (value.is_string() ? kString + value.get_ref<const std::string&>().size() : 0));
        break;
    }
    return true;
  }

 private:
  struct Level {
    bool list;
    std::size_t size;
    std::set<std::string> keys;
  };

  void count_child() {
    if (open_.empty() || !open_.back().list) return;
    if (++open_.back().size > limits_.list_size) {
      stop(fmt::format("holds a list of more than {} values", limits_.list_size));
    }
  }

  void spend(std::size_t bytes) {
    spent_ += bytes;
    if (spent_ > text_size_ + limits_.memory) {
      stop(fmt::format("has too many values for its {} bytes", text_size_));
    }
  }

  [[noreturn]] void stop(const std::string& why) const { throw FileError(fmt::format("{} {}", where_, why)); }

  const std::string& where_;
  const JsonLimits& limits_;
  std::size_t text_size_;
  std::size_t spent_ = 0;
  std::vector<Level> open_;
};

}  // namespace

json parse_json(std::string_view text, const std::string& where, const JsonLimits& limits) {
  JsonGuard guard(text.size(), where, limits);
  try {
    return json::parse(text.begin(), text.end(), std::ref(guard));
  } catch (const json::parse_error& error) {
    throw FileError(fmt::format("{} is not valid JSON at byte {} of {}", where, error.byte, text.size()));
  } catch (const json::exception& error) {  // a number outside the range of double
    throw FileError(fmt::format("{} cannot be read as JSON ({})", where, error.what()));
  }
}

std::size_t memory_of(const json& document) {
  std::size_t bytes = kPlace;
  if (document.is_string()) bytes += kString + document.get_ref<const std::string&>().size();
  if (document.is_structured()) bytes += kContainer;
  if (document.is_object()) {
    for (const auto& [key, value] : document.items()) bytes += kMember + key.size() + memory_of(value);
  } else if (document.is_array()) {
    for (const auto& value : document) bytes += memory_of(value);
  }
  return bytes;
}

}  // namespace lehi::train
