#include "cli/tokenize.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/arguments.h"
#include "cli/run_flags.h"
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

std::string input_name(const TokenizeConfig& config) { return config.file == "-" ? "standard input" : config.file; }

std::string read_input(const TokenizeConfig& config) {
  return data::read_bytes(config.file == "-" ? "/dev/stdin" : config.file, text::TextLimits().plain_bytes);
}

// A token in quotes. Control characters and incomplete characters are escaped.
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

// Whole numbers separated by spaces, commas or brackets.
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
          "{} has no token id at byte {}; expected whole numbers, or the output of `lehi tokenize --json`", name, at);
    }
    ids.push_back(id);
    at += static_cast<std::size_t>(after - begin);
  }
  return ids;
}

// Accepts plain numbers and the output of `--json`.
std::vector<TokenId> read_ids(const std::string& bytes, const std::string& name) {
  const std::size_t first = bytes.find_first_not_of(" \n\r\t");
  if (first == std::string::npos || bytes[first] != '{') return parse_ids(bytes, name);
  const auto document = nlohmann::json::parse(bytes, nullptr, false);
  const auto ids = document.is_object() ? document.find("ids") : document.end();
  if (ids == document.end() || !ids->is_array())
    data::throw_data_error("{} is not a JSON document with a list of ids", name);
  return parse_ids(ids->dump(), name);
}

int decode(const TokenizeConfig& config, const Tokenizer& tokenizer, std::ostream& out) {
  const std::string text = tokenizer.decode(read_ids(read_input(config), input_name(config)));
  if (!config.json) {
    out << text;
    return done;
  }
  const nlohmann::ordered_json document{{"schema", 1}, {"tokenizer", text::name_of(config.tokenizer)}, {"text", text}};
  // The last id may end inside a character, which JSON cannot represent; it becomes U+FFFD.
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
  CLI::App app(
      "Convert text to the tokens and ids of GPT-2's or Llama-3's tokenizer, or to bytes, and back. Print one token "
      "per line.",
      "lehi tokenize");
  app.add_option("FILE", config.file, "UTF-8 text, also compressed with gzip or zstd; - for standard input")
      ->required();
  app.add_option("--tokenizer", tokenizer, "gpt2, llama3 or bytes (256 tokens, one per byte)")
      ->type_name("NAME")
      ->required()
      ->check(CLI::IsMember(text::tokenizer_names()));
  auto* decode = app.add_flag("--decode", config.decode, "convert ids (numbers, or the output of --json) to text");
  app.add_flag("--json", config.json, "print one JSON document with the list of ids");
  auto* count = app.add_flag("--count", config.count, "print only the number of tokens")->excludes(decode);
  app.add_option("--specials", specials,
                 "how to convert special tokens such as <|endoftext|> in the text: text, tokens, or reference (as the "
                 "reference packages do: text for gpt2, tokens for llama3)")
      ->type_name("HOW")
      ->capture_default_str()
      ->check(CLI::IsMember({"reference", "text", "tokens"}))
      ->excludes(decode);
  auto* out = app.add_option("--out", config.out,
                             "write the ids to a token shard in llm.c's format; special tokens are converted as text")
                  ->type_name("FILE")
                  ->excludes(decode)
                  ->excludes(count);
  app.add_option("--field", config.field, "with --out and a .jsonl file: the field that holds a line's text")
      ->type_name("NAME")
      ->capture_default_str()
      ->needs(out);
  app.add_option("--data-dir", config.data_dir, data_dir_help)->type_name("DIR");
  app.footer(
      "Examples:\n"
      "  lehi tokenize --tokenizer llama3 book.txt --count\n"
      "  echo 'Hello world' | lehi tokenize --tokenizer gpt2 -\n"
      "  lehi tokenize --tokenizer gpt2 book.txt --json > ids.json\n"
      "  lehi tokenize --tokenizer gpt2 ids.json --decode\n"
      "  lehi tokenize --tokenizer gpt2 corpus.jsonl.zst --field text --out corpus.bin\n"
      "\n"
      "Download the vocabularies of gpt2 and llama3 once: lehi data get gpt2 llama3");
  parse_arguments(app, arguments);
  config.tokenizer = text::tokenizer_named(tokenizer);
  config.specials = value_in(specials_names(), specials, "value of --specials");
  if (!config.out.empty() && config.specials == text::Specials::as_tokens) {
    throw UsageError("--out converts special tokens as text; leave out --specials tokens");
  }
  if (!config.out.empty() && config.file == "-") throw UsageError("--out needs a file, not standard input");
  return config;
}

int run_tokenize(const TokenizeConfig& config, std::ostream& out, std::ostream& err) {
  const auto tokenizer = Tokenizer::load(config.tokenizer, config.data_dir);
  if (config.decode) return decode(config, tokenizer, out);
  if (!config.out.empty()) return write_shard(config, tokenizer, out);
  const std::string bytes = read_input(config);
  std::vector<TokenId> ids;
  const auto start = std::chrono::steady_clock::now();
  text::Encoder(tokenizer).encode(bytes, config.specials, ids, input_name(config));
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
