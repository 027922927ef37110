// GPT-2 small as a user of LibTorch would write it, with torch::nn and torch::optim::AdamW.
#pragma once

#include <torch/types.h>

#include <functional>

namespace lehi::bench {

/// A function that takes an AdamW step on this batch and returns the loss. Both tensors are [rows, tokens].
std::function<double()> torch_gpt2_step(const torch::Tensor& inputs, const torch::Tensor& targets);

}  // namespace lehi::bench
