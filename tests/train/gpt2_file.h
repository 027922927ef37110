// A small GPT-2 in llm.c's format, written independently of src/: each value depends on its place.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace lehi::testing {

struct SmallGpt2 {
  std::int32_t positions = 3;
  std::int32_t vocabulary = 5;
  std::int32_t layers = 2;
  std::int32_t heads = 2;
  std::int32_t width = 4;
  std::int32_t rows = 128;
};

/// The value of element `index` of tensor number `kind` in llm.c's order, for `layer`: a small number that float32 and
/// bfloat16 hold.
inline float gpt2_value(int kind, int layer, int index) {
  return static_cast<float>((kind * 37 + layer * 11 + index * 3) % 251 - 120) / 8.0F;
}

inline std::string gpt2_words(const SmallGpt2& model, std::int32_t version) {
  std::array<std::int32_t, 256> words = {20240326,     version,     model.positions, model.vocabulary,
                                         model.layers, model.heads, model.width,     model.rows};
  return {reinterpret_cast<const char*>(words.data()), sizeof(words)};
}

/// The bytes of the file, float32 (version 3) or bfloat16 (version 5: the upper halves).
inline std::string gpt2_file(const SmallGpt2& model = {}, std::int32_t version = 3) {
  const int c = model.width;
  const int once = 0;
  struct Kind {
    int layers;
    int elements;
  };
  const std::vector<Kind> kinds = {{once, model.rows * c},
                                   {once, model.positions * c},
                                   {model.layers, c},
                                   {model.layers, c},
                                   {model.layers, 3 * c * c},
                                   {model.layers, 3 * c},
                                   {model.layers, c * c},
                                   {model.layers, c},
                                   {model.layers, c},
                                   {model.layers, c},
                                   {model.layers, 4 * c * c},
                                   {model.layers, 4 * c},
                                   {model.layers, 4 * c * c},
                                   {model.layers, c},
                                   {once, c},
                                   {once, c}};
  auto bytes = gpt2_words(model, version);
  for (int kind = 0; kind < static_cast<int>(kinds.size()); ++kind) {
    for (int layer = 0; layer < std::max(kinds[kind].layers, 1); ++layer) {
      for (int i = 0; i < kinds[kind].elements; ++i) {
        const bool padding = kind == 0 && i >= model.vocabulary * c;
        const float value = padding ? 0.0F : gpt2_value(kind, layer, i);
        std::array<char, 4> word{};
        std::memcpy(word.data(), &value, sizeof(value));
        bytes += version == 3 ? std::string(word.data(), 4) : std::string(word.data() + 2, 2);
      }
    }
  }
  return bytes;
}

}  // namespace lehi::testing
