#include "data/bytes.h"

#include <algorithm>
#include <system_error>
#include <vector>

#include "data/byte_source.h"

namespace lehi::data {
namespace {

constexpr std::size_t chunk_bytes = std::size_t{1} << 20;

// Reads the file into `bytes` and shrinks it to the file's size; false when the file does not fit.
bool read_if_it_fits(const std::filesystem::path& file, std::int64_t limit, std::string& bytes) {
  ByteSource source(file, limit);
  for (std::size_t size = 0;;) {
    const std::size_t count = source.read(bytes.data() + size, bytes.size() - size);
    size += count;
    if (count == 0) {
      bytes.resize(size);
      return true;
    }
    if (size == bytes.size()) return false;
  }
}

std::size_t count_bytes(const std::filesystem::path& file, std::int64_t limit) {
  ByteSource source(file, limit);
  std::vector<char> buffer(std::size_t{1} << 17);
  std::size_t size = 0;
  while (const std::size_t count = source.read(buffer.data(), buffer.size())) size += count;
  return size;
}

// A pipe has no size and can only be read once.
std::string read_pipe(const std::filesystem::path& file, std::int64_t limit) {
  ByteSource source(file, limit);
  std::string bytes;
  for (std::size_t size = 0;;) {
    bytes.resize(size + chunk_bytes);
    const std::size_t count = source.read(bytes.data() + size, chunk_bytes);
    size += count;
    if (count == 0) {
      bytes.resize(size);
      return bytes;
    }
  }
}

}  // namespace

std::string read_bytes(const std::filesystem::path& file, std::int64_t limit) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored)) return read_pipe(file, limit);
  std::string bytes;
  if (const auto hint = ByteSource(file, limit).size_hint()) {
    bytes.resize(std::min(*hint, static_cast<std::size_t>(limit)) + 1);  // one more, so that read() sees the end
    if (read_if_it_fits(file, limit, bytes)) return bytes;
  }
  // If the size is unknown or wrong, the file is decompressed twice, so that no more memory is allocated than needed.
  do {
    std::string().swap(bytes);
    bytes.resize(count_bytes(file, limit) + 1);
  } while (!read_if_it_fits(file, limit, bytes));
  return bytes;
}

}  // namespace lehi::data
