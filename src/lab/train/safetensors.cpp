#include "train/safetensors.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <tuple>

#include "base/failure.h"
#include "runtime/message.h"
#include "train/crc32c.h"
#include "train/json_file.h"

namespace lehi::train {
namespace {

using nlohmann::json;
static_assert(std::endian::native == std::endian::little, "the format stores little-endian numbers");

constexpr std::uint64_t kLargestHeader = 100'000'000;  // as in the reference implementation
constexpr std::size_t kHighestRank = 32;
constexpr const char* kMetadataKey = "__metadata__";

struct Type {
  const char* name;
  torch::ScalarType scalar;
  std::int64_t bytes;
};

/// In the order that tensors are written.
constexpr std::array kTypes = {Type{"I64", torch::kInt64, 8},     Type{"F64", torch::kFloat64, 8},
                               Type{"F32", torch::kFloat32, 4},   Type{"I32", torch::kInt32, 4},
                               Type{"BF16", torch::kBFloat16, 2}, Type{"F16", torch::kFloat16, 2},
                               Type{"U8", torch::kUInt8, 1},      Type{"BOOL", torch::kBool, 1}};

const Type* type_of(torch::ScalarType scalar) {
  const auto* found =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const Type& type) { return type.scalar == scalar; });
  return found == kTypes.end() ? nullptr : found;
}

// ---- writing ----

LazyTensor in_memory(const std::string& name, const torch::Tensor& tensor) {
  if (!tensor.defined()) throw_invalid_argument("tensor '{}' is undefined and cannot be saved", name);
  if (tensor.layout() != torch::kStrided)
    throw_invalid_argument("tensor '{}' is sparse; only dense tensors can be saved", name);
  return {name, tensor.scalar_type(), tensor.sizes().vec(), [tensor] { return tensor.detach().cpu(); }};
}

std::vector<const LazyTensor*> in_file_order(const std::vector<LazyTensor>& tensors) {
  std::vector<const LazyTensor*> order;
  std::set<std::string_view> names;
  for (const auto& tensor : tensors) {
    if (tensor.name == kMetadataKey) throw_invalid_argument("'{}' is reserved and cannot name a tensor", kMetadataKey);
    if (!names.insert(tensor.name).second)
      throw_invalid_argument("two tensors are named '{}'; names must differ", tensor.name);
    if (type_of(tensor.type) == nullptr) {
      throw_invalid_argument("tensor '{}' has type {}; F32, F64, F16, BF16, I64, I32, U8 and BOOL can be saved",
                             tensor.name, torch::toString(tensor.type));
    }
    order.push_back(&tensor);
  }
  std::sort(order.begin(), order.end(), [](const LazyTensor* left, const LazyTensor* right) {
    return std::make_tuple(type_of(left->type), std::string_view(left->name)) <
           std::make_tuple(type_of(right->type), std::string_view(right->name));
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
  } catch (const json::exception&) {
    throw_invalid_argument("a tensor's name or a metadata text is not valid UTF-8 and cannot be saved");
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');
  if (text.size() > kLargestHeader)
    throw_invalid_argument("{} tensors need a header of more than 100 MB", order.size());
  return text;
}

// ---- reading ----

[[noreturn]] void damaged(const std::filesystem::path& path, const std::string& why) {
  throw FileError(fmt::format("{} is not a valid safetensors file: {}", path.string(), why));
}

/// The product, or nothing where an int64 cannot hold it. Zeros count as ones: strides multiply the other sizes.
std::optional<std::int64_t> checked_bytes(const std::vector<std::int64_t>& shape, std::int64_t element_bytes) {
  std::int64_t product = element_bytes;
  for (const auto size : shape) {
    if (__builtin_mul_overflow(product, std::max<std::int64_t>(size, 1), &product)) return std::nullopt;
  }
  return std::find(shape.begin(), shape.end(), 0) == shape.end() ? product : 0;
}

struct TensorEntry {
  std::string name;
  const Type* type = nullptr;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;  // among the tensors' bytes
  std::uint64_t end = 0;
};

TensorEntry read_entry(const std::string& name, const json& value, const std::string& where) {
  TensorEntry entry;
  entry.name = name;
  const auto type_name = text_field(value, "dtype", where);
  for (const auto& type : kTypes) {
    if (type_name == type.name) entry.type = &type;
  }
  if (entry.type == nullptr)
    throw FileError(fmt::format("{}: 'dtype' {} is not supported", where, in_quotes(type_name)));

  const auto integers = [&](const char* key) {
    const auto& list = field(value, key, where);
    if (!list.is_array()) throw FileError(fmt::format("{}: '{}' is not a list", where, key));
    std::vector<std::int64_t> numbers;
    for (const auto& number : list) numbers.push_back(count_field(json{{key, number}}, key, where));
    return numbers;
  };
  entry.shape = integers("shape");
  const auto offsets = integers("data_offsets");
  if (offsets.size() != 2 || offsets[0] > offsets[1]) {
    throw FileError(fmt::format("{}: 'data_offsets' must be a begin and an end", where));
  }
  entry.begin = static_cast<std::uint64_t>(offsets[0]);
  entry.end = static_cast<std::uint64_t>(offsets[1]);

  const auto bytes = checked_bytes(entry.shape, entry.type->bytes);
  if (!bytes || static_cast<std::uint64_t>(*bytes) != entry.end - entry.begin) {
    throw FileError(fmt::format("{}: its shape and type need {} bytes, 'data_offsets' give {}", where,
                                bytes ? std::to_string(*bytes) : "too many", entry.end - entry.begin));
  }
  return entry;
}

Metadata read_metadata(const json& value, const std::string& where) {
  Metadata metadata;
  if (!value.is_object()) throw FileError(fmt::format("{} is not an object of texts", where));
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string()) throw FileError(fmt::format("{}: {} is not a text", where, in_quotes(key)));
    metadata[key] = text.get<std::string>();
  }
  return metadata;
}

/// The tensors that a header names, in any order. Its document, which is larger, is gone afterwards.
std::vector<TensorEntry> read_header(InputFile& file, std::uint64_t length, Metadata& metadata) {
  std::string text(length, '\0');
  file.read(text.data(), text.size());
  const auto where = fmt::format("the header of {}", file.path().string());
  const auto header = parse_json(text, where, {.depth = 3, .list_size = kHighestRank});
  if (!header.is_object()) damaged(file.path(), "its header is not a JSON object");
  std::vector<TensorEntry> entries;
  for (const auto& [name, value] : header.items()) {
    if (name == kMetadataKey) {
      metadata = read_metadata(value, fmt::format("{}, {}", where, name));
    } else {
      entries.push_back(read_entry(name, value, fmt::format("{}, tensor {}", where, in_quotes(name))));
    }
  }
  return entries;
}

torch::Tensor read_tensor(const InputFile& file, std::uint64_t offset, const TensorEntry& entry) {
  auto tensor = torch::empty(entry.shape, torch::TensorOptions().dtype(entry.type->scalar));
  const std::size_t bytes = entry.end - entry.begin;
  file.read_at(offset + entry.begin, tensor.data_ptr(), bytes);
  if (entry.type->scalar == torch::kBool) {  // another byte in a bool is undefined behaviour
    const auto* at = static_cast<const unsigned char*>(tensor.data_ptr());
    if (std::any_of(at, at + bytes, [](unsigned char byte) { return byte > 1; })) {
      damaged(file.path(), fmt::format("BOOL tensor {} holds a byte that is neither 0 nor 1", in_quotes(entry.name)));
    }
  }
  return tensor;
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
  const auto* found = type_of(type);
  return found == nullptr ? nullptr : found->name;
}

Written write_safetensors(OutputFile& file, const std::vector<LazyTensor>& tensors, const Metadata& metadata) {
  Written written;
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

Written write_safetensors(OutputFile& file, const NamedTensors& tensors, const Metadata& metadata) {
  std::vector<LazyTensor> lazy;
  for (const auto& [name, tensor] : tensors) lazy.push_back(in_memory(name, tensor));
  return write_safetensors(file, lazy, metadata);
}

void write_safetensors(const std::filesystem::path& path, const NamedTensors& tensors, const Metadata& metadata) {
  publish_file(path, [&](OutputFile& file) { write_safetensors(file, tensors, metadata); });
}

LazyTensors open_safetensors(const std::filesystem::path& path) {
  const base::Activity reading(fmt::format("read {}", path.string()));
  const auto file = std::make_shared<InputFile>(path);
  std::uint64_t length = 0;
  if (file->size() < sizeof(length)) damaged(path, fmt::format("it has only {} bytes", file->size()));
  file->read(&length, sizeof(length));
  const std::uint64_t rest = file->size() - sizeof(length);
  if (length > kLargestHeader || length > rest) {
    damaged(path, fmt::format("its header claims {} bytes, the file has {} (and 100000000 are allowed)", length, rest));
  }
  LazyTensors result;
  auto entries = read_header(*file, length, result.metadata);
  std::sort(entries.begin(), entries.end(), [](const TensorEntry& left, const TensorEntry& right) {
    return std::tie(left.begin, left.end, left.name) < std::tie(right.begin, right.end, right.name);
  });
  std::uint64_t offset = 0;
  for (const auto& entry : entries) {
    if (entry.begin != offset) {
      damaged(path, fmt::format("tensor {} begins at byte {}, expected {}: its data overlap or leave a hole",
                                in_quotes(entry.name), entry.begin, offset));
    }
    offset = entry.end;
  }
  if (offset != rest - length) {
    damaged(path, fmt::format("its tensors take {} bytes, the file has {}", offset, rest - length));
  }
  for (const auto& entry : entries) {
    result.tensors.push_back(
        {entry.name, entry.type->scalar, entry.shape,
         [file, entry, begin = sizeof(length) + length] { return read_tensor(*file, begin, entry); }});
  }
  return result;
}

SafetensorsFile read_safetensors(const std::filesystem::path& path) {
  auto [tensors, metadata] = open_safetensors(path);
  SafetensorsFile result{{}, std::move(metadata)};
  for (const auto& tensor : tensors) result.tensors.emplace_back(tensor.name, tensor.read());
  return result;
}

}  // namespace lehi::train
