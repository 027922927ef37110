// The JSON files of vocabularies, parsed without building a document: the vocabulary and the merges, which have half a
// million entries, go to lists; the few other values are kept as strings by path.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "text/vocabulary.h"

namespace lehi::text {

struct VocabularyJson {
  VocabularyParts parts;                      ///< without special tokens
  bool has_vocabulary = false;                ///< there was an object at the path of the vocabulary
  bool has_merges = false;                    ///< there was a list at the path of the merges
  std::map<std::string, std::string> values;  ///< by path, such as "model.type" or "added_tokens[0].id"
};

/// `vocabulary_path`: the path of the object of ids by token, "" for the whole document; `merges_path`: that of the
/// list of merges, "" for none. Throws DataError, whose message names the file as `where`.
VocabularyJson read_vocabulary_json(std::string_view json, const std::string& vocabulary_path,
                                    const std::string& merges_path, const std::string& where);

/// Appends the merge "left right". Throws DataError for any other line, or too many merges.
void add_merge(VocabularyParts& parts, std::string_view line, const std::string& where);

}  // namespace lehi::text
