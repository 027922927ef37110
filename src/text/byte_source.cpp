#include "text/byte_source.h"

#include <sys/stat.h>
#include <zstd.h>
#define ZLIB_CONST  // zlib then reads from const buffers
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <optional>
#include <string_view>
#include <vector>

#include "data/bytes.h"
#include "data/error.h"

namespace lehi::text {
namespace {

using Unpacker = ByteSource::Unpacker;

// The file itself, with a view of what comes next.
class RawFile {
 public:
  explicit RawFile(const std::filesystem::path& file)
      : name_(file.string()), file_(std::fopen(file.c_str(), "rb"), &std::fclose) {
    if (!file_) data::refuse_data("{} can't be opened: {}", name_, std::strerror(errno));
    struct stat status {};
    if (::fstat(::fileno(file_.get()), &status) == 0 && S_ISREG(status.st_mode)) size_ = status.st_size;
    fill();
  }

  std::optional<std::int64_t> size() const { return size_; }  // none of a pipe
  std::int64_t used() const { return before_ + static_cast<std::int64_t>(begin_); }

  // Unread bytes; empty at the end only.
  std::string_view next() {
    if (begin_ == end_) fill();
    return {buffer_.data() + begin_, end_ - begin_};
  }
  void skip(std::size_t bytes) { begin_ += bytes; }
  const std::string& name() const { return name_; }

 private:
  void fill() {
    before_ += static_cast<std::int64_t>(end_);
    begin_ = 0;
    end_ = std::fread(buffer_.data(), 1, buffer_.size(), file_.get());
    if (std::ferror(file_.get()) != 0) data::refuse_data("{} can't be read: {}", name_, std::strerror(errno));
  }

  std::string name_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  std::vector<char> buffer_ = std::vector<char>(std::size_t{1} << 17);
  std::optional<std::int64_t> size_;
  std::int64_t before_ = 0;  // bytes of the file in front of the buffer
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

[[noreturn]] void refuse_truncated(const RawFile& file) {
  data::refuse_data("{} is truncated: its compressed data ends too early; get the file again", file.name());
}

class PlainBytes : public Unpacker {
 public:
  explicit PlainBytes(std::unique_ptr<RawFile> file) : file_(std::move(file)) {}
  std::size_t read(char* to, std::size_t most) override {
    const std::string_view next = file_->next().substr(0, most);
    std::memcpy(to, next.data(), next.size());
    file_->skip(next.size());
    return next.size();
  }
  std::int64_t packed() const override { return 0; }

 private:
  std::unique_ptr<RawFile> file_;
};

class GzipBytes : public Unpacker {
 public:
  explicit GzipBytes(std::unique_ptr<RawFile> file) : file_(std::move(file)) {
    if (inflateInit2(&stream_, 15 + 16) != Z_OK) throw std::bad_alloc();
  }
  GzipBytes(const GzipBytes&) = delete;
  GzipBytes(GzipBytes&&) = delete;
  GzipBytes& operator=(const GzipBytes&) = delete;
  GzipBytes& operator=(GzipBytes&&) = delete;
  ~GzipBytes() override { inflateEnd(&stream_); }

  // A file may be several members one after the other; their contents are joined.
  std::size_t read(char* to, std::size_t most) override {
    for (;;) {
      const std::string_view next = file_->next();
      if (next.empty()) {
        if (inside_) refuse_truncated(*file_);
        return 0;
      }
      if (!inside_) inflateReset(&stream_);
      inside_ = true;
      // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): zlib speaks of unsigned bytes
      stream_.next_in = reinterpret_cast<const Bytef*>(next.data());
      stream_.avail_in = static_cast<uInt>(next.size());
      // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast)
      stream_.next_out = reinterpret_cast<Bytef*>(to);
      const std::size_t room = std::min(most, std::size_t{1} << 30);
      stream_.avail_out = static_cast<uInt>(room);
      const int status = inflate(&stream_, Z_NO_FLUSH);
      file_->skip(next.size() - stream_.avail_in);
      if (status == Z_STREAM_END) {
        inside_ = false;
      } else if (status != Z_OK) {
        data::refuse_data("{} is corrupt gzip ({}); get the file again", file_->name(),
                          stream_.msg != nullptr ? stream_.msg : zError(status));
      }
      if (stream_.avail_out < room) return room - stream_.avail_out;
    }
  }
  std::int64_t packed() const override { return file_->used(); }

 private:
  std::unique_ptr<RawFile> file_;
  z_stream stream_{};
  bool inside_ = false;  // a member, that is: the file must not end here
};

class ZstdBytes : public Unpacker {
 public:
  explicit ZstdBytes(std::unique_ptr<RawFile> file)
      : file_(std::move(file)), stream_(ZSTD_createDStream(), &ZSTD_freeDStream) {
    if (!stream_) throw std::bad_alloc();
    // A frame says how much memory it needs, which a small file is not believed.
    constexpr std::int64_t large_file = std::int64_t{32} << 20;
    ZSTD_DCtx_setParameter(stream_.get(), ZSTD_d_windowLogMax, file_->size().value_or(0) < large_file ? 25 : 27);
  }

  std::size_t read(char* to, std::size_t most) override {
    for (;;) {
      const std::string_view next = file_->next();
      ZSTD_inBuffer in{next.data(), next.size(), 0};
      ZSTD_outBuffer out{to, most, 0};
      const std::size_t status = ZSTD_decompressStream(stream_.get(), &out, &in);
      if (ZSTD_isError(status) != 0) {
        data::refuse_data("{} is corrupt zstd ({}); get the file again", file_->name(), ZSTD_getErrorName(status));
      }
      file_->skip(in.pos);
      if (in.pos > 0 || out.pos > 0) inside_ = status != 0;
      if (out.pos > 0) return out.pos;
      if (next.empty()) {
        if (inside_) refuse_truncated(*file_);
        return 0;
      }
    }
  }
  std::int64_t packed() const override { return file_->used(); }

 private:
  std::unique_ptr<RawFile> file_;
  std::unique_ptr<ZSTD_DStream, std::size_t (*)(ZSTD_DStream*)> stream_;
  bool inside_ = false;
};

std::unique_ptr<Unpacker> unpacker_for(const std::filesystem::path& path) {
  auto file = std::make_unique<RawFile>(path);
  const std::string_view start = file->next();
  if (start.starts_with("\x1f\x8b")) return std::make_unique<GzipBytes>(std::move(file));
  if (start.starts_with("\x28\xb5\x2f\xfd")) return std::make_unique<ZstdBytes>(std::move(file));
  return std::make_unique<PlainBytes>(std::move(file));
}

}  // namespace

ByteSource::ByteSource(std::filesystem::path file, std::int64_t limit)
    : file_(std::move(file)), limit_(limit), unpacker_(unpacker_for(file_)) {}

ByteSource::~ByteSource() = default;

std::size_t ByteSource::read(char* to, std::size_t most) {
  const std::size_t count = unpacker_->read(to, most);
  count_ += static_cast<std::int64_t>(count);
  if (count_ > limit_) {
    data::refuse_data("{} holds more than {} bytes, decompressed, the most that is read from one file", file_.string(),
                      limit_);
  }
  if (const auto packed = unpacker_->packed(); packed > 0) data::check_expansion(file_, packed, count_);
  return count;
}

namespace {

std::size_t count_bytes(const std::filesystem::path& file, std::int64_t limit) {
  ByteSource source(file, limit);
  std::vector<char> scrap(std::size_t{1} << 17);
  std::size_t size = 0;
  while (const std::size_t count = source.read(scrap.data(), scrap.size())) size += count;
  return size;
}

}  // namespace

// A file is read twice, so that memory is taken once and for no more than there is; a pipe can't be.
std::string read_all(const std::filesystem::path& file, std::int64_t limit) {
  std::error_code ignored;
  const bool regular = std::filesystem::is_regular_file(file, ignored);
  constexpr std::size_t step = std::size_t{1} << 20;
  std::string bytes(regular ? count_bytes(file, limit) + 1 : step, '\0');  // + 1 shows the end
  ByteSource source(file, limit);
  for (std::size_t size = 0;;) {
    const std::size_t count = source.read(bytes.data() + size, bytes.size() - size);
    size += count;
    if (count == 0) {
      bytes.resize(size);
      return bytes;
    }
    if (size == bytes.size()) bytes.resize(size + step);
  }
}

}  // namespace lehi::text
