#include "train/events.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>

#include "train/crc32c.h"
#include "train/json_file.h"
#include "train/run_record.h"

namespace lehi::train {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::string_view kEventsPrefix = "events.out.tfevents.";

// ---- protocol buffers: a field is a varint (number << 3 | wire type), then its value ----

void put_varint(std::string& to, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) to += static_cast<char>(value | 0x80);
  to += static_cast<char>(value);
}

template <class Unsigned>
void put_fixed(std::string& to, Unsigned value) {
  for (std::size_t i = 0; i < sizeof(value); ++i) to += static_cast<char>(value >> (8 * i));
}

void put_integer(std::string& to, unsigned field_number, std::int64_t value) {
  put_varint(to, field_number << 3 | 0);
  put_varint(to, static_cast<std::uint64_t>(value));
}

void put_double(std::string& to, unsigned field_number, double value) {
  put_varint(to, field_number << 3 | 1);
  put_fixed(to, std::bit_cast<std::uint64_t>(value));
}

void put_bytes(std::string& to, unsigned field_number, std::string_view value) {
  put_varint(to, field_number << 3 | 2);
  put_varint(to, value.size());
  to += value;
}

void put_float(std::string& to, unsigned field_number, float value) {
  put_varint(to, field_number << 3 | 5);
  put_fixed(to, std::bit_cast<std::uint32_t>(value));
}

// ---- TensorFlow's Event: wall_time 1, step 2, file_version 3, summary 5, session_log 7 ----

std::string event(double wall_time, std::int64_t step) {
  std::string bytes;
  put_double(bytes, 1, wall_time);
  if (step != 0) put_integer(bytes, 2, step);  // 0 is the default, which writers omit
  return bytes;
}

/// Summary is a list (field 1) of values {tag 1, simple_value 2}.
void put_scalars(std::string& summary, const json& object, const std::string& prefix) {
  for (const auto& [key, value] : object.items()) {
    if (prefix.empty() && key == "step") continue;
    if (value.is_object()) put_scalars(summary, value, prefix + key + "/");
    if (!value.is_number() && !value.is_null()) continue;
    std::string scalar;
    put_bytes(scalar, 1, prefix + key);
    put_float(scalar, 2, value.is_null() ? std::numeric_limits<float>::quiet_NaN() : value.get<float>());
    put_bytes(summary, 1, scalar);
  }
}

std::uint32_t masked_crc(std::string_view bytes) {
  const auto crc = crc32c(bytes);
  return std::rotr(crc, 15) + 0xa282ead8;  // TFRecord's mask, for data that contain checksums
}

std::string record(std::string_view payload) {
  std::string bytes;
  put_fixed(bytes, std::uint64_t{payload.size()});
  put_fixed(bytes, masked_crc(bytes));
  bytes += payload;
  put_fixed(bytes, masked_crc(payload));
  return bytes;
}

std::string scalars_record(const json& line, double started) {
  auto bytes = event(started + number_field(line, "seconds", "a line of metrics"),
                     count_field(line, "step", "a line of metrics"));
  std::string summary;
  put_scalars(summary, line, "");
  put_bytes(bytes, 5, summary);
  return record(bytes);
}

std::string opening_records(double started) {
  auto version = event(started, 0);
  put_bytes(version, 3, "brain.Event:2");
  std::string session_start;
  put_integer(session_start, 1, 1);
  auto session = event(started, 0);
  put_bytes(session, 7, session_start);
  return record(version) + record(session);
}

std::vector<std::string> event_files(const fs::path& directory) {
  auto names = list_directory(directory);
  std::erase_if(names, [](const auto& name) { return !name.starts_with(kEventsPrefix); });
  return names;
}

/// A name that sorts after the existing ones, even if the clock was set back: TensorBoard reads files in that order.
fs::path new_name(const fs::path& directory) {
  using std::chrono::system_clock;
  auto seconds = std::chrono::duration_cast<std::chrono::seconds>(system_clock::now().time_since_epoch()).count();
  for (const auto& name : event_files(directory)) {
    std::uint32_t taken = 0;  // a larger number is not a time
    const auto* begin = name.data() + kEventsPrefix.size();
    if (std::from_chars(begin, name.data() + name.size(), taken).ec == std::errc()) {
      seconds = std::max<std::int64_t>(seconds, std::int64_t{taken} + 1);
    }
  }
  return directory / fmt::format("{}{:010}.{}", kEventsPrefix, seconds, host_name());
}

/// Publishes a file with the given metrics and removes all other event files.
OutputFile start(const fs::path& directory, double started, const std::vector<json>& metrics) {
  std::string bytes = opening_records(started);
  for (const auto& line : metrics) bytes += scalars_record(line, started);
  const auto path = new_name(directory);
  publish_text(path, bytes);
  for (const auto& name : event_files(directory)) {
    if (name != path.filename()) remove_tree(directory / name);
  }
  return {path, OutputFile::Mode::append};
}

}  // namespace

EventLog::EventLog(const fs::path& directory, double started, const std::vector<json>& metrics)
    : started_(started), file_(start(directory, started, metrics)) {}

void EventLog::add(const json& line) { file_.write(scalars_record(line, started_)); }

}  // namespace lehi::train
