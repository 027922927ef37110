#include "data/idx.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "data/bytes.h"
#include "data/error.h"
#include "data/rows.h"

namespace lehi::data {
namespace {

constexpr std::uint32_t unsigned_byte_magic = 0x0800;  // + the number of dimensions

std::uint32_t big_endian(const std::string& bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = at; i < at + 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

}  // namespace

torch::Tensor read_idx(const std::filesystem::path& file, int dimensions) {
  const std::string bytes = read_bytes(file);
  const std::size_t header = 4 + 4 * static_cast<std::size_t>(dimensions);
  if (bytes.size() < header) {
    refuse_data("{} is truncated: {} bytes where an IDX header alone has {}", file.string(), bytes.size(), header);
  }
  const std::uint32_t expected = unsigned_byte_magic + static_cast<std::uint32_t>(dimensions);
  if (const std::uint32_t magic = big_endian(bytes, 0); magic != expected) {
    refuse_data("{} has the magic number {:#010x}, not {:#010x} (IDX, unsigned bytes, {} dimensions)", file.string(),
                magic, expected, dimensions);
  }
  // Multiplied only while the product stays below the bytes that are there, so it can't overflow.
  std::vector<std::int64_t> sizes;
  const std::size_t body = bytes.size() - header;
  for (std::size_t at = 4; at < header; at += 4) sizes.push_back(big_endian(bytes, at));
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) {
    refuse_data("{} declares an empty dimension: {}", file.string(), fmt::join(sizes, " x "));
  }
  std::size_t declared = 1;
  for (const std::int64_t size : sizes) {
    declared *= static_cast<std::size_t>(size);
    if (declared > body) {
      refuse_data("{} is truncated: its header declares {} values and {} are there; get the file again", file.string(),
                  fmt::join(sizes, " x "), body);
    }
  }
  if (declared < body) {
    refuse_data("{} is too long: its header declares {} values and {} bytes follow them", file.string(),
                fmt::join(sizes, " x "), body - declared);
  }
  auto values = torch::empty(sizes, torch::kUInt8);
  use_large_pages(values);
  std::memcpy(values.data_ptr(), bytes.data() + header, declared);
  return values;
}

}  // namespace lehi::data
