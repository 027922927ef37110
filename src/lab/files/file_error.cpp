#include "files/file_error.h"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>

#include "files/leftovers.h"

namespace lehi {
namespace {

std::string reason(std::string_view operation, int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "no space is left on that disk; free some or write elsewhere";
    case EACCES:
    case EPERM:
      return "permission denied; change the permissions or choose another place";
    case EROFS:
      return "that file system is read-only; choose another place";
    case EIO:
      return "the disk reported an input/output error; check the disk";
    case EFBIG:
      return "the file would grow larger than the system allows; raise the limit or choose another place";
    case ENOENT:
    case ENOTDIR:
      return operation == "create" ? "its directory does not exist; check the path"
                                   : "it does not exist; check the path";
    case EEXIST:
      return "something else has that name; choose another";
    default:
      return std::generic_category().message(error);
  }
}

std::string final_name(const std::filesystem::path& path) {
  auto name = path.string();
  if (is_leftover_name(path.filename().string())) name.resize(name.rfind(".tmp-"));
  return name;
}

}  // namespace

FileError::FileError(std::string_view operation, const std::filesystem::path& path, int error)
    : FileError(fmt::format("cannot {} {}: {}", operation, final_name(path), reason(operation, error))) {}

}  // namespace lehi
