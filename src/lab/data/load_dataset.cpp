#include "data/load_dataset.h"

#include <map>
#include <string_view>

#include "data/cifar.h"
#include "data/csv.h"
#include "data/error.h"
#include "data/find_files.h"
#include "data/idx.h"
#include "data/tabular.h"
#include "runtime/message.h"

namespace lehi::data {
namespace {

constexpr std::int64_t mnist_side = 28;
constexpr std::int64_t image_classes = 10;

// Mean and standard deviation of the pixels of the training images, rounded as in common use.
struct PixelStatistics {
  double mean;
  double std;
};
const PixelStatistics& statistics_of(const std::string& task) {
  static const std::map<std::string, PixelStatistics> statistics{{"mnist", {0.1307, 0.3081}},
                                                                 {"fashion-mnist", {0.2860, 0.3530}}};
  return statistics.at(task);
}

Split load_image_split(const std::filesystem::path& image_file, const std::filesystem::path& label_file,
                       const PixelStatistics& scale) {
  const auto values = read_idx(image_file, 3);
  const auto labels = read_idx(label_file, 1);
  if (values.size(1) != mnist_side || values.size(2) != mnist_side) {
    throw_data_error("{} has images of {} x {} pixels, not {} x {}", image_file.string(), values.size(1),
                     values.size(2), mnist_side, mnist_side);
  }
  if (values.size(0) != labels.size(0)) {
    throw_data_error("{} has {} images and {} has {} labels", image_file.string(), values.size(0), label_file.string(),
                     labels.size(0));
  }
  if (const auto largest = labels.max().item<std::int64_t>(); largest >= image_classes) {
    throw_data_error("{} has the label {}; labels are 0 to {}", label_file.string(), largest, image_classes - 1);
  }
  const ByteScale bytes{static_cast<float>(1 / (255 * scale.std)), static_cast<float>(-scale.mean / scale.std)};
  return {values.flatten(1), labels.to(torch::kInt64), bytes};
}

Dataset load_images(const TaskFiles& task, const std::string& data_dir) {
  const auto files = find_files(task, data_dir);
  const PixelStatistics& scale = statistics_of(task.task);
  Dataset dataset;
  dataset.kind = TaskKind::classification;
  dataset.inputs = mnist_side * mnist_side;
  dataset.outputs = image_classes;
  dataset.train = load_image_split(files.at(0), files.at(1), scale);
  dataset.test = load_image_split(files.at(2), files.at(3), scale);
  return dataset;
}

Dataset load_protein(const TaskFiles& task, const std::string& data_dir, std::uint64_t seed) {
  const auto file = find_files(task, data_dir).at(0);
  const Table table = read_csv(file);
  constexpr std::size_t columns = 10;
  if (table.columns.size() != columns || table.columns.front().name != "RMSD") {
    throw_data_error("{} has {} columns, the first named '{}'; CASP.csv has {}, the first named 'RMSD'", file.string(),
                     table.columns.size(), table.columns.front().name, columns);
  }
  for (const Column& column : table.columns) {
    if (!column.numeric())
      throw_data_error("{}: column '{}' has values that are not numbers", file.string(), column.name);
  }
  return tabular_dataset(table, "RMSD", "regression", seed);
}

Dataset load_task_files(const TaskFiles& task, const DataRequest& request) {
  if (task.task == "protein") return load_protein(task, request.data_dir, request.seed);
  if (task.task.starts_with("cifar")) return cifar_dataset(find_files(task, request.data_dir), task.outputs);
  return load_images(task, request.data_dir);
}

Dataset load_built_in(const DataRequest& request) {
  const TaskFiles& task = task_files(request.task);
  if (task.outputs == 0)
    throw_invalid_argument("{} is not a task to train on; `lehi list tasks` lists the tasks", request.task);
  if (!request.target.empty() || !request.kind.empty()) {
    throw_invalid_argument("task {} has a fixed target; a target column and a kind are for csv:FILE only",
                           request.task);
  }
  Dataset dataset = load_task_files(task, request);
  if (dataset.train.size() != task.train_records || dataset.test.size() != task.test_records) {
    dataset.notices.push_back(fmt::format("not the official data: {} training and {} test records instead of {} and {}",
                                          dataset.train.size(), dataset.test.size(), task.train_records,
                                          task.test_records));
  }
  return dataset;
}

}  // namespace

Dataset load_dataset(const DataRequest& request) {
  constexpr std::string_view prefix = "csv:";
  Dataset dataset;
  if (request.task.starts_with(prefix)) {
    const std::string file = request.task.substr(prefix.size());
    if (file.empty()) throw_invalid_argument("task 'csv:' has no file name; write csv:FILE");
    if (request.target.empty())
      throw_invalid_argument("task {} needs a target: the name of the column to predict", request.task);
    dataset = tabular_dataset(read_csv(file), request.target, request.kind, request.seed);
  } else {
    dataset = load_built_in(request);
  }
  dataset.task = request.task;
  return dataset;
}

}  // namespace lehi::data
