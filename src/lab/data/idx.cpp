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
    throw_data_error("{} is truncated: it has {} bytes, but an IDX header alone has {}", file.string(), bytes.size(),
                     header);
  }
  const std::uint32_t expected = unsigned_byte_magic + static_cast<std::uint32_t>(dimensions);
  if (const std::uint32_t magic = big_endian(bytes, 0); magic != expected) {
    throw_data_error("{} has the magic number {:#010x}, not {:#010x} (IDX, unsigned bytes, {} dimensions)",
                     file.string(), magic, expected, dimensions);
  }
  std::vector<std::int64_t> sizes;
  sizes.reserve(static_cast<std::size_t>(dimensions));
  const std::size_t body = bytes.size() - header;
  for (std::size_t at = 4; at < header; at += 4) sizes.push_back(big_endian(bytes, at));
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) {
    throw_data_error("{} declares an empty dimension: {}", file.string(), fmt::join(sizes, " x "));
  }
  std::size_t declared = 1;  // can't overflow: the loop ends once it exceeds the size of the file
  for (const std::int64_t size : sizes) {
    declared *= static_cast<std::size_t>(size);
    if (declared > body) {
      throw_data_error("{} is truncated: its header declares {} values, but {} are present; get the file again",
                       file.string(), fmt::join(sizes, " x "), body);
    }
  }
  if (declared < body) {
    throw_data_error("{} is too long: its header declares {} values, but {} more bytes follow; get the file again",
                     file.string(), fmt::join(sizes, " x "), body - declared);
  }
  auto values = torch::empty(sizes, torch::kUInt8);
  use_large_pages(values);
  std::memcpy(values.data_ptr(), bytes.data() + header, declared);
  return values;
}

}  // namespace lehi::data
