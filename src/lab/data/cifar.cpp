#include "data/cifar.h"

#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "data/bytes.h"
#include "data/error.h"
#include "data/rows.h"

namespace lehi::data {
namespace {

constexpr std::int64_t cifar_side = 32;
constexpr std::size_t cifar_channels = 3;
constexpr std::size_t cifar_pixels = cifar_channels * cifar_side * cifar_side;

struct CifarLabel {
  const char* name;
  std::int64_t values;
};

struct CifarFormat {
  std::vector<CifarLabel> labels;           // one byte each; the last is the class
  std::array<double, cifar_channels> mean;  // of the training images, rounded as in common use
  std::array<double, cifar_channels> std;

  std::size_t record() const { return labels.size() + cifar_pixels; }
};

CifarFormat cifar_format(std::int64_t classes) {
  if (classes == 10) return {{{"label", 10}}, {0.4914, 0.4822, 0.4465}, {0.2470, 0.2435, 0.2616}};
  return {{{"coarse label", 20}, {"fine label", 100}}, {0.5071, 0.4865, 0.4409}, {0.2673, 0.2564, 0.2762}};
}

ImageScale cifar_scale(const CifarFormat& format) {
  ImageScale image{.side = cifar_side, .channels = {}};
  image.channels.reserve(cifar_channels);
  for (std::size_t c = 0; c < cifar_channels; ++c) {
    image.channels.push_back(
        {static_cast<float>(1 / (255 * format.std[c])), static_cast<float>(-format.mean[c] / format.std[c])});
  }
  return image;
}

std::string read_records(const std::filesystem::path& file, const CifarFormat& format) {
  std::string bytes = read_bytes(file);
  const std::size_t record = format.record();
  if (bytes.empty() || bytes.size() % record != 0) {
    throw_data_error("{} holds {} bytes; expected a multiple of {}, the size of a record; get the file again",
                     file.string(), bytes.size(), record);
  }
  for (std::size_t at = 0; at < bytes.size(); at += record) {
    for (std::size_t i = 0; i < format.labels.size(); ++i) {
      const auto& [name, values] = format.labels[i];
      const auto found = static_cast<unsigned char>(bytes[at + i]);
      if (found < values) continue;
      throw_data_error("{}: record {} of {} has the {} {}; expected 0 to {}; get the file again", file.string(),
                       at / record + 1, bytes.size() / record, name, found, values - 1);
    }
  }
  return bytes;
}

Split cifar_split(const std::vector<std::filesystem::path>& files, const CifarFormat& format) {
  const std::size_t record = format.record();
  std::vector<std::string> contents;
  contents.reserve(files.size());
  std::size_t count = 0;
  for (const auto& file : files) {
    if (file.empty()) continue;
    contents.push_back(read_records(file, format));
    count += contents.back().size() / record;
  }
  const auto rows = static_cast<std::int64_t>(count);
  Split split;
  split.image = cifar_scale(format);
  split.inputs = torch::empty({rows, static_cast<std::int64_t>(cifar_pixels)}, torch::kUInt8);
  split.targets = torch::empty({rows}, torch::kInt64);
  use_large_pages(split.inputs);
  auto* pixels_to = split.inputs.data_ptr<std::uint8_t>();
  auto* class_to = split.targets.data_ptr<std::int64_t>();
  for (std::string& bytes : contents) {
    for (std::size_t at = 0; at < bytes.size(); at += record) {
      const char* image = bytes.data() + at + format.labels.size();
      *class_to++ = static_cast<unsigned char>(image[-1]);
      std::memcpy(pixels_to, image, cifar_pixels);
      pixels_to += cifar_pixels;
    }
    std::string().swap(bytes);  // frees up to 150 MB
  }
  return split;
}

}  // namespace

Dataset cifar_dataset(const std::vector<std::filesystem::path>& files, std::int64_t classes) {
  const CifarFormat format = cifar_format(classes);
  Dataset dataset;
  dataset.kind = TaskKind::classification;
  dataset.inputs = static_cast<std::int64_t>(cifar_pixels);
  dataset.outputs = classes;
  dataset.train = cifar_split({files.begin(), files.end() - 1}, format);
  dataset.test = cifar_split({files.back()}, format);
  return dataset;
}

}  // namespace lehi::data
