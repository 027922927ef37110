#include "cli/tokenize.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/arguments.h"
#include "data/bytes.h"
#include "data/error.h"
#include "runtime/names.h"
#include "text/documents.h"
#include "text/encoder.h"
#include "text/token_cache.h"
#include "text/utf8.h"

namespace lehi::cli {
namespace {

using text::TokenId;
using text::Tokenizer;

const NameTable<text::Specials>& specials_names() {
  static const NameTable<text::Specials> names{{text::Specials::reference, "reference"},
                                               {text::Specials::as_text, "text"},
                                               {text::Specials::as_tokens, "tokens"}};
  return names;
}

std::string text_name(const TokenizeConfig& config) { return config.file == "-" ? "standard input" : config.file; }

std::string read_input(const TokenizeConfig& config) {
  return data::read_bytes(config.file == "-" ? "/dev/stdin" : config.file, text::TextLimits().plain_bytes);
}

// A token in quotes: what would not show, or is no whole character, as an escape.
std::string quoted_token(std::string_view bytes) {
  std::string shown = "\"";
  for (std::size_t at = 0; at < bytes.size();) {
    const auto invalid = text::first_invalid_utf8(bytes.substr(at));
    const auto [code, length] = invalid == 0 ? text::Character{0, 1} : text::character_at(bytes, at);
    const auto byte = static_cast<unsigned char>(bytes[at]);
    if (invalid == 0 || code < 0x20 || code == 0x7f) {
      shown += code == '\n' ? "\\n" : code == '\t' ? "\\t" : code == '\r' ? "\\r" : fmt::format("\\x{:02x}", byte);
    } else {
      if (code == '"' || code == '\\') shown += '\\';
      shown += bytes.substr(at, length);
    }
    at += length;
  }
  return shown + '"';
}

// Whole numbers with spaces, commas or brackets between.
std::vector<TokenId> parse_ids(std::string_view numbers, const std::string& name) {
  std::vector<TokenId> ids;
  constexpr std::string_view between = " \n\r\t,[]";
  for (std::size_t at = numbers.find_first_not_of(between); at < numbers.size();
       at = numbers.find_first_not_of(between, at)) {
    TokenId id = 0;
    const char* begin = numbers.data() + at;
    const auto [after, error] = std::from_chars(begin, numbers.data() + numbers.size(), id);
    if (error != std::errc()) {
      data::throw_data_error(
          "{} has no token id at byte {}; expected whole numbers, or what `lehi tokenize --json` prints", name, at);
    }
    ids.push_back(id);
    at += static_cast<std::size_t>(after - begin);
  }
  return ids;
}

// The numbers themselves, or the document that `--json` prints.
std::vector<TokenId> read_ids(const std::string& bytes, const std::string& name) {
  const std::size_t first = bytes.find_first_not_of(" \n\r\t");
  if (first == std::string::npos || bytes[first] != '{') return parse_ids(bytes, name);
  const auto document = nlohmann::json::parse(bytes, nullptr, false);
  const auto ids = document.is_object() ? document.find("ids") : document.end();
  if (ids == document.end() || !ids->is_array())
    data::throw_data_error("{} is no JSON document with a list of ids", name);
  return parse_ids(ids->dump(), name);
}

int decode(const TokenizeConfig& config, const Tokenizer& tokenizer, std::ostream& out) {
  const std::string text = tokenizer.decode(read_ids(read_input(config), text_name(config)));
  if (!config.json) {
    out << text;
    return done;
  }
  const nlohmann::ordered_json document{{"schema", 1}, {"tokenizer", text::name_of(config.tokenizer)}, {"text", text}};
  // Ids that are part of a text may end inside a character, which JSON can't hold: U+FFFD then.
  out << document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  return done;
}

int write_shard(const TokenizeConfig& config, const Tokenizer& tokenizer, std::ostream& out) {
  const auto tokens = text::write_tokens(config.file, config.field, tokenizer, config.out);
  if (config.json) {
    out << nlohmann::ordered_json{{"schema", 1},
                                  {"tokenizer", text::name_of(config.tokenizer)},
                                  {"count", tokens},
                                  {"file", config.out}}
        << '\n';
  } else {
    out << fmt::format("{} tokens in {}\n", tokens, config.out);
  }
  return done;
}

void print_ids(const TokenizeConfig& config, const std::vector<TokenId>& ids, std::ostream& out) {
  fmt::memory_buffer buffer;
  fmt::format_to(std::back_inserter(buffer), R"({{"schema":1,"tokenizer":"{}","ids":[)",
                 text::name_of(config.tokenizer));
  for (std::size_t i = 0; i < ids.size(); ++i)
    fmt::format_to(std::back_inserter(buffer), "{}{}", i > 0 ? "," : "", ids[i]);
  out << std::string_view(buffer.data(), buffer.size()) << "]}\n";
}

}  // namespace

TokenizeConfig parse_tokenize(const Arguments& arguments) {
  TokenizeConfig config;
  std::string tokenizer;
  std::string specials = "reference";
  CLI::App app("Shows a text's tokens and their ids, by GPT-2's or Llama-3's tokenizer, or its bytes.",
               "lehi tokenize");
  app.add_option("file", config.file, "UTF-8 text, also gzip or zstd; - for standard input")->required();
  app.add_option("--tokenizer", tokenizer, "gpt2, llama3, or bytes: 256 tokens, one a byte")
      ->required()
      ->check(CLI::IsMember(text::tokenizer_names()));
  auto* decode =
      app.add_flag("--decode", config.decode, "FILE has ids (numbers, or what --json prints): print their text");
  app.add_flag("--json", config.json, "print one JSON document: ids, a list");
  auto* count = app.add_flag("--count", config.count, "print the number of tokens only")->excludes(decode);
  app.add_option("--specials", specials,
                 "what <|endoftext|> and the like in the text become: text, tokens, or what the reference packages do "
                 "(gpt2 text, llama3 tokens)")
      ->capture_default_str()
      ->check(CLI::IsMember({"reference", "text", "tokens"}))
      ->excludes(decode);
  auto* out = app.add_option("--out", config.out, "write a token shard of llm.c's format there; specials are text")
                  ->excludes(decode)
                  ->excludes(count);
  app.add_option("--field", config.field, "with --out and a .jsonl file: where a line's text is")
      ->capture_default_str()
      ->needs(out);
  app.add_option("--data-dir", config.data_dir, "where the vocabularies are, as in `lehi data`");
  app.footer(
      "Examples:\n"
      "  lehi tokenize --tokenizer llama3 book.txt --count\n"
      "  echo 'Hello world' | lehi tokenize --tokenizer gpt2 -\n"
      "  lehi tokenize --tokenizer gpt2 book.txt --json > ids.json\n"
      "  lehi tokenize --tokenizer gpt2 ids.json --decode\n"
      "  lehi tokenize --tokenizer gpt2 corpus.jsonl.zst --field text --out corpus.bin\n"
      "`lehi data get gpt2 llama3` gets the vocabularies, once; bytes needs none.");
  parse_arguments(app, arguments);
  config.tokenizer = text::tokenizer_named(tokenizer);
  config.specials = value_in(specials_names(), specials, "way with specials");
  if (!config.out.empty() && config.specials == text::Specials::as_tokens) {
    throw UsageError("--out takes special tokens in the text as text; leave --specials tokens out.");
  }
  if (!config.out.empty() && config.file == "-") throw UsageError("--out needs a file, not standard input.");
  return config;
}

int run_tokenize(const TokenizeConfig& config, std::ostream& out, std::ostream& err) {
  const auto tokenizer = Tokenizer::load(config.tokenizer, config.data_dir);
  if (config.decode) return decode(config, tokenizer, out);
  if (!config.out.empty()) return write_shard(config, tokenizer, out);
  const std::string bytes = read_input(config);
  std::vector<TokenId> ids;
  const auto start = std::chrono::steady_clock::now();
  text::Encoder(tokenizer).encode(bytes, config.specials, ids, text_name(config));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (config.count) err << fmt::format("lehi: {} bytes encoded in {:.3f} s\n", bytes.size(), seconds);
  if (config.count && config.json) {
    out << nlohmann::ordered_json{{"schema", 1},
                                  {"tokenizer", text::name_of(config.tokenizer)},
                                  {"count", ids.size()},
                                  {"bytes", bytes.size()}}
        << '\n';
  } else if (config.count) {
    out << ids.size() << '\n';
  } else if (config.json) {
    print_ids(config, ids, out);
  } else {
    for (const TokenId id : ids) out << fmt::format("{:>6}  {}\n", id, quoted_token(tokenizer.vocabulary().bytes(id)));
    err << fmt::format("lehi: {} tokens, {} bytes\n", ids.size(), bytes.size());
  }
  return done;
}

}  // namespace lehi::cli
