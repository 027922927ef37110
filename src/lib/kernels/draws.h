// The random numbers of probes. Each depends only on (seed, step, stream, global row, output) and on its purpose (sign,
// uniform, ...), so that micro-batches, chunks, threads and ranks draw the same numbers.
//
//   key       the first two words of philox(counter = {step low, step high, stream, 0}, key = {seed low, seed high})
//   counter   word 0, 1   global row (RandomKey::first_row + row), low and high half
//             word 2      output index; for signs the index of a group of 128 classes
//             (for rounding, the row is the index of a group of eight weights, and the stream that of the parameter)
//             word 3      purpose in the upper 8 bits; attempt in the lower 24 (rejected Poisson draws, repeated signs)
//
// The sign of class i is bit i % 32 of word (i / 32) % 4 of block i / 128: 1 is +1, 0 is -1.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/philox.h"
#include "lehi/probe.h"

namespace lehi::kernels {

/// 1,024 signs, one per bit.
using SignWords = std::array<std::uint32_t, 32>;

class Draws {
 public:
  explicit Draws(const RandomKey& key);

  /// Fills `signs` with +1 and -1 for the classes of a row; a different `sample` gives independent signs.
  void signs(std::int64_t row, std::int64_t classes, double* signs, std::uint32_t sample = 0) const;

  /// The signs of classes 1024 * index to 1024 * index + 1023 as bits, from the lowest bit of the first word on.
  void sign_words(std::int64_t row, std::int64_t index, SignWords& words) const;

  /// Uniform in [0, 1), 53 bits.
  double uniform(std::int64_t row, std::int64_t output) const;

  /// Standard normal (Box and Muller).
  double normal(std::int64_t row, std::int64_t output) const;

  /// y - rate with y drawn from the Poisson distribution: by inversion below rate 10, by Hormann's transformed
  /// rejection (PTRS, 1993) up to 1e8, and as a normal number above, where the skewness is below 1e-4.
  double centred_poisson(std::int64_t row, std::int64_t output, double rate) const;

  /// Eight uniform 16-bit numbers, for rounding the weights 8 * group to 8 * group + 7.
  std::array<std::uint16_t, 8> sixteen_bits(std::int64_t group) const;

 private:
  enum class Purpose : std::uint32_t { sign = 1, uniform = 2, normal = 3, poisson = 4, rounding = 5 };

  PhiloxBlock counter_of(Purpose purpose, std::int64_t row, std::int64_t index, std::uint32_t attempt) const;
  PhiloxBlock block(Purpose purpose, std::int64_t row, std::int64_t index, std::uint32_t attempt) const;

  PhiloxKey key_;
  std::uint64_t first_row_;
};

}  // namespace lehi::kernels
