// The reader of safetensors.h.
#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

#include "base/failure.h"
#include "train/json_file.h"
#include "train/safetensors.h"
#include "train/safetensors_format.h"

namespace lehi::train {
namespace {

using nlohmann::json;

constexpr std::size_t kMostDimensions = 32;

[[noreturn]] void damaged(const std::filesystem::path& path, const std::string& why) {
  throw FileError(fmt::format("{} is not a valid safetensors file: {}", path.string(), why));
}

/// The bytes of a tensor; none if they exceed an int64. Also none if only a size of 0 prevents that, since strides are
/// products of the other sizes.
std::optional<std::int64_t> checked_bytes(const std::vector<std::int64_t>& shape, std::int64_t element_bytes) {
  std::int64_t product = element_bytes;
  for (const auto size : shape) {
    if (__builtin_mul_overflow(product, std::max<std::int64_t>(size, 1), &product)) return std::nullopt;
  }
  return std::find(shape.begin(), shape.end(), 0) == shape.end() ? product : 0;
}

struct TensorEntry {
  std::string name;
  const SafetensorsType* type = nullptr;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;  ///< offset in the tensors' bytes
  std::uint64_t end = 0;
};

TensorEntry read_entry(const std::string& name, const json& value, const std::string& where) {
  TensorEntry entry;
  entry.name = name;
  const auto type_name = text_field(value, "dtype", where);
  for (const auto& type : kSafetensorsTypes) {
    if (type_name == type.name) entry.type = &type;
  }
  if (entry.type == nullptr)
    throw FileError(fmt::format("{}: 'dtype' {} is not supported", where, in_quotes(type_name)));

  const auto integers = [&](const char* key) {
    const auto& list = field(value, key, where);
    if (!list.is_array()) throw FileError(fmt::format("{}: '{}' is not a list", where, key));
    std::vector<std::int64_t> numbers;
    numbers.reserve(list.size());
    for (const auto& number : list) numbers.push_back(count_field(json{{key, number}}, key, where));
    return numbers;
  };
  entry.shape = integers("shape");
  const auto offsets = integers("data_offsets");
  if (offsets.size() != 2 || offsets[0] > offsets[1]) {
    throw FileError(fmt::format("{}: 'data_offsets' must be [begin, end]", where));
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
  if (!value.is_object()) throw FileError(fmt::format("{} must be a JSON object with string values", where));
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string()) throw FileError(fmt::format("{}: {} must be a string", where, in_quotes(key)));
    metadata[key] = text.get<std::string>();
  }
  return metadata;
}

/// The tensors that a header lists, in its order. The parsed header, which takes more memory, is freed on return.
std::vector<TensorEntry> read_header(InputFile& file, std::uint64_t length, Metadata& metadata) {
  std::string text(length, '\0');
  file.read(text.data(), text.size());
  const auto where = fmt::format("the header of {}", file.path().string());
  const auto header = parse_json(text, where, {.depth = 3, .list_size = kMostDimensions});
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
  if (entry.type->scalar == torch::kBool) {  // any other byte in a bool is undefined behaviour
    const auto* at = static_cast<const unsigned char*>(tensor.data_ptr());
    if (std::any_of(at, at + bytes, [](unsigned char byte) { return byte > 1; })) {
      damaged(file.path(),
              fmt::format("BOOL tensor {} contains a byte that is neither 0 nor 1", in_quotes(entry.name)));
    }
  }
  return tensor;
}

}  // namespace

LazyTensors open_safetensors(const std::filesystem::path& path) {
  const base::Activity reading(fmt::format("read {}", path.string()));
  const auto file = std::make_shared<InputFile>(path);
  std::uint64_t length = 0;
  if (file->size() < sizeof(length)) damaged(path, fmt::format("it has only {} bytes", file->size()));
  file->read(&length, sizeof(length));
  const std::uint64_t rest = file->size() - sizeof(length);
  if (length > kLargestHeader || length > rest) {
    damaged(path,
            fmt::format("its header claims {} bytes, the file has {} (at most 100000000 are allowed)", length, rest));
  }
  LazyTensors result;
  auto entries = read_header(*file, length, result.metadata);
  std::sort(entries.begin(), entries.end(), [](const TensorEntry& left, const TensorEntry& right) {
    return std::tie(left.begin, left.end, left.name) < std::tie(right.begin, right.end, right.name);
  });
  std::uint64_t offset = 0;
  for (const auto& entry : entries) {
    if (entry.begin != offset) {
      damaged(path, fmt::format("tensor {} begins at byte {}, expected {}: the data overlap or leave a gap",
                                in_quotes(entry.name), entry.begin, offset));
    }
    offset = entry.end;
  }
  if (offset != rest - length) {
    damaged(path, fmt::format("its tensors take {} bytes, the file has {}", offset, rest - length));
  }
  result.tensors.reserve(entries.size());
  for (const auto& entry : entries) {
    result.tensors.push_back(
        {entry.name, entry.type->scalar, entry.shape,
         [file = file, entry = entry, begin = sizeof(length) + length] { return read_tensor(*file, begin, entry); }});
  }
  return result;
}

SafetensorsFile read_safetensors(const std::filesystem::path& path) {
  auto [tensors, metadata] = open_safetensors(path);
  SafetensorsFile result{{}, std::move(metadata)};
  result.tensors.reserve(tensors.size());
  for (const auto& tensor : tensors) result.tensors.emplace_back(tensor.name, tensor.read());
  return result;
}

}  // namespace lehi::train
