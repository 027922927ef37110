#include "data/permutation.h"

#include <limits>
#include <numeric>
#include <random>
#include <utility>

namespace lehi::data {
namespace {

// Uniform in [0, bound); std::uniform_int_distribution may differ between standard libraries.
std::uint64_t draw_below(std::uint64_t bound, std::mt19937_64& engine) {
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t limit = most - most % bound;
  std::uint64_t value = engine();
  while (value >= limit) value = engine();
  return value % bound;
}

std::vector<std::int64_t> shuffled(std::int64_t count, std::seed_seq& words) {
  std::mt19937_64 engine(words);
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  for (std::size_t left = order.size(); left > 1; --left) {
    std::swap(order[left - 1], order[draw_below(left, engine)]);
  }
  return order;
}

std::uint32_t low(std::uint64_t value) { return static_cast<std::uint32_t>(value); }
std::uint32_t high(std::uint64_t value) { return static_cast<std::uint32_t>(value >> 32); }

}  // namespace

std::vector<std::int64_t> permutation(std::int64_t count, std::uint64_t seed, Draw purpose) {
  std::seed_seq words{low(seed), high(seed), static_cast<std::uint32_t>(purpose)};
  return shuffled(count, words);
}

std::vector<std::int64_t> epoch_order(std::int64_t count, std::uint64_t seed, std::int64_t epoch) {
  const auto number = static_cast<std::uint64_t>(epoch);
  std::seed_seq words{low(seed), high(seed), static_cast<std::uint32_t>(Draw::epoch_order), low(number), high(number)};
  return shuffled(count, words);
}

}  // namespace lehi::data
