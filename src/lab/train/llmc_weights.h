// GPT-2 checkpoints of llm.c: 256 little-endian 32-bit words, then the parameters, each kind for all layers together.
//
//   words        20240326, version (3: float32, 5: bfloat16), positions, vocabulary, layers, heads, width D, rows of
//                the embedding; the rest 0
//   parameters   wte, wpe; of every layer: ln_1, attn.c_attn, attn.c_proj, ln_2, mlp.c_fc, mlp.c_proj; ln_f
//
// Matrices are stored [out, in], Hugging Face's are [in, out]: they are transposed on the way. The embedding's rows
// beyond the vocabulary only pad it (to a multiple of 128, zeros, when we write) and are dropped.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "train/safetensors.h"

namespace lehi::train {

/// The parameters under Hugging Face's names and in their layout. FileError unless the file has exactly the size that
/// its first words need.
LazyTensors open_llmc_weights(const std::filesystem::path& path);

/// The config.json of such a checkpoint: what the tensors alone do not say is the number of heads.
std::string llmc_model_config(const std::filesystem::path& path);

/// Publishes GPT-2's parameters, all of F32 or all of BF16, as such a checkpoint; `source` names them in messages. The
/// number of heads is that of `config`, the text of a config.json; where that is "", one for every 64 of the width, as
/// in all GPT-2 models.
void write_llmc_weights(const std::filesystem::path& path, const std::vector<LazyTensor>& tensors,
                        const std::string& config, const std::filesystem::path& source);

}  // namespace lehi::train
