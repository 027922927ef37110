// The tasks and their presets: the files PRESET/TASK.toml of configs/, which are built into the program.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lehi::train {

/// The tasks that have presets; without csv and text, which are followed by a file's name.
std::vector<std::string> task_names();

/// The presets of a task: "paper", "small".
std::vector<std::string> preset_names(std::string_view task);

/// The file of a task's preset: "paper/mnist.toml"; "paper/csv.toml" for "csv:FILE".
std::string preset_file(std::string_view preset, std::string_view task);

/// "csv" for "csv:FILE", "text" for "text:FILE", "" for any other task.
std::string_view file_task(std::string_view task);

/// "csv:FILE" with an absolute path, so that a run that is resumed from another directory finds the file; other tasks
/// as they are.
std::string with_absolute_path(const std::string& task);

}  // namespace lehi::train
