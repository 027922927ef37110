#include "train/task_presets.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "train/embedded.h"

namespace lehi::train {
namespace {

constexpr std::array<std::string_view, 2> file_tasks = {"csv", "text"};

}  // namespace

std::vector<std::string> task_names() {
  std::vector<std::string> names;
  constexpr std::string_view folder = "paper/";
  constexpr std::string_view ending = ".toml";
  for (std::string_view file : embedded_names()) {
    if (!file.starts_with(folder)) continue;
    file = file.substr(folder.size(), file.size() - folder.size() - ending.size());
    if (std::find(file_tasks.begin(), file_tasks.end(), file) == file_tasks.end()) names.emplace_back(file);
  }
  return names;
}

std::vector<std::string> preset_names(std::string_view task) {
  std::vector<std::string> names;
  for (const std::string_view file : embedded_names()) {
    const auto slash = file.find('/');
    if (slash == std::string_view::npos) continue;
    if (file == preset_file(file.substr(0, slash), task)) names.emplace_back(file.substr(0, slash));
  }
  return names;
}

std::string preset_file(std::string_view preset, std::string_view task) {
  const auto kind = file_task(task);
  return fmt::format("{}/{}.toml", preset, kind.empty() ? task : kind);
}

std::string_view file_task(std::string_view task) {
  for (const std::string_view kind : file_tasks) {
    if (task.starts_with(kind) && task.substr(kind.size()).starts_with(':')) return kind;
  }
  return "";
}

std::string with_absolute_path(const std::string& task) {
  const std::size_t prefix = file_task(task).size() + 1;
  if (prefix == 1 || task.size() == prefix) return task;
  return task.substr(0, prefix) + std::filesystem::absolute(task.substr(prefix)).lexically_normal().string();
}

}  // namespace lehi::train
