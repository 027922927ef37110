#include "text/corpus.h"

#include <algorithm>

#include "data/catalogue.h"
#include "data/error.h"
#include "runtime/message.h"

namespace lehi::text {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view own_text = "text:";
constexpr const char* catalogue_text = "speeches";

void check_request(const CorpusRequest& request) {
  const bool own = request.task.starts_with(own_text);
  if (!own && request.task != "ptb" && request.task != "fineweb-edu") {
    throw_invalid_argument("task '{}' has no text: expected ptb, fineweb-edu or text:FILE", request.task);
  }
  if (request.task == own_text)
    throw_invalid_argument("task text: names no file; write text:FILE, as in text:book.txt");
  if (!request.corpus.empty() && request.corpus != catalogue_text) {
    throw_invalid_argument("corpus '{}' is unknown: expected {}, or none for the task's own files", request.corpus,
                           catalogue_text);
  }
  if (own && !request.corpus.empty()) {
    throw_invalid_argument("task {} has its text already; leave the corpus {} out", request.task, request.corpus);
  }
  if (request.train_tokens < 0 || request.test_tokens < 0) {
    throw_invalid_argument("{} tokens for training and {} for testing: expected 0 (all) or more", request.train_tokens,
                           request.test_tokens);
  }
}

// One file, which is to be cut, or those of training and testing, or of training, validation and testing.
std::vector<fs::path> corpus_files(const CorpusRequest& request) {
  if (request.task.starts_with(own_text)) return {request.task.substr(own_text.size())};
  const auto& task = data::task_files(request.corpus.empty() ? request.task : request.corpus);
  if (task.task == "fineweb-edu") {
    data::TaskFiles parts = task;
    parts.files = {data::OfficialFile{"train.jsonl"}, data::OfficialFile{"test.jsonl"}};
    const auto apart = data::search(parts, request.data_dir).front();
    if (apart.complete() && !data::search(task, request.data_dir).front().complete()) return apart.files;
  }
  return data::find_files(task, request.data_dir);
}

struct LoadedFiles {
  std::vector<TokenData> tokens;
  std::int64_t vocabulary;
};

LoadedFiles load_files(const CorpusRequest& request, const std::vector<fs::path>& files) {
  LoadedFiles loaded{{}, vocabulary_size(request.tokenizer)};
  const auto is_shard = [](const fs::path& file) { return format_of(file) == TextFormat::shard; };
  if (std::all_of(files.begin(), files.end(), is_shard)) {  // no need of the vocabulary's files
    for (const auto& file : files) loaded.tokens.push_back(TokenData::open(file, request.tokenizer));
    return loaded;
  }
  const auto tokenizer = Tokenizer::load(request.tokenizer, request.data_dir);
  loaded.vocabulary = tokenizer.vocabulary().size();
  for (const auto& file : files) {
    loaded.tokens.push_back(load_tokens({file, request.field, request.cache_dir, request.on_message}, tokenizer));
  }
  return loaded;
}

// Validation is between the two, so that testing stays the same whatever its share.
TokenSplit cut_file(const CorpusRequest& request, const TokenData& tokens, const fs::path& file) {
  if (request.test_tokens == 0) return split(tokens, request.validation, request.test);
  const std::int64_t rest = tokens.size() - request.test_tokens;
  if (rest <= 0) {
    data::refuse_data("{} has {} tokens, which leaves none for training besides the {} for testing; ask for fewer",
                      file.string(), tokens.size(), request.test_tokens);
  }
  auto parts = split(tokens.slice(0, rest), request.validation, 0.0);
  parts.test = tokens.slice(rest, tokens.size());
  return parts;
}

TokenData front_of(const TokenData& tokens, std::int64_t most, const std::string& where,
                   std::vector<std::string>& notices) {
  if (most == 0) return tokens;
  if (tokens.size() < most) {
    notices.push_back(fmt::format("{}: {} tokens, fewer than the {} asked for", where, tokens.size(), most));
  }
  return tokens.slice(0, std::min(most, tokens.size()));
}

Corpus corpus_of_one(const CorpusRequest& request, const LoadedFiles& loaded, const fs::path& file) {
  const auto parts = cut_file(request, loaded.tokens.front(), file);
  Corpus corpus{parts.train, {}, parts.test, loaded.vocabulary, {}};
  if (request.validation != 0) corpus.validation = parts.validation;
  const auto where = fmt::format("training on what {} leaves besides {} tokens for validation and {} for testing",
                                 file.string(), parts.validation.size(), parts.test.size());
  corpus.train = front_of(corpus.train, request.train_tokens, where, corpus.notices);
  return corpus;
}

Corpus corpus_of_parts(const CorpusRequest& request, const LoadedFiles& loaded, const std::vector<fs::path>& files) {
  Corpus corpus{loaded.tokens.front(), {}, loaded.tokens.back(), loaded.vocabulary, {}};
  if (files.size() == 3) {
    corpus.validation = loaded.tokens[1];
  } else if (request.validation != 0) {
    const auto parts = split(corpus.train, request.validation, 0.0);
    corpus.train = parts.train;
    corpus.validation = parts.validation;
  }
  const auto shorten = [&](TokenData& tokens, std::int64_t most, const char* what, const fs::path& file) {
    tokens = front_of(tokens, most, fmt::format("{} on {}", what, file.string()), corpus.notices);
  };
  shorten(corpus.train, request.train_tokens, "training", files.front());
  shorten(corpus.test, request.test_tokens, "testing", files.back());
  return corpus;
}

}  // namespace

Corpus load_corpus(const CorpusRequest& request) {
  check_request(request);
  const auto files = corpus_files(request);
  const auto loaded = load_files(request, files);
  return files.size() == 1 ? corpus_of_one(request, loaded, files.front()) : corpus_of_parts(request, loaded, files);
}

}  // namespace lehi::text
