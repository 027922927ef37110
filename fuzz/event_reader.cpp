#include "event_reader.h"

#include <cstring>

#include "harness.h"

namespace lehi::fuzz {
namespace {

// CRC-32C (Castagnoli's polynomial), bit by bit.
std::uint32_t plain_crc32c(std::string_view bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78U : 0U);
  }
  return ~crc;
}

class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : left_(bytes) {}

  bool empty() const { return left_.empty(); }
  std::string_view take(std::uint64_t count) {
    require(count <= left_.size(), "an event file ends too early");
    const auto taken = left_.substr(0, count);
    left_.remove_prefix(count);
    return taken;
  }
  template <class T>
  T fixed() {
    T value{};
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw Finding("a varint is too long");
  }

 private:
  std::string_view left_;
};

struct Field {
  std::uint64_t number = 0;
  std::uint64_t integer = 0;
  std::string_view bytes;
};

Field next_field(Bytes& message) {
  const auto key = message.varint();
  Field field{key >> 3, 0, {}};
  switch (key & 7) {
    case 0:
      field.integer = message.varint();
      break;
    case 1:
      field.bytes = message.take(8);
      break;
    case 2:
      field.bytes = message.take(message.varint());
      break;
    case 5:
      field.bytes = message.take(4);
      break;
    default:
      throw Finding("a field has an unknown wire type");
  }
  return field;
}

template <class T>
T number_in(std::string_view bytes) {
  require(bytes.size() == sizeof(T), "a number has the wrong size");
  T value{};
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

std::vector<EventScalar> scalars_in(std::string_view summary) {
  std::vector<EventScalar> scalars;
  for (Bytes values(summary); !values.empty();) {
    const Field value = next_field(values);
    if (value.number != 1) continue;
    EventScalar scalar;
    for (Bytes fields(value.bytes); !fields.empty();) {
      const Field field = next_field(fields);
      if (field.number == 1) scalar.tag = field.bytes;
      if (field.number == 2) scalar.value = number_in<float>(field.bytes);
    }
    scalars.push_back(std::move(scalar));
  }
  return scalars;
}

Event event_in(std::string_view payload) {
  Event event;
  for (Bytes fields(payload); !fields.empty();) {
    const Field field = next_field(fields);
    if (field.number == 1) event.wall_time = number_in<double>(field.bytes);
    if (field.number == 2) event.step = static_cast<std::int64_t>(field.integer);
    if (field.number == 3) event.version = field.bytes;
    if (field.number == 5) event.scalars = scalars_in(field.bytes);
  }
  return event;
}

void check_sum(std::string_view bytes, std::uint32_t masked) {
  const std::uint32_t crc = plain_crc32c(bytes);
  require(((crc >> 15) | (crc << 17)) + 0xa282ead8U == masked, "a checksum of an event file is wrong");
}

}  // namespace

std::vector<Event> read_events(std::string_view bytes) {
  std::vector<Event> events;
  for (Bytes file(bytes); !file.empty();) {
    const auto head = file.take(sizeof(std::uint64_t));
    check_sum(head, file.fixed<std::uint32_t>());
    const auto payload = file.take(number_in<std::uint64_t>(head));
    check_sum(payload, file.fixed<std::uint32_t>());
    events.push_back(event_in(payload));
  }
  return events;
}

}  // namespace lehi::fuzz
