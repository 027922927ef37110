// The safetensors format, which Hugging Face's tools read and write: an 8-byte little-endian header length, a JSON
// header padded with spaces to a multiple of 8, then the tensors' bytes without holes. The writer orders tensors as the
// reference implementation does (wider types first, so that every tensor is aligned; then by name), so equal contents
// give equal files. The reader takes nothing in the file on trust and allocates no more than the file holds.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "files/files.h"

namespace lehi::train {

using NamedTensors = std::vector<std::pair<std::string, torch::Tensor>>;
using Metadata = std::map<std::string, std::string>;

struct SafetensorsFile {
  NamedTensors tensors;  ///< on the CPU, in the order of the file's data
  Metadata metadata;
};

/// A tensor that is made when it is asked for: files larger than the memory pass one tensor at a time.
struct LazyTensor {
  std::string name;
  torch::ScalarType type = torch::kFloat32;
  std::vector<std::int64_t> shape;
  std::function<torch::Tensor()> read;  ///< on the CPU, of this type and shape; throws FileError
};
std::int64_t element_count(const LazyTensor& tensor);
std::uint64_t byte_count(const LazyTensor& tensor);

struct LazyTensors {
  std::vector<LazyTensor> tensors;  ///< in the order of the file's data; they keep the file open
  Metadata metadata;
};

/// "F32" and so on; nullptr for a type that can't be saved.
const char* type_name(torch::ScalarType type);

/// Publishes the file whole or not at all. Types F32, F64, F16, BF16, I64, I32, U8, BOOL; any layout, device and
/// strides but sparse; std::invalid_argument for anything else, for a repeated name and for the reserved name
/// "__metadata__".
void write_safetensors(const std::filesystem::path& path, const NamedTensors& tensors, const Metadata& metadata = {});

struct Written {
  std::uint64_t bytes = 0;
  std::uint32_t crc32c = 0;
};

/// The same bytes into a file that is already open; returns their number and checksum.
Written write_safetensors(OutputFile& file, const NamedTensors& tensors, const Metadata& metadata = {});
/// The same, with one of the tensors in memory at a time.
Written write_safetensors(OutputFile& file, const std::vector<LazyTensor>& tensors, const Metadata& metadata = {});

/// Reads the header only. Throws FileError with a sentence for every way in which a file can be damaged or no
/// safetensors file at all.
LazyTensors open_safetensors(const std::filesystem::path& path);

/// The same, read whole.
SafetensorsFile read_safetensors(const std::filesystem::path& path);

}  // namespace lehi::train
