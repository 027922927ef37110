#include "data/official.h"

#include <fmt/format.h>

#include "data/bytes.h"
#include "data/digest.h"
#include "data/error.h"

namespace lehi::data {

std::string difference_from_official(const OfficialFile& official, const std::filesystem::path& file) {
  if (!official.known()) return "";
  std::string bytes = read_bytes(file);
  if (official.name.ends_with(".csv")) std::erase(bytes, '\r');
  const auto size = static_cast<std::int64_t>(bytes.size());
  if (official.bytes > 0 && size != official.bytes) {
    return fmt::format("{} holds {} bytes, the official file {}", file.string(), size, official.bytes);
  }
  if (official.sha256.empty()) return "";
  const std::string digest = hex_digest("sha256", bytes);
  if (digest == official.sha256) return "";
  return fmt::format("{} has sha256 {}, the official file {}", file.string(), digest, official.sha256);
}

void require_official(const TaskFiles& task, const Place& place, const std::string& advice) {
  for (std::size_t i = 0; i < task.files.size(); ++i) {
    if (place.files[i].empty()) continue;
    const auto difference = difference_from_official(task.files[i], place.files[i]);
    if (!difference.empty()) throw_data_error("{}; {}", difference, advice);
  }
}

}  // namespace lehi::data
