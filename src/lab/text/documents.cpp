#include "text/documents.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "data/byte_source.h"
#include "data/bytes.h"
#include "data/error.h"
#include "text/utf8.h"

namespace lehi::text {
namespace {

// Picks one field out of a line without building the line's document, so that neither depth nor size of the rest costs
// memory.
class FieldReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  FieldReader(const std::string& field, const std::string& where) : field_(field), where_(where) {}

  std::string text;
  bool found = false;

  bool null() override { return other(); }
  bool boolean(bool /*value*/) override { return other(); }
  bool number_integer(number_integer_t /*value*/) override { return other(); }
  bool number_unsigned(number_unsigned_t /*value*/) override { return other(); }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { return other(); }
  bool binary(binary_t& /*value*/) override { return other(); }
  bool string(string_t& value) override {
    if (!wanted()) return other();
    if (found) data::refuse_data("{} has the field '{}' twice", where_, field_);
    text = std::move(value);
    found = true;
    return true;
  }
  bool start_object(std::size_t /*size*/) override { return open(true); }
  bool start_array(std::size_t /*size*/) override { return open(false); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    if (depth_ == 1) in_field_ = name == field_;
    return true;
  }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    data::refuse_data("{} is not valid JSON at its byte {}", where_, position);
  }

 private:
  bool wanted() const { return depth_ == 1 && in_field_; }
  // A value that is no text: refused where the object or the field should be, else passed over.
  bool other() const {
    if (depth_ == 0) data::refuse_data("{} is no JSON object", where_);
    if (wanted()) data::refuse_data("{} has a field '{}' that is not a text", where_, field_);
    return true;
  }
  bool open(bool object) {
    constexpr int most_levels = 1000;
    if (wanted() || (depth_ == 0 && !object)) return other();
    if (++depth_ > most_levels) data::refuse_data("{} is nested more than {} deep", where_, most_levels);
    return true;
  }
  bool close() {
    --depth_;
    return true;
  }

  const std::string& field_;
  const std::string& where_;
  int depth_ = 0;
  bool in_field_ = false;
};

// Calls take(line, number, offset of the line) without line ends.
template <class Take>
void read_lines(data::ByteSource& source, std::int64_t most, const Take& take) {
  std::string pending;
  std::size_t number = 0;
  std::size_t offset = 0;
  const auto finish = [&](std::string_view line) {
    take(line, ++number, offset);
    offset += line.size() + 1;
  };
  std::vector<char> buffer(std::size_t{1} << 18);
  while (const std::size_t count = source.read(buffer.data(), buffer.size())) {
    std::string_view rest(buffer.data(), count);
    for (std::size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
      if (pending.empty()) {
        finish(rest.substr(0, end));
      } else {
        pending += rest.substr(0, end);
        finish(pending);
        pending.clear();
      }
      rest.remove_prefix(end + 1);
    }
    pending += rest;
    if (static_cast<std::int64_t>(pending.size()) > most) {
      data::refuse_data("{}, line {} has more than {} bytes", source.file().string(), number + 1, most);
    }
  }
  if (!pending.empty()) finish(pending);
}

void read_json_lines(const std::filesystem::path& file, const std::string& field,
                     const std::function<void(std::string_view)>& take, const TextLimits& limits) {
  data::ByteSource source(file, limits.total_bytes);
  read_lines(source, limits.line_bytes, [&](std::string_view line, std::size_t number, std::size_t offset) {
    const std::string where = fmt::format("{}, line {}", file.string(), number);
    require_utf8(line, where, offset);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;
    FieldReader reader(field, where);
    nlohmann::json::sax_parse(line.begin(), line.end(), &reader);
    if (!reader.found) data::refuse_data("{} has no field '{}'; name the one with the text", where, field);
    take(reader.text);
  });
}

}  // namespace

TextFormat format_of(const std::filesystem::path& file) {
  std::filesystem::path name = file.filename();
  if (name.extension() == ".bin") return TextFormat::shard;
  if (name.extension() == ".gz" || name.extension() == ".zst") name.replace_extension();
  return name.extension() == ".jsonl" || name.extension() == ".ndjson" ? TextFormat::json_lines : TextFormat::plain;
}

void read_documents(const std::filesystem::path& file, TextFormat format, const std::string& field,
                    const std::function<void(std::string_view)>& take, const TextLimits& limits) {
  if (format == TextFormat::json_lines) return read_json_lines(file, field, take, limits);
  if (format == TextFormat::shard) data::refuse_data("{} holds tokens, not text", file.string());
  const std::string text = data::read_bytes(file, limits.plain_bytes);
  require_utf8(text, file.string());
  take(text);
}

}  // namespace lehi::text
