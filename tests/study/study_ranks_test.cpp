// The distribution of runs over ranks, with a store inside this process.
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

TEST(StudyRanks, EachRunIsClaimedOnceByTheNextRankThatAsks) {
  const auto store = new_store();
  StudyRanks other(store, 1, 2);
  {
    StudyRanks zero(store, 0, 2);
    EXPECT_FALSE(other.directory());
    zero.publish_directory("/some/where");
    EXPECT_EQ(other.directory(), "/some/where");
    for (const auto* run : {"a", "b", "c"}) zero.publish_run(run);
    EXPECT_EQ(other.claim_run(), "a");
    EXPECT_EQ(zero.claim_run(), "b");
    EXPECT_EQ(other.claim_run(), "c");
    EXPECT_FALSE(other.claim_run());
    EXPECT_FALSE(zero.claim_run());
    zero.publish_run("d");  // of the second phase
    zero.publish_run("e");
    EXPECT_EQ(zero.claim_run(), "e") << "the rank that asked first gets the first run";
    EXPECT_EQ(other.claim_run(), "d");
    EXPECT_FALSE(other.finished());
    other.send_exit();
  }
  EXPECT_TRUE(other.finished());
}

TEST(StudyRanks, RankZeroReceivesEventsInOrderAndCountsExits) {
  const auto store = new_store();
  StudyRanks zero(store, 0, 3);
  StudyRanks one(store, 1, 3);
  StudyRanks two(store, 2, 3);
  EXPECT_FALSE(zero.receive_event());
  one.send_event({{"started", "a"}});
  two.send_event({{"started", "b"}});
  one.send_exit();
  EXPECT_EQ(zero.receive_event()->at("started"), "a");
  EXPECT_EQ(zero.receive_event()->at("started"), "b");
  EXPECT_EQ(zero.exited(), 0);
  EXPECT_TRUE(zero.receive_event()->contains("exited"));
  EXPECT_EQ(zero.exited(), 1);
  EXPECT_FALSE(zero.receive_event());
  two.send_exit();
}

TEST(StudyRanks, AnyRankMayAskAllToStop) {
  const auto store = new_store();
  StudyRanks zero(store, 0, 2);
  StudyRanks one(store, 1, 2);
  EXPECT_EQ(zero.stop_request(), 0);
  one.request_stop(15);
  EXPECT_EQ(zero.stop_request(), 15);
  one.send_exit();
}

TEST(StudyRanks, NamesARankWithoutHeartbeats) {
  const auto store = new_store();
  StudyRanks zero(store, 0, 3);
  StudyRanks one(store, 1, 3);
  StudyRanks two(store, 2, 3);
  constexpr double timeout = 0.02;
  one.send_exit();
  zero.receive_event();
  for (int i = 0; i < 4; ++i) {
    two.send_heartbeat();
    EXPECT_NO_THROW(zero.check_heartbeats(timeout)) << "rank 1 has exited, which is not a loss";
    std::this_thread::sleep_for(std::chrono::milliseconds(15));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_THAT(message_of([&] { zero.check_heartbeats(timeout); }),
              AllOf(HasSubstr("rank 2 of 3"), HasSubstr("--resume")));
  two.send_exit();
}

}  // namespace
}  // namespace lehi::study
