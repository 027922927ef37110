// JSON that others may have written or damaged: parsed with limits, its fields read with sentences that name file and
// key. A `where` names the document in those sentences, e.g. "runs/a/run.json" or "runs/a/metrics.jsonl, line 3".
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace lehi::train {

struct JsonLimits {
  std::size_t depth = 32;                        ///< of nested lists and objects
  std::size_t list_size = 10'000'000;            ///< of any one list
  std::size_t memory = (std::size_t{60} << 20);  ///< of the document, beyond as many bytes as its text has
};

/// Throws FileError where the text is no JSON, passes a limit, or repeats a key (which a parser would silently
/// resolve). A document of many tiny values needs twenty times the memory of its text: those are refused while they are
/// small.
nlohmann::json parse_json(std::string_view text, const std::string& where, const JsonLimits& limits = {});

/// One line of text; a byte that is no UTF-8 (a command line may hold any) becomes U+FFFD, a non-finite number null.
std::string to_text(const nlohmann::json& document, int indent = -1);

/// The bytes that a document needs in memory, roughly and rather too many.
std::size_t memory_of(const nlohmann::json& document);

/// A value from a file, fit for a sentence.
std::string shown_json(const nlohmann::json& value);

/// A text from a file, fit for a sentence: quoted, escaped, and cut where it is long.
std::string in_quotes(std::string_view text);

/// A sentence about the first key of `document` that `known`, the like of it as this version writes it, does not have:
/// a newer version may have added it. "" where there is none. Looks into objects too, but for those that are empty
/// there.
std::string about_unknown_key(const nlohmann::json& document, const nlohmann::json& known, const std::string& where);

/// The fields of an object; FileError where one is missing or of another kind.
const nlohmann::json& field(const nlohmann::json& object, const char* key, const std::string& where);
const nlohmann::json& object_field(const nlohmann::json& object, const char* key, const std::string& where);
std::string text_field(const nlohmann::json& object, const char* key, const std::string& where);
double number_field(const nlohmann::json& object, const char* key, const std::string& where);
/// An integer of at least 0 that an std::int64_t holds.
std::int64_t count_field(const nlohmann::json& object, const char* key, const std::string& where);

}  // namespace lehi::train
