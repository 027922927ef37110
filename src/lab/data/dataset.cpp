#include "data/dataset.h"

#include <cmath>
#include <map>

#include "data/catalogue.h"
#include "data/cifar.h"
#include "data/csv.h"
#include "data/error.h"
#include "data/idx.h"
#include "data/permutation.h"
#include "data/tabular.h"
#include "runtime/message.h"

namespace lehi::data {
namespace {

constexpr std::int64_t side = 28;
constexpr std::int64_t image_classes = 10;

// Mean and standard deviation of a pixel over the training images, as everyone rounds them.
struct Pixels {
  double mean;
  double std;
};
const std::map<std::string, Pixels> pixels{{"mnist", {0.1307, 0.3081}}, {"fashion-mnist", {0.2860, 0.3530}}};

Split images(const std::filesystem::path& image_file, const std::filesystem::path& label_file, const Pixels& scale) {
  const auto values = read_idx(image_file, 3);
  const auto labels = read_idx(label_file, 1);
  if (values.size(1) != side || values.size(2) != side) {
    refuse_data("{} has images of {} x {} pixels, not {} x {}", image_file.string(), values.size(1), values.size(2),
                side, side);
  }
  if (values.size(0) != labels.size(0)) {
    refuse_data("{} has {} images and {} has {} labels", image_file.string(), values.size(0), label_file.string(),
                labels.size(0));
  }
  if (const auto largest = labels.max().item<std::int64_t>(); largest >= image_classes) {
    refuse_data("{} has the label {}; labels are 0 to {}", label_file.string(), largest, image_classes - 1);
  }
  const ByteScale bytes{static_cast<float>(1 / (255 * scale.std)), static_cast<float>(-scale.mean / scale.std)};
  return {values.flatten(1), labels.to(torch::kInt64), bytes};
}

Dataset load_images(const TaskFiles& task, const std::string& data_dir) {
  const auto files = find_files(task, data_dir);
  const Pixels& scale = pixels.at(task.task);
  Dataset dataset;
  dataset.kind = TaskKind::classification;
  dataset.inputs = side * side;
  dataset.outputs = image_classes;
  dataset.train = images(files.at(0), files.at(1), scale);
  dataset.test = images(files.at(2), files.at(3), scale);
  return dataset;
}

Dataset load_protein(const TaskFiles& task, const std::string& data_dir, std::uint64_t seed) {
  const auto file = find_files(task, data_dir).at(0);
  const Table table = read_csv(file);
  constexpr std::size_t columns = 10;
  if (table.columns.size() != columns || table.columns.front().name != "RMSD") {
    refuse_data("{} has {} columns, the first named '{}'; CASP.csv has {}, the first named 'RMSD'", file.string(),
                table.columns.size(), table.columns.front().name, columns);
  }
  for (const Column& column : table.columns) {
    if (!column.numeric()) refuse_data("{}: column '{}' has values that are not numbers", file.string(), column.name);
  }
  return tabular_dataset(table, "RMSD", "regression", seed);
}

Dataset load_files(const TaskFiles& task, const DataRequest& request) {
  if (task.task == "protein") return load_protein(task, request.data_dir, request.seed);
  if (task.task.starts_with("cifar")) return cifar_dataset(find_files(task, request.data_dir), task.outputs);
  return load_images(task, request.data_dir);
}

Dataset load_built_in(const DataRequest& request) {
  const TaskFiles& task = task_files(request.task);
  if (task.outputs == 0)
    throw_invalid_argument("{} is no task to train on; `lehi list tasks` shows those that are", request.task);
  if (!request.target.empty() || !request.kind.empty()) {
    throw_invalid_argument("task {} has its own target; a target column and a kind are for csv:FILE", request.task);
  }
  Dataset dataset = load_files(task, request);
  if (dataset.train.size() != task.train_records || dataset.test.size() != task.test_records) {
    dataset.notices.push_back(fmt::format("not the official data: {} training and {} test records instead of {} and {}",
                                          dataset.train.size(), dataset.test.size(), task.train_records,
                                          task.test_records));
  }
  return dataset;
}

torch::Tensor rows(const torch::Tensor& values, const torch::Tensor& index) {
  auto sizes = values.sizes().vec();
  sizes.front() = index.size(0);
  auto result = torch::empty(sizes, values.options());
  use_large_pages(result);
  return torch::index_select_out(result, values, 0, index);
}

void limit(Split& part, std::string_view name, std::int64_t count) {
  if (count < 0 || count > part.size()) {
    throw_invalid_argument("a limit of {} {} rows: expected 1 to {}, or 0 for all of them", count, name, part.size());
  }
  if (count == 0) return;
  part.inputs = part.inputs.narrow(0, 0, count);
  part.targets = part.targets.narrow(0, 0, count);
}

}  // namespace

torch::Tensor Split::values(std::int64_t first, std::int64_t rows) const {
  const auto part = inputs.narrow(0, first, rows);
  if (image) return scaled(part, *image);
  return part.scalar_type() == torch::kUInt8 ? scaled(part, bytes) : part;
}

void Split::take_values(const torch::Tensor& index, torch::Tensor& to) const {
  if (image) return take_rows(inputs, index, *image, to);
  if (inputs.scalar_type() == torch::kUInt8) return take_rows(inputs, index, bytes, to);
  take_rows(inputs, index, to);
}

std::string_view kind_name(TaskKind kind) {
  switch (kind) {
    case TaskKind::regression:
      return "regression";
    case TaskKind::binary:
      return "binary";
    case TaskKind::classification:
      return "classification";
  }
  return "";
}

Dataset load_dataset(const DataRequest& request) {
  constexpr std::string_view prefix = "csv:";
  Dataset dataset;
  if (request.task.starts_with(prefix)) {
    const std::string file = request.task.substr(prefix.size());
    if (file.empty()) throw_invalid_argument("task 'csv:' lacks its file; write csv:FILE");
    if (request.target.empty())
      throw_invalid_argument("task {} needs a target: the name of the column to predict", request.task);
    dataset = tabular_dataset(read_csv(file), request.target, request.kind, request.seed);
  } else {
    dataset = load_built_in(request);
  }
  dataset.task = request.task;
  return dataset;
}

Dataset with_validation(Dataset dataset, double fraction, std::uint64_t seed) {
  if (dataset.validation) throw_invalid_argument("task {} has a validation part already", dataset.task);
  const std::int64_t size = dataset.train.size();
  const auto held_out = std::llround(fraction * static_cast<double>(size));
  if (!(fraction > 0.0 && fraction < 1.0) || held_out < 1 || held_out >= size) {
    throw_invalid_argument("a validation fraction of {} leaves no rows to train or to validate on; there are {}",
                           fraction, size);
  }
  const auto order = torch::tensor(permutation(size, seed, Draw::validation_split), torch::kInt64);
  const auto part = [&](std::int64_t start, std::int64_t length) {
    const auto index = order.narrow(0, start, length);
    Split chosen = dataset.train;
    chosen.inputs = rows(dataset.train.inputs, index);
    chosen.targets = rows(dataset.train.targets, index);
    return chosen;
  };
  dataset.validation = part(0, held_out);
  dataset.train = part(held_out, size - held_out);
  return dataset;
}

Dataset limited(Dataset dataset, std::int64_t train_rows, std::int64_t test_rows) {
  const std::int64_t all_train = dataset.train.size();
  const std::int64_t all_test = dataset.test.size();
  limit(dataset.train, "training", train_rows);
  limit(dataset.test, "test", test_rows);
  if (dataset.train.size() != all_train || dataset.test.size() != all_test) {
    dataset.notices.push_back(fmt::format("a trial on the first {} of {} training and {} of {} test rows",
                                          dataset.train.size(), all_train, dataset.test.size(), all_test));
  }
  return dataset;
}

}  // namespace lehi::data
