// The writer of safetensors.h.
#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <tuple>

#include "runtime/message.h"
#include "train/crc32c.h"
#include "train/safetensors.h"
#include "train/safetensors_format.h"

namespace lehi::train {
namespace {

LazyTensor in_memory(const std::string& name, const torch::Tensor& tensor) {
  if (!tensor.defined()) throw_invalid_argument("tensor '{}' is undefined and cannot be saved", name);
  if (tensor.layout() != torch::kStrided)
    throw_invalid_argument("tensor '{}' is sparse; only dense tensors can be saved", name);
  return {name, tensor.scalar_type(), tensor.sizes().vec(), [tensor] { return tensor.detach().cpu(); }};
}

std::vector<const LazyTensor*> in_file_order(const std::vector<LazyTensor>& tensors) {
  std::vector<const LazyTensor*> order;
  order.reserve(tensors.size());
  std::set<std::string_view> names;
  for (const auto& tensor : tensors) {
    if (tensor.name == kMetadataKey) throw_invalid_argument("'{}' is reserved and cannot name a tensor", kMetadataKey);
    if (!names.insert(tensor.name).second)
      throw_invalid_argument("two tensors are named '{}'; names must differ", tensor.name);
    if (safetensors_type(tensor.type) == nullptr) {
      throw_invalid_argument("tensor '{}' has type {}; F32, F64, F16, BF16, I64, I32, U8 and BOOL can be saved",
                             tensor.name, torch::toString(tensor.type));
    }
    order.push_back(&tensor);
  }
  std::sort(order.begin(), order.end(), [](const LazyTensor* left, const LazyTensor* right) {
    return std::make_tuple(safetensors_type(left->type), std::string_view(left->name)) <
           std::make_tuple(safetensors_type(right->type), std::string_view(right->name));
  });
  return order;
}

std::string header_of(const std::vector<const LazyTensor*>& order, const Metadata& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header[kMetadataKey] = metadata;
  std::uint64_t offset = 0;
  for (const auto* tensor : order) {
    const auto end = offset + byte_count(*tensor);
    header[tensor->name] = {
        {"dtype", type_name(tensor->type)}, {"shape", tensor->shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const nlohmann::json::exception&) {
    throw_invalid_argument("a tensor's name or a metadata string is not valid UTF-8 and cannot be saved");
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');
  if (text.size() > kLargestHeader)
    throw_invalid_argument("{} tensors need a header of more than 100 MB", order.size());
  return text;
}

}  // namespace

std::int64_t element_count(const LazyTensor& tensor) {
  std::int64_t count = 1;
  for (const auto size : tensor.shape) count *= size;
  return count;
}

std::uint64_t byte_count(const LazyTensor& tensor) {
  return static_cast<std::uint64_t>(element_count(tensor)) * torch::elementSize(tensor.type);
}

const char* type_name(torch::ScalarType type) {
  const auto* found = safetensors_type(type);
  return found == nullptr ? nullptr : found->name;
}

FileChecksum write_safetensors(OutputFile& file, const std::vector<LazyTensor>& tensors, const Metadata& metadata) {
  FileChecksum written;
  const auto put = [&](const void* data, std::size_t size) {
    const std::string_view bytes(static_cast<const char*>(data), size);
    file.write(bytes);
    written.crc32c = crc32c(bytes, written.crc32c);
    written.bytes += size;
  };
  const auto order = in_file_order(tensors);
  const auto header = header_of(order, metadata);
  const std::uint64_t length = header.size();
  put(&length, sizeof(length));
  put(header.data(), header.size());
  for (const auto* tensor : order) {
    const auto plain = tensor->read().contiguous();
    put(plain.data_ptr(), byte_count(*tensor));
  }
  return written;
}

FileChecksum write_safetensors(OutputFile& file, const NamedTensors& tensors, const Metadata& metadata) {
  std::vector<LazyTensor> lazy;
  lazy.reserve(tensors.size());
  for (const auto& [name, tensor] : tensors) lazy.push_back(in_memory(name, tensor));
  return write_safetensors(file, lazy, metadata);
}

void write_safetensors(const std::filesystem::path& path, const NamedTensors& tensors, const Metadata& metadata) {
  publish_file(path, [&](OutputFile& file) { write_safetensors(file, tensors, metadata); });
}

}  // namespace lehi::train
