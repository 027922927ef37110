#include "text/documents.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "data/byte_source.h"
#include "data/bytes.h"
#include "data/error.h"
#include "text/utf8.h"

namespace lehi::text {
namespace {

// Extracts one field of a JSON object with a SAX parser, so that the depth and size of other values need no memory.
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
    if (found) data::throw_data_error("{} has the field '{}' twice", where_, field_);
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
    data::throw_data_error("{} is not valid JSON (at byte {} of the line)", where_, position);
  }

 private:
  bool wanted() const { return depth_ == 1 && in_field_; }
  // A value that is not the field's string: an error in place of the object or of the field's value, otherwise skipped.
  bool other() const {
    if (depth_ == 0) data::throw_data_error("{} is not a JSON object", where_);
    if (wanted()) data::throw_data_error("{}: the value of field '{}' must be a string", where_, field_);
    return true;
  }
  bool open(bool object) {
    constexpr int max_depth = 1000;
    if (wanted() || (depth_ == 0 && !object)) return other();
    if (++depth_ > max_depth) data::throw_data_error("{} has more than {} nested levels", where_, max_depth);
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

// Calls take(line, line number, byte offset of the line) for each line; `line` has no line break.
template <class Take>
void read_lines(data::ByteSource& source, std::int64_t max_bytes, const Take& take) {
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
    if (static_cast<std::int64_t>(pending.size()) > max_bytes) {
      data::throw_data_error("{}, line {} has more than {} bytes", source.file().string(), number + 1, max_bytes);
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
    if (!reader.found) data::throw_data_error("{} has no field '{}'; choose the field with the text", where, field);
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
  if (format == TextFormat::shard) data::throw_data_error("{} is a token shard (.bin); expected text", file.string());
  const std::string text = data::read_bytes(file, limits.plain_bytes);
  require_utf8(text, file.string());
  take(text);
}

}  // namespace lehi::text
