// GPT-2 small as a LibTorch user writes it, with torch::nn and torch::optim::AdamW.
#pragma once

#include <torch/types.h>

#include <functional>

namespace lehi::bench {

/// A step of AdamW on the model and this batch, [rows, tokens] each; returns the loss.
std::function<double()> torch_gpt2_step(const torch::Tensor& inputs, const torch::Tensor& targets);

}  // namespace lehi::bench
