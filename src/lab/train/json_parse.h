// Parses JSON that may be damaged or hostile, with limits on nesting, list sizes and memory.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace lehi::train {

struct JsonLimits {
  std::size_t depth = 32;                        ///< of nested lists and objects
  std::size_t list_size = 10'000'000;            ///< of any one list
  std::size_t memory = (std::size_t{60} << 20);  ///< bytes of the parsed document beyond the length of its text
};

/// FileError if the text is not valid JSON, exceeds a limit or repeats a key in an object. The limits are checked while
/// parsing: a document of many tiny values would need twenty times the memory of its text. `where` names the document
/// in messages: "runs/a/run.json" or "runs/a/metrics.jsonl, line 3".
nlohmann::json parse_json(std::string_view text, const std::string& where, const JsonLimits& limits = {});

/// An upper estimate of the bytes that a document takes in memory.
std::size_t memory_of(const nlohmann::json& document);

}  // namespace lehi::train
