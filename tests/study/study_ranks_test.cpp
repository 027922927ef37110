// How ranks share runs, with a store inside this process.
#include "study/study_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "distributed/store.h"
#include "support/support.h"

namespace lehi::study {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::message_of;

std::shared_ptr<c10d::Store> new_store() { return distributed::shared_store(c10::make_intrusive<c10d::HashStore>()); }

TEST(StudyRanks, EveryRunIsTakenOnceByWhoeverAsksNext) {
  const auto store = new_store();
  StudyRanks other(store, 1, 2);
  {
    StudyRanks zero(store, 0, 2);
    EXPECT_FALSE(other.directory());
    zero.open("/some/where");
    EXPECT_EQ(other.directory(), "/some/where");
    for (const auto* run : {"a", "b", "c"}) zero.offer(run);
    EXPECT_EQ(other.take(), "a");
    EXPECT_EQ(zero.take(), "b");
    EXPECT_EQ(other.take(), "c");
    EXPECT_FALSE(other.take());
    EXPECT_FALSE(zero.take());
    zero.offer("d");  // of the second phase
    zero.offer("e");
    EXPECT_EQ(zero.take(), "e") << "the one that asked first gets the first";
    EXPECT_EQ(other.take(), "d");
    EXPECT_FALSE(other.over());
    other.leave();
  }
  EXPECT_TRUE(other.over());
}

TEST(StudyRanks, RankZeroHearsInOrderAndWhoHasLeft) {
  const auto store = new_store();
  StudyRanks zero(store, 0, 3);
  StudyRanks one(store, 1, 3);
  StudyRanks two(store, 2, 3);
  EXPECT_FALSE(zero.hear());
  one.tell({{"started", "a"}});
  two.tell({{"started", "b"}});
  one.leave();
  EXPECT_EQ(zero.hear()->at("started"), "a");
  EXPECT_EQ(zero.hear()->at("started"), "b");
  EXPECT_EQ(zero.left(), 0);
  EXPECT_TRUE(zero.hear()->contains("left"));
  EXPECT_EQ(zero.left(), 1);
  EXPECT_FALSE(zero.hear());
  two.leave();
}

TEST(StudyRanks, AnyRankMayAskAllToStop) {
  const auto store = new_store();
  StudyRanks zero(store, 0, 2);
  StudyRanks one(store, 1, 2);
  EXPECT_EQ(zero.stop_request(), 0);
  one.ask_to_stop(15);
  EXPECT_EQ(zero.stop_request(), 15);
  one.leave();
}

TEST(StudyRanks, NamesARankThatIsSilent) {
  const auto store = new_store();
  StudyRanks zero(store, 0, 3);
  StudyRanks one(store, 1, 3);
  StudyRanks two(store, 2, 3);
  constexpr double patience = 0.02;
  one.leave();
  zero.hear();
  for (int i = 0; i < 4; ++i) {
    two.beat();
    EXPECT_NO_THROW(zero.check_beats(patience)) << "one has left, which is no loss";
    std::this_thread::sleep_for(std::chrono::milliseconds(15));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_THAT(message_of([&] { zero.check_beats(patience); }), AllOf(HasSubstr("rank 2 of 3"), HasSubstr("--resume")));
  two.leave();
}

}  // namespace
}  // namespace lehi::study
