// Readers of src/lab/data: tables, images, compressed files.
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>

#include "data/byte_source.h"
#include "data/bytes.h"
#include "data/cifar.h"
#include "data/csv.h"
#include "data/error.h"
#include "data/idx.h"
#include "data/tabular.h"
#include "harness.h"
#include "targets.h"

namespace lehi::fuzz {

using data::DataError;

namespace {

void check_table(const data::Table& table) {
  const auto rows = static_cast<std::size_t>(table.rows());
  std::set<std::string> names;
  for (const auto& column : table.columns) {
    require(!column.name.empty() && names.insert(column.name).second, "a column has no name or the name of another");
    if (column.numeric()) {
      require(column.numbers().size() == rows, "a column is shorter than its table");
      for (const double number : column.numbers()) require(std::isfinite(number), "a number is not finite");
    } else {
      require(column.strings().size() == rows, "a column is shorter than its table");
    }
  }
  require(std::is_sorted(table.lines.begin(), table.lines.end()), "rows are not in the order of their lines");
}

bool all_finite(const torch::Tensor& values) {
  const auto flat = values.to(torch::kFloat32).contiguous();
  const auto* at = flat.data_ptr<float>();
  return std::all_of(at, at + flat.numel(), [](float value) { return std::isfinite(value); });
}

template <class Read>
std::string read_all(std::size_t piece_size, Read read) {
  std::string bytes;
  std::vector<char> piece(piece_size);
  while (const std::size_t count = read(piece.data(), piece_size)) bytes.append(piece.data(), count);
  return bytes;
}

}  // namespace

void fuzz_csv(std::string_view input) {
  const auto table = accepted<DataError>([&] { return data::parse_csv(std::string(input), "a.csv"); });
  if (!table) return;
  check_table(*table);
  const auto dataset =
      accepted<DataError>([&] { return data::tabular_dataset(*table, table->columns.back().name, "", input.size()); });
  if (!dataset) return;
  require(dataset->train.inputs.size(0) + dataset->test.inputs.size(0) == table->rows(), "rows were lost");
  require(dataset->train.inputs.size(1) == dataset->inputs, "the number of inputs is wrong");
  require(all_finite(dataset->train.inputs) && all_finite(dataset->test.inputs), "an input is not finite");
  require(all_finite(dataset->train.targets) && all_finite(dataset->test.targets), "a target is not finite");
}

void fuzz_idx(std::string_view input) {
  const auto file = input_file("idx", input);
  for (const int dimensions : {1, 3}) {
    const auto values = accepted<DataError>([&] { return data::read_idx(file, dimensions); });
    if (!values) continue;
    allow(static_cast<std::size_t>(values->numel()));
    require(values->dim() == dimensions && values->numel() > 0, "the tensor does not have the requested shape");
  }
}

void fuzz_cifar(std::string_view input) {
  const auto file = input_file("cifar.bin", input);
  for (const std::int64_t classes : {10, 100}) {
    const auto dataset = accepted<DataError>([&] { return data::cifar_dataset({file, {}, file}, classes); });
    if (!dataset) continue;
    const auto& targets = dataset->train.targets;
    allow(2 * static_cast<std::size_t>(dataset->train.inputs.numel()));  // the same file is read twice
    require(targets.min().item<std::int64_t>() >= 0 && targets.max().item<std::int64_t>() < classes,
            "a class is out of range");
    require(dataset->train.inputs.size(0) == targets.size(0), "images and classes differ in number");
  }
}

// Reads the file at once, in pieces of 7 bytes, and, if it is gzip, with zlib's gzread(); the results must be equal.
void fuzz_gzip(std::string_view input) {
  const auto file = input_file("packed", input);
  const auto whole = accepted<DataError>([&] { return data::read_bytes(file); });
  if (!whole) return;
  allow(2 * whole->size());
  const auto pieces = accepted<DataError>([&] {
    data::ByteSource source(file, data::default_byte_limit);
    return read_all(7, [&](char* to, std::size_t size) { return source.read(to, size); });
  });
  require(pieces == whole, "a file read in pieces differs from the same file read whole");
  if (!input.starts_with("\x1f\x8b")) return;
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> zlib(gzopen(file.c_str(), "rb"), &gzclose);
  require(zlib != nullptr, "zlib can't open the file");
  const auto expected = read_all(65536, [&](char* to, std::size_t size) {
    const int count = gzread(zlib.get(), to, static_cast<unsigned>(size));
    require(count >= 0, "zlib rejects a file that was accepted");
    return static_cast<std::size_t>(count);
  });
  require(expected == *whole, "zlib decompresses the file to other bytes");
}

}  // namespace lehi::fuzz
