// GPT-2 checkpoints of llm.c: 256 little-endian 32-bit words, then the parameters; each kind for all layers in turn.
//
//   words        20240326, version (3: float32, 5: bfloat16), positions, vocabulary, layers, heads, width D, rows of
//                the embedding; the rest 0
//   parameters   wte, wpe; of every layer: ln_1, attn.c_attn, attn.c_proj, ln_2, mlp.c_fc, mlp.c_proj; ln_f
//
// Matrices are stored as [out, in], Hugging Face's as [in, out]: they are transposed when read or written. The rows of
// the embedding beyond the vocabulary are padding: dropped when read, zeros up to a multiple of 128 when written.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "train/safetensors.h"

namespace lehi::train {

/// The parameters with Hugging Face's names and layout. FileError unless the file has exactly the size that its header
/// implies.
LazyTensors open_llmc_weights(const std::filesystem::path& path);

/// The config.json of such a checkpoint. The number of heads is not in the tensors.
std::string llmc_model_config(const std::filesystem::path& path);

/// Publishes GPT-2's parameters, all F32 or all BF16, as such a checkpoint; `source` names them in messages. The number
/// of heads is that of `config`, the contents of a config.json; if that is "", the width divided by 64, but only for
/// the widths of OpenAI's four models.
void write_llmc_weights(const std::filesystem::path& path, const std::vector<LazyTensor>& tensors,
                        const std::string& config, const std::filesystem::path& source);

}  // namespace lehi::train
