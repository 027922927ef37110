// `lehi convert IN OUT`: writes a model's weights in another file format or number type.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>

#include "cli/command.h"

namespace lehi::cli {

struct ConvertConfig {
  std::string in;
  std::string out;  ///< .safetensors, .bin of llm.c, or a directory
  std::optional<torch::ScalarType> dtype;
  std::uint64_t shard_size = 5'000'000'000;  ///< largest file in a directory, in bytes
  bool force = false;                        ///< replace existing files
  bool json = false;
};

ConvertConfig parse_convert(const Arguments& arguments);

int run_convert(const ConvertConfig& config, std::ostream& out, std::ostream& err);

}  // namespace lehi::cli
