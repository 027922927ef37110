// Shared by the tests of networks.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "model/network.h"

namespace lehi::testing {

using Delivered = std::map<std::string, std::vector<torch::Tensor>>;

/// What a backward pass delivers, one tensor a cotangent, by the parameter's name. Checks that none is delivered twice.
inline Delivered delivered_by(const model::Network& network, const Differentiable& pass,
                              const std::vector<torch::Tensor>& cotangents) {
  Delivered delivered;
  pass.pull_back(cotangents, [&](const torch::Tensor& parameter, const std::vector<torch::Tensor>& pulled) {
    for (const auto& item : network.named_parameters()) {
      if (!item.value().is_same(parameter)) continue;
      EXPECT_TRUE(delivered.emplace(item.key(), pulled).second) << item.key() << " was delivered twice";
    }
  });
  return delivered;
}

}  // namespace lehi::testing
