#include "contest/batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "files/files.h"
#include "train/json_file.h"

namespace lehi::contest {
namespace {

constexpr std::uint64_t kLargestPhases = 1 << 20;
constexpr std::int64_t kPhasesSchema = 1;

std::vector<std::string> arms_from(const nlohmann::json& list, const std::string& where) {
  std::vector<std::string> arms;
  if (list.is_array()) {
    for (const auto& arm : list) {
      if (arm.is_string()) arms.push_back(arm.get<std::string>());
    }
  }
  if (arms.empty() || arms.size() != list.size()) {
    throw FileError(fmt::format("{}: a batch is {}, expected a list of arms", where, train::shown_json(list)));
  }
  return arms;
}

}  // namespace

Batches Batches::read(const std::filesystem::path& directory) {
  Batches batches;
  const auto path = directory / kFile;
  if (!std::filesystem::exists(path)) return batches;
  const auto where = path.string();
  const auto document = train::parse_json(read_text(path, kLargestPhases), where);
  const auto schema = train::count_field(document, "schema", where);
  if (schema != kPhasesSchema) {
    throw FileError(fmt::format("{}: 'schema' is {}, this lehi reads {}; use the lehi that wrote it", where, schema,
                                kPhasesSchema));
  }
  for (const auto& [phase, list] : train::object_field(document, "phases", where).items()) {
    if (!list.is_array()) throw FileError(fmt::format("{}: '{}' must be a list of batches", where, phase));
    for (const auto& arms : list) batches.phases_[phase].push_back(arms_from(arms, where));
  }
  return batches;
}

const std::vector<std::vector<std::string>>& Batches::of(const std::string& phase) const {
  static const std::vector<std::vector<std::string>> none;
  const auto found = phases_.find(phase);
  return found == phases_.end() ? none : found->second;
}

bool Batches::contains(const std::string& phase, const std::string& arm) const {
  const auto& batches = of(phase);
  return std::any_of(batches.begin(), batches.end(),
                     [&](const auto& arms) { return std::find(arms.begin(), arms.end(), arm) != arms.end(); });
}

std::vector<std::string> Batches::arms() const {
  std::set<std::string> all;
  for (const auto& [phase, batches] : phases_) {
    for (const auto& arms : batches) all.insert(arms.begin(), arms.end());
  }
  return {all.begin(), all.end()};
}

void Batches::add(const std::string& phase, const std::vector<std::string>& arms) { phases_[phase].push_back(arms); }

void Batches::write(const std::filesystem::path& directory) const {
  const nlohmann::ordered_json document = {{"schema", kPhasesSchema}, {"phases", phases_}};
  publish_text(directory / kFile, document.dump(2) + "\n");
}

std::string batch_directory(const std::string& phase, std::size_t batch) {
  return batch == 0 ? phase : fmt::format("{}-{}", phase, batch + 1);
}

}  // namespace lehi::contest
