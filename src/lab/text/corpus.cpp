#include "text/corpus.h"

#include <algorithm>

#include "data/error.h"
#include "data/find_files.h"
#include "runtime/message.h"
#include "text/documents.h"
#include "text/token_cache.h"

namespace lehi::text {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view file_prefix = "text:";
constexpr const char* speeches = "speeches";

void check_request(const CorpusRequest& request) {
  const bool is_file = request.task.starts_with(file_prefix);
  if (!is_file && request.task != "ptb" && request.task != "fineweb-edu") {
    throw_invalid_argument("task '{}' is not a text task: expected ptb, fineweb-edu or text:FILE", request.task);
  }
  if (request.task == file_prefix)
    throw_invalid_argument("task 'text:' has no file name; write text:FILE, as in text:book.txt");
  if (!request.corpus.empty() && request.corpus != speeches) {
    throw_invalid_argument("corpus '{}' is unknown: expected {}, or none for the task's own files", request.corpus,
                           speeches);
  }
  if (is_file && !request.corpus.empty()) {
    throw_invalid_argument("task {} already names its text; remove the corpus {}", request.task, request.corpus);
  }
  if (request.train_tokens < 0 || request.test_tokens < 0) {
    throw_invalid_argument("{} tokens for training and {} for testing: expected 0 (all) or more", request.train_tokens,
                           request.test_tokens);
  }
}

// One file, which is to be split; or a training and a test file; or a training, a validation and a test file.
std::vector<fs::path> corpus_files(const CorpusRequest& request) {
  if (request.task.starts_with(file_prefix)) return {request.task.substr(file_prefix.size())};
  const auto& task = data::task_files(request.corpus.empty() ? request.task : request.corpus);
  if (task.task == "fineweb-edu") {
    data::TaskFiles parts = task;
    parts.files = {data::OfficialFile{"train.jsonl"}, data::OfficialFile{"test.jsonl"}};
    const auto two_files = data::search(parts, request.data_dir).front();
    if (two_files.complete() && !data::search(task, request.data_dir).front().complete()) return two_files.files;
  }
  return data::find_files(task, request.data_dir);
}

struct LoadedFiles {
  std::vector<TokenData> tokens;
  std::int64_t vocabulary = 0;
};

LoadedFiles load_files(const CorpusRequest& request, const std::vector<fs::path>& files) {
  LoadedFiles loaded{{}, vocabulary_size(request.tokenizer)};
  loaded.tokens.reserve(files.size());
  const auto is_shard = [](const fs::path& file) { return format_of(file) == TextFormat::shard; };
  if (std::all_of(files.begin(), files.end(), is_shard)) {  // the vocabulary's files are not needed
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

// The validation part lies between the others, so that the test part does not depend on its size.
TokenSplit split_file(const CorpusRequest& request, const TokenData& tokens, const fs::path& file) {
  if (request.test_tokens == 0) return split(tokens, request.validation, request.test);
  const std::int64_t rest = tokens.size() - request.test_tokens;
  if (rest <= 0) {
    data::throw_data_error(
        "{} has {} tokens: with {} for testing, none are left for training; request fewer test tokens", file.string(),
        tokens.size(), request.test_tokens);
  }
  auto parts = split(tokens.slice(0, rest), request.validation, 0.0);
  parts.test = tokens.slice(rest, tokens.size());
  return parts;
}

TokenData first_tokens(const TokenData& tokens, std::int64_t requested, const std::string& where,
                       std::vector<std::string>& notices) {
  if (requested == 0) return tokens;
  if (tokens.size() < requested) {
    notices.push_back(fmt::format("{}: {} tokens, fewer than the {} requested", where, tokens.size(), requested));
  }
  return tokens.slice(0, std::min(requested, tokens.size()));
}

Corpus corpus_of_one_file(const CorpusRequest& request, const LoadedFiles& loaded, const fs::path& file) {
  const auto parts = split_file(request, loaded.tokens.front(), file);
  Corpus corpus{parts.train, {}, parts.test, loaded.vocabulary, {}};
  if (request.validation != 0) corpus.validation = parts.validation;
  const auto where = fmt::format("training on {} without its {} tokens for validation and {} for testing",
                                 file.string(), parts.validation.size(), parts.test.size());
  corpus.train = first_tokens(corpus.train, request.train_tokens, where, corpus.notices);
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
  const auto shorten = [&](TokenData& tokens, std::int64_t requested, const char* what, const fs::path& file) {
    tokens = first_tokens(tokens, requested, fmt::format("{} on {}", what, file.string()), corpus.notices);
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
  return files.size() == 1 ? corpus_of_one_file(request, loaded, files.front())
                           : corpus_of_parts(request, loaded, files);
}

}  // namespace lehi::text
