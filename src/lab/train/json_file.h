// JSON files: the fields of a parsed document, with error messages that name file and key, and values in messages.
// `where` is the document's name in messages, as for parse_json().
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "train/json_parse.h"

namespace lehi::train {

/// A document as JSON, on one line unless `indent` is given. A byte that is not UTF-8 (a command line may contain any)
/// becomes U+FFFD, a non-finite number null.
std::string to_text(const nlohmann::json& document, int indent = -1);

/// A value for a message: on one line, cut off if it is long.
std::string shown_json(const nlohmann::json& value);

/// A string for a message: quoted, escaped, cut off if it is long.
std::string in_quotes(std::string_view text);

/// A message about the first key of `document` that `known`, a document of this version, does not have: a newer version
/// may have written it. "" if there is none. Objects are compared too, except those that are empty in `known`.
std::string about_unknown_key(const nlohmann::json& document, const nlohmann::json& known, const std::string& where);

/// The fields of an object; FileError if one is missing or has another type.
const nlohmann::json& field(const nlohmann::json& object, const char* key, const std::string& where);
const nlohmann::json& object_field(const nlohmann::json& object, const char* key, const std::string& where);
std::string text_field(const nlohmann::json& object, const char* key, const std::string& where);
std::vector<std::string> strings_field(const nlohmann::json& object, const char* key, const std::string& where);
double number_field(const nlohmann::json& object, const char* key, const std::string& where);
/// An integer of at least 0 that fits into std::int64_t.
std::int64_t count_field(const nlohmann::json& object, const char* key, const std::string& where);

}  // namespace lehi::train
