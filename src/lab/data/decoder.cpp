#include "data/decoder.h"

#include <zstd.h>
#define ZLIB_CONST  // zlib then reads from const buffers
#include <zlib.h>

#include <algorithm>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include "data/buffered_file.h"
#include "data/error.h"

namespace lehi::data {
namespace {

[[noreturn]] void throw_truncated(const BufferedFile& file) {
  throw_data_error("{} is truncated: its compressed data ends too early; get the file again", file.name());
}

class PlainDecoder : public Decoder {
 public:
  PlainDecoder(std::unique_ptr<BufferedFile> file, std::int64_t limit) : file_(std::move(file)) {
    if (file_->size().value_or(0) > limit) throw_too_large(file_->name(), limit);
  }
  std::size_t read(char* to, std::size_t max_bytes) override { return file_->read(to, max_bytes); }
  std::int64_t compressed_bytes() const override { return 0; }
  std::optional<std::size_t> size_hint() const override { return file_->size(); }

 private:
  std::unique_ptr<BufferedFile> file_;
};

class GzipDecoder : public Decoder {
 public:
  explicit GzipDecoder(std::unique_ptr<BufferedFile> file) : file_(std::move(file)) {
    if (inflateInit2(&stream_, 15 + 16) != Z_OK) throw std::bad_alloc();
  }
  GzipDecoder(const GzipDecoder&) = delete;
  GzipDecoder(GzipDecoder&&) = delete;
  GzipDecoder& operator=(const GzipDecoder&) = delete;
  GzipDecoder& operator=(GzipDecoder&&) = delete;
  ~GzipDecoder() override { inflateEnd(&stream_); }

  // A file can consist of several members; their contents are joined.
  std::size_t read(char* to, std::size_t max_bytes) override {
    for (;;) {
      const std::string_view next = file_->next();
      if (next.empty()) {
        if (inside_) throw_truncated(*file_);
        return 0;
      }
      if (!inside_) begin_member(next);
      // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): zlib takes unsigned bytes
      stream_.next_in = reinterpret_cast<const Bytef*>(next.data());
      stream_.avail_in = static_cast<uInt>(next.size());
      // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast)
      stream_.next_out = reinterpret_cast<Bytef*>(to);
      const std::size_t room = std::min(max_bytes, std::size_t{1} << 30);
      stream_.avail_out = static_cast<uInt>(room);
      const int status = inflate(&stream_, Z_NO_FLUSH);
      file_->skip(next.size() - stream_.avail_in);
      if (status == Z_STREAM_END) {
        inside_ = false;
      } else if (status != Z_OK) {
        throw_data_error("{} is corrupt gzip ({}); get the file again", file_->name(),
                         stream_.msg != nullptr ? stream_.msg : zError(status));
      }
      if (stream_.avail_out < room) return room - stream_.avail_out;
    }
  }
  std::int64_t compressed_bytes() const override { return file_->position(); }

  std::optional<std::size_t> size_hint() const override {
    constexpr std::int64_t trusted_excess = std::int64_t{56} << 20;
    const auto declared = file_->last_number();
    return declared && *declared <= *file_->size() + trusted_excess ? std::optional<std::size_t>(*declared)
                                                                    : std::nullopt;
  }

 private:
  void begin_member(std::string_view next) {
    // The second byte of the magic number may be in the next buffer; zlib checks it too.
    if (!next.starts_with("\x1f\x8b") && next != "\x1f") {
      throw_data_error("{} has stray bytes after its gzip data, at byte {}; get the file again", file_->name(),
                       file_->position());
    }
    inflateReset(&stream_);
    inside_ = true;
  }

  std::unique_ptr<BufferedFile> file_;
  z_stream stream_{};
  bool inside_ = false;  // inside a member: the file must not end here
};

class ZstdDecoder : public Decoder {
 public:
  explicit ZstdDecoder(std::unique_ptr<BufferedFile> file)
      : file_(std::move(file)), stream_(ZSTD_createDStream(), &ZSTD_freeDStream) {
    if (!stream_) throw std::bad_alloc();
    // A frame declares how much memory it needs. For small files, requests for much memory are rejected.
    constexpr std::int64_t large_file = std::int64_t{32} << 20;
    ZSTD_DCtx_setParameter(stream_.get(), ZSTD_d_windowLogMax, file_->size().value_or(0) < large_file ? 25 : 27);
  }

  std::size_t read(char* to, std::size_t max_bytes) override {
    if (begin_ == end_) fill();
    const std::size_t count = std::min(max_bytes, end_ - begin_);
    std::copy_n(buffer_.data() + begin_, count, to);
    begin_ += count;
    return count;
  }
  std::int64_t compressed_bytes() const override { return file_->position(); }

 private:
  // Decompresses into an internal buffer. If the caller's buffer held a whole frame, zstd would not need the memory
  // that the frame declares, and whether such a frame is rejected would depend on the size of the caller's buffer.
  void fill() {
    begin_ = 0;
    end_ = 0;
    for (;;) {
      const std::string_view next = file_->next();
      ZSTD_inBuffer in{next.data(), next.size(), 0};
      ZSTD_outBuffer out{buffer_.data(), buffer_.size(), 0};
      const std::size_t status = ZSTD_decompressStream(stream_.get(), &out, &in);
      if (ZSTD_isError(status) != 0) {
        throw_data_error("{} is corrupt zstd ({}); get the file again", file_->name(), ZSTD_getErrorName(status));
      }
      file_->skip(in.pos);
      if (in.pos > 0 || out.pos > 0) inside_ = status != 0;
      end_ = out.pos;
      if (end_ > 0) return;
      if (next.empty()) {
        if (inside_) throw_truncated(*file_);
        return;
      }
    }
  }

  std::unique_ptr<BufferedFile> file_;
  std::unique_ptr<ZSTD_DStream, std::size_t (*)(ZSTD_DStream*)> stream_;
  std::vector<char> buffer_ = std::vector<char>(ZSTD_DStreamOutSize());
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool inside_ = false;
};

}  // namespace

void throw_too_large(const std::string& file, std::int64_t limit) {
  throw_data_error("{} holds more than {} bytes, the limit for one file", file, limit);
}

std::unique_ptr<Decoder> open_decoder(const std::filesystem::path& path, std::int64_t limit) {
  auto file = std::make_unique<BufferedFile>(path);
  const std::string_view start = file->next();
  if (start.starts_with("\x1f\x8b")) return std::make_unique<GzipDecoder>(std::move(file));
  if (start.starts_with("\x28\xb5\x2f\xfd")) return std::make_unique<ZstdDecoder>(std::move(file));
  return std::make_unique<PlainDecoder>(std::move(file), limit);
}

}  // namespace lehi::data
