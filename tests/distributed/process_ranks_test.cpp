// The ranks' collectives through Gloo.
#include "distributed/process_ranks.h"

#include <gmock/gmock.h>

#include <chrono>
#include <cmath>

#include "distributed/gloo_threads.h"
#include "support/support.h"

namespace lehi::distributed {
namespace {

using lehi::testing::message_of;
using lehi::testing::same_bits;
using torch::Tensor;
using Pointer = std::shared_ptr<ProcessRanks>;

Tensor values_of(int rank, torch::Dtype dtype = torch::kFloat32) {
  auto generator = at::detail::createCPUGenerator(static_cast<std::uint64_t>(rank) + 1);
  return torch::randn({1003}, generator, torch::dtype(torch::kFloat64)).to(dtype);
}

TEST(ProcessRanks, SumInPlaceWithTheSameBitsOnAll) {
  std::vector<Tensor> sums(3);
  run_gloo(3, [&](const Pointer& ranks) {
    const Tensor own = values_of(ranks->rank());
    const Tensor small = values_of(ranks->rank(), torch::kFloat64);
    const auto wait = ranks->begin_sum(own);
    ranks->sum(small);
    wait();
    const Tensor expected =
        values_of(0, torch::kFloat64) + values_of(1, torch::kFloat64) + values_of(2, torch::kFloat64);
    EXPECT_TRUE(torch::allclose(small, expected, 1e-14, 1e-14));
    EXPECT_TRUE(torch::allclose(own.to(torch::kFloat64), expected, 1e-6, 1e-6));
    EXPECT_EQ(ranks->traffic().summed, 1003 * 4);
    sums[static_cast<std::size_t>(ranks->rank())] = own;
  });
  EXPECT_TRUE(same_bits(sums[0], sums[1]));
  EXPECT_TRUE(same_bits(sums[0], sums[2]));
}

TEST(ProcessRanks, GatherTheirPieces) {
  run_gloo(3, [&](const Pointer& ranks) {
    const Tensor whole = torch::full({6}, -1.0);
    whole.narrow(0, 2 * ranks->rank(), 2).fill_(ranks->rank());
    ranks->begin_gather(whole)();
    EXPECT_TRUE(torch::equal(whole, torch::tensor({0.0F, 0.0F, 1.0F, 1.0F, 2.0F, 2.0F})));
  });
}

TEST(ProcessRanks, BroadcastWhatRankZeroHas) {
  run_gloo(2, [&](const Pointer& ranks) {
    const Tensor values = torch::full({4}, ranks->rank() == 0 ? -0.0 : 7.0);
    ranks->broadcast(values);
    EXPECT_TRUE(same_bits(values, torch::full({4}, -0.0)));
    ranks->broadcast(torch::empty({0}));
    const std::string text = ranks->rank() == 0 ? std::string("a\0b", 3) : "";
    EXPECT_EQ(ranks->broadcast_string(text), std::string("a\0b", 3));
    EXPECT_EQ(ranks->broadcast_string(""), "");
  });
}

TEST(ProcessRanks, RoundedSumsAreTwoRoundingsAwayAndHalfTheBytes) {
  for (const int size : {2, 3, 4}) {
    std::vector<Tensor> sums(static_cast<std::size_t>(size));
    run_gloo(size, [&](const Pointer& ranks) {
      ranks->round_sums();
      const Tensor own = values_of(ranks->rank());
      ranks->begin_sum(own)();
      Tensor expected = torch::zeros({1003}, torch::kFloat64);
      Tensor magnitudes = torch::zeros({1003}, torch::kFloat64);
      for (int rank = 0; rank < size; ++rank) {
        expected += values_of(rank, torch::kFloat64);
        magnitudes += values_of(rank, torch::kFloat64).abs();
      }
      // Half a unit in the last of bfloat16's eight bits, 2^-8, for each number that is sent, and for the sum.
      const Tensor limit = magnitudes * std::ldexp(1.0, -8) + expected.abs() * std::ldexp(1.0, -8) + magnitudes * 1e-4;
      EXPECT_TRUE(((own.to(torch::kFloat64) - expected).abs() <= limit).all().item<bool>());
      EXPECT_FALSE(torch::allclose(own.to(torch::kFloat64), expected, 1e-6, 1e-6)) << "it should be rounded";
      EXPECT_LE(ranks->traffic().summed, 1003 * 2 + 2 * size);
      EXPECT_EQ(ranks->traffic().gathered, 0);
      const Tensor exact = values_of(ranks->rank(), torch::kFloat64);
      ranks->begin_sum(exact)();
      EXPECT_TRUE(torch::allclose(exact, expected, 1e-14, 1e-14)) << "float64 is not rounded";
      sums[static_cast<std::size_t>(ranks->rank())] = own;
    });
    for (const Tensor& sum : sums) EXPECT_TRUE(same_bits(sum, sums.front()));
  }
}

TEST(ProcessRanks, ARankThatFailsIsNamedOnTheOthers) {
  std::vector<std::string> messages(3);
  EXPECT_THROW(run_gloo(3,
                        [&](const Pointer& ranks) {
                          if (ranks->rank() == 1) {
                            ranks->give_up("its disk is full");
                            return;
                          }
                          try {
                            ranks->sum(torch::ones({1}));
                          } catch (const LostRankError& error) {
                            messages[static_cast<std::size_t>(ranks->rank())] = error.what();
                            throw;
                          }
                        }),
               LostRankError);
  for (const std::size_t rank : {0U, 2U}) {
    EXPECT_THAT(messages[rank],
                ::testing::AllOf(::testing::HasSubstr("rank 1 (host "), ::testing::HasSubstr("disk is full")));
  }
}

TEST(ProcessRanks, ARankThatDoesNotConnectIsNamed) {
  const auto store = open_server();
  const auto text = message_of([&] { join(launch_at(store, 0, 3), {.limit = std::chrono::milliseconds(1000)}); });
  EXPECT_THAT(text, ::testing::HasSubstr("rank 1, 2 of 3 did not connect to 127.0.0.1:"));
}

TEST(ProcessRanks, OtherBackendsAreRejected) {
  EXPECT_THAT(message_of([] { join({}, {.backend = "nccl"}); }), ::testing::HasSubstr("lehi trains on the CPU"));
  EXPECT_THAT(message_of([] { join({}, {.backend = "mpi"}); }), ::testing::HasSubstr("LibTorch does not have"));
}

}  // namespace
}  // namespace lehi::distributed
