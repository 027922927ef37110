// The safetensors format of Hugging Face's tools: an 8-byte little-endian header length, a JSON header padded with
// spaces to a multiple of 8, then the tensors' bytes without gaps. The writer orders tensors as the reference
// implementation does (wider types first, so that every tensor is aligned; then by name): equal contents give equal
// files. The reader checks everything in the file and allocates no more than the file's size.
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

/// A tensor that is read on demand: a file larger than the memory is processed one tensor at a time.
struct LazyTensor {
  std::string name;
  torch::ScalarType type = torch::kFloat32;
  std::vector<std::int64_t> shape;
  std::function<torch::Tensor()> read;  ///< on the CPU, of this type and shape; throws FileError
};
std::int64_t element_count(const LazyTensor& tensor);
std::uint64_t byte_count(const LazyTensor& tensor);

struct LazyTensors {
  std::vector<LazyTensor> tensors;  ///< in the order of the file's data; each keeps the file open
  Metadata metadata;
};

/// "F32" and so on; nullptr for a type that the format does not have.
const char* type_name(torch::ScalarType type);

/// Publishes the file (files/publish.h). Types F32, F64, F16, BF16, I64, I32, U8, BOOL; dense tensors of any strides
/// and device. Throws std::invalid_argument for anything else, for a repeated name and for the reserved name
/// "__metadata__".
void write_safetensors(const std::filesystem::path& path, const NamedTensors& tensors, const Metadata& metadata = {});

struct FileChecksum {
  std::uint64_t bytes = 0;
  std::uint32_t crc32c = 0;
};

/// Writes the same bytes to an open file; returns their number and checksum.
FileChecksum write_safetensors(OutputFile& file, const NamedTensors& tensors, const Metadata& metadata = {});
/// The same with one tensor in memory at a time.
FileChecksum write_safetensors(OutputFile& file, const std::vector<LazyTensor>& tensors, const Metadata& metadata = {});

/// Reads the header only. FileError if the file is damaged or not a safetensors file.
LazyTensors open_safetensors(const std::filesystem::path& path);

/// Reads all tensors.
SafetensorsFile read_safetensors(const std::filesystem::path& path);

}  // namespace lehi::train
