#include "train/json_file.h"

#include <fmt/format.h>

#include <limits>

#include "files/file_error.h"
#include "lehi/version.h"

namespace lehi::train {
namespace {

using nlohmann::json;

std::string shortened(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  return text.size() <= kLongest ? std::string(text) : std::string(text.substr(0, kLongest)) + "...";
}

/// "a.b" for the unknown key b of the object under a; "" if every key is known.
std::string unknown_key(const json& document, const json& known) {
  if (!document.is_object() || !known.is_object()) return "";
  for (const auto& [key, value] : document.items()) {
    const auto same = known.find(key);
    if (same == known.end()) return key;
    if (same->empty()) continue;
    if (const auto inner = unknown_key(value, *same); !inner.empty()) return fmt::format("{}.{}", key, inner);
  }
  return "";
}

[[noreturn]] void wrong_kind(const json& value, const char* key, const std::string& where, const char* expected) {
  throw FileError(fmt::format("{}: '{}' is {}, expected {}", where, key, shown_json(value), expected));
}

}  // namespace

std::string to_text(const json& document, int indent) {
  return document.dump(indent, ' ', false, json::error_handler_t::replace);
}

std::string shown_json(const json& value) {
  return value.is_string() ? in_quotes(value.get_ref<const std::string&>()) : shortened(to_text(value));
}

std::string in_quotes(std::string_view text) { return to_text(json(shortened(text))); }

std::string about_unknown_key(const json& document, const json& known, const std::string& where) {
  const auto key = unknown_key(document, known);
  if (key.empty()) return "";
  return fmt::format("{} has the key {}, which lehi {} does not support; use the newer version that wrote the file",
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
  if (!value.is_string()) wrong_kind(value, key, where, "a string");
  return value.get<std::string>();
}

std::vector<std::string> strings_field(const json& object, const char* key, const std::string& where) {
  const auto& list = field(object, key, where);
  if (!list.is_array()) throw FileError(fmt::format("{}: '{}' must be a list of strings", where, key));
  std::vector<std::string> strings;
  strings.reserve(list.size());
  for (const auto& entry : list) {
    if (!entry.is_string()) throw FileError(fmt::format("{}: '{}' must be a list of strings", where, key));
    strings.push_back(entry.get<std::string>());
  }
  return strings;
}

double number_field(const json& object, const char* key, const std::string& where) {
  const auto& value = field(object, key, where);
  if (!value.is_number()) wrong_kind(value, key, where, "a number");
  return value.get<double>();
}

std::int64_t count_field(const json& object, const char* key, const std::string& where) {
  constexpr auto kLargest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const auto& value = field(object, key, where);
  // The parser makes unsigned integers; a value set in the program may be a signed one.
  const bool fits = value.is_number_unsigned() ? value.get<std::uint64_t>() <= kLargest
                                               : value.is_number_integer() && value.get<std::int64_t>() >= 0;
  if (!fits) wrong_kind(value, key, where, "an integer of at least 0");
  return value.get<std::int64_t>();
}

}  // namespace lehi::train
