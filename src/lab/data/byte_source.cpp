#include "data/byte_source.h"

#include <utility>

#include "data/error.h"

namespace lehi::data {
namespace {

void check_expansion(const std::filesystem::path& file, std::int64_t compressed, std::int64_t decompressed) {
  if (decompressed <= free_expansion || decompressed / max_expansion_ratio <= compressed) return;
  throw_data_error(
      "{} decompresses to more than {} times its size, which real data does not; decompress it yourself if you "
      "trust it",
      file.string(), max_expansion_ratio);
}

}  // namespace

ByteSource::ByteSource(std::filesystem::path file, std::int64_t limit)
    : file_(std::move(file)), limit_(limit), decoder_(open_decoder(file_, limit)) {}

std::size_t ByteSource::read(char* to, std::size_t max_bytes) {
  const std::size_t count = decoder_->read(to, max_bytes);
  count_ += static_cast<std::int64_t>(count);
  if (count_ > limit_) throw_too_large(file_.string(), limit_);
  if (const auto compressed = decoder_->compressed_bytes(); compressed > 0) check_expansion(file_, compressed, count_);
  return count;
}

}  // namespace lehi::data
