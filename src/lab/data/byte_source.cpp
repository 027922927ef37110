#include "data/byte_source.h"

#include <sys/stat.h>
#include <unistd.h>
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

#include "data/error.h"

namespace lehi::data {
namespace {

using Unpacker = ByteSource::Unpacker;

// The file itself, with a view of what comes next.
class RawFile {
 public:
  explicit RawFile(const std::filesystem::path& file)
      : name_(file.string()), file_(std::fopen(file.c_str(), "rb"), &std::fclose) {
    if (!file_) refuse_data("{} can't be opened: {}", name_, std::strerror(errno));
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

  // Up to `most` bytes; 0 at the end only.
  std::size_t read(char* to, std::size_t most) {
    const std::size_t count = std::min(most, end_ - begin_);
    std::memcpy(to, buffer_.data() + begin_, count);
    skip(count);
    return count > 0 ? count : read_file(to, most);
  }

  // The last four bytes of a file that has a size, as the number that they are.
  std::optional<std::uint32_t> last_number() const {
    std::uint32_t number = 0;
    const auto bytes = static_cast<ssize_t>(sizeof number);
    if (!size_ || *size_ < bytes) return std::nullopt;
    if (::pread(::fileno(file_.get()), &number, sizeof number, *size_ - bytes) != bytes) return std::nullopt;
    return number;
  }

  const std::string& name() const { return name_; }

 private:
  void fill() {
    before_ += static_cast<std::int64_t>(end_);
    begin_ = 0;
    end_ = read_file(buffer_.data(), buffer_.size());
  }

  std::size_t read_file(char* to, std::size_t most) {
    const std::size_t count = std::fread(to, 1, most, file_.get());
    if (std::ferror(file_.get()) != 0) refuse_data("{} can't be read: {}", name_, std::strerror(errno));
    return count;
  }

  std::string name_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  std::vector<char> buffer_ = std::vector<char>(std::size_t{1} << 17);
  std::optional<std::int64_t> size_;
  std::int64_t before_ = 0;  // bytes of the file in front of the buffer
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

[[noreturn]] void refuse_size(const std::string& name, std::int64_t limit) {
  refuse_data("{} holds more than {} bytes, the most that is read from one file", name, limit);
}

[[noreturn]] void refuse_truncated(const RawFile& file) {
  refuse_data("{} is truncated: its compressed data ends too early; get the file again", file.name());
}

class PlainBytes : public Unpacker {
 public:
  PlainBytes(std::unique_ptr<RawFile> file, std::int64_t limit) : file_(std::move(file)) {
    if (file_->size().value_or(0) > limit) refuse_size(file_->name(), limit);
  }
  std::size_t read(char* to, std::size_t most) override { return file_->read(to, most); }
  std::int64_t packed() const override { return 0; }
  std::optional<std::size_t> likely_size() const override { return file_->size(); }

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
      if (!inside_) begin_member(next);
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
        refuse_data("{} is corrupt gzip ({}); get the file again", file_->name(),
                    stream_.msg != nullptr ? stream_.msg : zError(status));
      }
      if (stream_.avail_out < room) return room - stream_.avail_out;
    }
  }
  std::int64_t packed() const override { return file_->used(); }

  std::optional<std::size_t> likely_size() const override {
    constexpr std::int64_t harmless = std::int64_t{56} << 20;
    const auto claim = file_->last_number();
    return claim && *claim <= *file_->size() + harmless ? std::optional<std::size_t>(*claim) : std::nullopt;
  }

 private:
  void begin_member(std::string_view next) {
    // The magic number's second byte may be in the next buffer; zlib looks at it too.
    if (!next.starts_with("\x1f\x8b") && next != "\x1f") {
      refuse_data("{} has stray bytes after its gzip data, at byte {}", file_->name(), file_->used());
    }
    inflateReset(&stream_);
    inside_ = true;
  }

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
    if (begin_ == end_) fill();
    const std::size_t count = std::min(most, end_ - begin_);
    std::copy_n(buffer_.data() + begin_, count, to);
    begin_ += count;
    return count;
  }
  std::int64_t packed() const override { return file_->used(); }

 private:
  // Into room of our own: where all of a frame fits, zstd asks no memory for it, so whether one that asks for too much
  // is refused would depend on how much the caller reads at once.
  void fill() {
    begin_ = 0;
    end_ = 0;
    for (;;) {
      const std::string_view next = file_->next();
      ZSTD_inBuffer in{next.data(), next.size(), 0};
      ZSTD_outBuffer out{buffer_.data(), buffer_.size(), 0};
      const std::size_t status = ZSTD_decompressStream(stream_.get(), &out, &in);
      if (ZSTD_isError(status) != 0) {
        refuse_data("{} is corrupt zstd ({}); get the file again", file_->name(), ZSTD_getErrorName(status));
      }
      file_->skip(in.pos);
      if (in.pos > 0 || out.pos > 0) inside_ = status != 0;
      end_ = out.pos;
      if (end_ > 0) return;
      if (next.empty()) {
        if (inside_) refuse_truncated(*file_);
        return;
      }
    }
  }

  std::unique_ptr<RawFile> file_;
  std::unique_ptr<ZSTD_DStream, std::size_t (*)(ZSTD_DStream*)> stream_;
  std::vector<char> buffer_ = std::vector<char>(ZSTD_DStreamOutSize());
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool inside_ = false;
};

std::unique_ptr<Unpacker> unpacker_for(const std::filesystem::path& path, std::int64_t limit) {
  auto file = std::make_unique<RawFile>(path);
  const std::string_view start = file->next();
  if (start.starts_with("\x1f\x8b")) return std::make_unique<GzipBytes>(std::move(file));
  if (start.starts_with("\x28\xb5\x2f\xfd")) return std::make_unique<ZstdBytes>(std::move(file));
  return std::make_unique<PlainBytes>(std::move(file), limit);
}

void check_expansion(const std::filesystem::path& file, std::int64_t packed, std::int64_t unpacked) {
  if (unpacked <= free_expansion || unpacked / most_expansion <= packed) return;
  refuse_data(
      "{} decompresses to more than {} times its size, which no honest data does; decompress it yourself if you "
      "trust it",
      file.string(), most_expansion);
}

}  // namespace

ByteSource::ByteSource(std::filesystem::path file, std::int64_t limit)
    : file_(std::move(file)), limit_(limit), unpacker_(unpacker_for(file_, limit)) {}

ByteSource::~ByteSource() = default;

std::size_t ByteSource::read(char* to, std::size_t most) {
  const std::size_t count = unpacker_->read(to, most);
  count_ += static_cast<std::int64_t>(count);
  if (count_ > limit_) refuse_size(file_.string(), limit_);
  if (const auto packed = unpacker_->packed(); packed > 0) check_expansion(file_, packed, count_);
  return count;
}

}  // namespace lehi::data
