#include "text/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "data/error.h"

namespace lehi::text {

MappedFile::MappedFile(const std::filesystem::path& file) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): POSIX
  const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe must not block
  struct stat status {};
  if (descriptor < 0 || fstat(descriptor, &status) != 0) {
    const int error = errno;
    if (descriptor >= 0) close(descriptor);
    data::refuse_data("{} can't be opened: {}", file.string(), std::strerror(error));
  }
  if (!S_ISREG(status.st_mode)) {
    close(descriptor);
    data::refuse_data("{} is not a regular file", file.string());
  }
  size_ = static_cast<std::size_t>(status.st_size);
  void* address = size_ > 0 ? mmap(nullptr, size_, PROT_READ, MAP_SHARED, descriptor, 0) : nullptr;
  const int error = errno;
  close(descriptor);
  if (address == MAP_FAILED) data::refuse_data("{} can't be mapped: {}", file.string(), std::strerror(error));
  data_ = static_cast<const char*>(address);
}

MappedFile::~MappedFile() {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): munmap takes what mmap gave
  if (data_ != nullptr) munmap(const_cast<char*>(data_), size_);
}

}  // namespace lehi::text
