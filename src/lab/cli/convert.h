// `lehi convert IN OUT`: a model's weights in another format or type.
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
  std::string out;  ///< .safetensors, .bin of llm.c, or a folder
  std::optional<torch::ScalarType> dtype;
  std::uint64_t shard_size = 5'000'000'000;  ///< bytes
  bool force = false;                        ///< replace what is there
  bool json = false;
};

ConvertConfig parse_convert(const Arguments& arguments);

int run_convert(const ConvertConfig& config, std::ostream& out, std::ostream& err);

}  // namespace lehi::cli
