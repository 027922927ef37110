#include "train/json_file.h"

#include <fmt/format.h>

#include <functional>
#include <limits>
#include <set>
#include <vector>

#include "files/files.h"
#include "lehi/version.h"

namespace lehi::train {
namespace {

using nlohmann::json;

// What a value needs in memory: its place in a list (which doubles as it grows, so that the old one is beside the new),
// a list or object itself, the node of an object's member with its key, a text. With what malloc adds.
constexpr std::size_t kPlace = 48;
constexpr std::size_t kContainer = 64;
constexpr std::size_t kMember = 112;
constexpr std::size_t kText = 64;
constexpr std::size_t kGuardedKey = 80;  // as Guard remembers it

/// Watches the parser and stops it where the document passes a limit or repeats a key.
class Guard {
 public:
  Guard(std::size_t text_size, const std::string& where, const JsonLimits& limits)
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
        spend(kPlace + (value.is_string() ? kText + value.get_ref<const std::string&>().size() : 0));
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
      stop(fmt::format("holds more values than a document of {} bytes may", text_size_));
    }
  }

  [[noreturn]] void stop(const std::string& why) const { throw FileError(fmt::format("{} {}", where_, why)); }

  const std::string& where_;
  const JsonLimits& limits_;
  std::size_t text_size_;
  std::size_t spent_ = 0;
  std::vector<Level> open_;
};

std::string shortened(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  return text.size() <= kLongest ? std::string(text) : std::string(text.substr(0, kLongest)) + "...";
}

/// "a.b" for the key b of the object under a; "" where there is none.
std::string unknown_key(const json& document, const json& known) {
  if (!document.is_object() || !known.is_object()) return "";
  for (const auto& [key, value] : document.items()) {
    const auto same = known.find(key);
    if (same == known.end()) return key;
    if (same->empty()) continue;
    if (const auto inner = unknown_key(value, *same); !inner.empty()) return key + "." + inner;
  }
  return "";
}

[[noreturn]] void wrong_kind(const json& value, const char* key, const std::string& where, const char* expected) {
  throw FileError(fmt::format("{}: '{}' is {}, expected {}", where, key, shown_json(value), expected));
}

}  // namespace

json parse_json(std::string_view text, const std::string& where, const JsonLimits& limits) {
  Guard guard(text.size(), where, limits);
  try {
    return json::parse(text.begin(), text.end(), std::ref(guard));
  } catch (const json::parse_error& error) {
    throw FileError(fmt::format("{} is not valid JSON at byte {} of {}", where, error.byte, text.size()));
  } catch (const json::exception& error) {  // a number that no double holds
    throw FileError(fmt::format("{} cannot be read as JSON ({})", where, error.what()));
  }
}

std::string to_text(const json& document, int indent) {
  return document.dump(indent, ' ', false, json::error_handler_t::replace);
}

std::size_t memory_of(const json& document) {
  std::size_t bytes = kPlace;
  if (document.is_string()) bytes += kText + document.get_ref<const std::string&>().size();
  if (document.is_structured()) bytes += kContainer;
  if (document.is_object()) {
    for (const auto& [key, value] : document.items()) bytes += kMember + key.size() + memory_of(value);
  } else if (document.is_array()) {
    for (const auto& value : document) bytes += memory_of(value);
  }
  return bytes;
}

std::string shown_json(const json& value) {
  return value.is_string() ? in_quotes(value.get_ref<const std::string&>()) : shortened(to_text(value));
}

std::string in_quotes(std::string_view text) { return to_text(json(shortened(text))); }

std::string about_unknown_key(const json& document, const json& known, const std::string& where) {
  const auto key = unknown_key(document, known);
  if (key.empty()) return "";
  return fmt::format("{} has the key {}, which lehi {} does not know: a newer one may have written it; go on with that",
                     where, in_quotes(key), LEHI_VERSION);
}

const json& field(const json& object, const char* key, const std::string& where) {
  if (!object.is_object()) throw FileError(fmt::format("{} is not a JSON object", where));
  const auto found = object.find(key);
  if (found == object.end()) throw FileError(fmt::format("{}: the key '{}' is missing", where, key));
  return *found;
}

const json& object_field(const json& object, const char* key, const std::string& where) {
  const auto& value = field(object, key, where);
  if (!value.is_object()) wrong_kind(value, key, where, "an object");
  return value;
}

std::string text_field(const json& object, const char* key, const std::string& where) {
  const auto& value = field(object, key, where);
  if (!value.is_string()) wrong_kind(value, key, where, "a text");
  return value.get<std::string>();
}

double number_field(const json& object, const char* key, const std::string& where) {
  const auto& value = field(object, key, where);
  if (!value.is_number()) wrong_kind(value, key, where, "a number");
  return value.get<double>();
}

std::int64_t count_field(const json& object, const char* key, const std::string& where) {
  constexpr auto kLargest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const auto& value = field(object, key, where);
  // A value set in memory, not parsed, may be a signed integer.
  const bool fits = value.is_number_unsigned() ? value.get<std::uint64_t>() <= kLargest
                                               : value.is_number_integer() && value.get<std::int64_t>() >= 0;
  if (!fits) wrong_kind(value, key, where, "an integer of at least 0");
  return value.get<std::int64_t>();
}

}  // namespace lehi::train
