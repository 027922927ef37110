#include "data/permutation.h"

#include <numeric>
#include <random>
#include <utility>

namespace lehi::data {
namespace {

std::uint32_t low(std::uint64_t value) { return static_cast<std::uint32_t>(value); }
std::uint32_t high(std::uint64_t value) { return static_cast<std::uint32_t>(value >> 32); }

std::vector<std::int64_t> shuffled(std::int64_t count, std::mt19937 engine) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  for (std::size_t i = 0; i + 1 < order.size(); ++i) std::swap(order[i], order[i + engine() % (order.size() - i)]);
  return order;
}

}  // namespace

std::vector<std::int64_t> permutation(std::int64_t count, std::uint64_t seed, Draw purpose) {
  if (purpose == Draw::test_split && high(seed) == 0) return shuffled(count, std::mt19937(low(seed)));
  std::seed_seq words{low(seed), high(seed), static_cast<std::uint32_t>(purpose)};
  return shuffled(count, std::mt19937(words));
}

std::vector<std::int64_t> epoch_order(std::int64_t count, std::uint64_t seed, std::int64_t epoch) {
  const auto number = static_cast<std::uint64_t>(epoch);
  std::seed_seq words{low(seed), high(seed), static_cast<std::uint32_t>(Draw::epoch_order), low(number), high(number)};
  return shuffled(count, std::mt19937(words));
}

}  // namespace lehi::data
