#include "train/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <torch/torch.h>
#include <unistd.h>

#include <random>

#include "support/support.h"
#include "train/scratch.h"

namespace lehi::train {
namespace {

using lehi::testing::message_of;
using lehi::testing::same_bits;
using lehi::testing::Scratch;
using lehi::testing::slurp;
using lehi::testing::spill;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// Contents that depend on the step in every part.
Checkpoint example(std::int64_t step) {
  const auto value = static_cast<double>(step);
  return {{{"weight", torch::full({3, 2}, value)}, {"bias", torch::full({2}, -value)}},
          {{"weight/m", torch::full({3, 2}, value / 3, torch::kFloat64)}, {"step", torch::tensor(step, torch::kInt64)}},
          {{"epoch", step / 2}, {"rate", 0.1 * value}, {"seeds", {1, 2}}}};
}

void expect_equal(NamedTensors left, NamedTensors right) {
  std::sort(left.begin(), left.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::sort(right.begin(), right.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  ASSERT_EQ(left.size(), right.size());
  for (std::size_t i = 0; i < left.size(); ++i) {
    EXPECT_EQ(left[i].first, right[i].first);
    EXPECT_TRUE(same_bits(left[i].second, right[i].second)) << left[i].first;
  }
}

void expect_equal(const Checkpoint& left, const Checkpoint& right) {
  expect_equal(left.model, right.model);
  expect_equal(left.optimizer, right.optimizer);
  EXPECT_EQ(left.state, right.state);
}

TEST(Checkpoint, IsReadAsItWasSaved) {
  const Scratch scratch;
  const auto path = save_checkpoint(scratch / "checkpoints", 123, example(123));
  EXPECT_EQ(path, scratch / "checkpoints" / "step-000000123");
  expect_equal(load_checkpoint(path), example(123));
  const auto newest = newest_valid(scratch / "checkpoints");
  ASSERT_TRUE(newest.found);
  EXPECT_EQ(newest.found->step, 123);
  EXPECT_EQ(newest.found->path, path);
  expect_equal(newest.found->checkpoint, example(123));
  EXPECT_THAT(newest.damaged, IsEmpty());
}

TEST(Checkpoint, TheNewestHasTheHighestStep) {
  const Scratch scratch;
  for (const std::int64_t step : {1'000'000'000, 999'999'999, 20, 3})
    save_checkpoint(scratch.path(), step, example(step));
  spill(scratch / "step-9999999999.tmp-1-1", "");
  spill(scratch / "step-x", "");
  std::filesystem::create_directory(scratch / "step-0000000000021");
  EXPECT_EQ(newest_valid(scratch.path()).found.value().step, 1'000'000'000);
}

TEST(Checkpoint, ADirectoryWithoutOneIsNoError) {
  const Scratch scratch;
  EXPECT_FALSE(newest_valid(scratch.path()).found);
  EXPECT_FALSE(newest_valid(scratch / "none").found);
}

TEST(Checkpoint, SavingAStepAgainReplacesIt) {
  const Scratch scratch;
  auto changed = example(5);
  changed.state["epoch"] = 99;
  save_checkpoint(scratch.path(), 5, example(5));
  save_checkpoint(scratch.path(), 5, changed);
  expect_equal(newest_valid(scratch.path()).found.value().checkpoint, changed);
  EXPECT_THAT(scratch.names(), SizeIs(1));
}

TEST(Checkpoint, KeepsAnyJsonState) {
  const Scratch scratch;
  auto odd = example(1);
  odd.state = {{"float", 0.1F}, {"signed", 5}, {"bytes", "\xff"}, {"nan", std::nan("")}, {"empty", json::object()}};
  save_checkpoint(scratch.path(), 1, odd);
  const auto state = newest_valid(scratch.path()).found.value().checkpoint.state;
  EXPECT_EQ(state["float"].get<float>(), 0.1F);
  EXPECT_TRUE(state["nan"].is_null());
}

TEST(Checkpoint, EveryTruncationAndChangedByteIsDetectedAndSkipped) {
  const Scratch scratch;
  save_checkpoint(scratch.path(), 10, example(10));
  const auto newer = save_checkpoint(scratch.path(), 20, example(20));
  for (const char* name : {"model.safetensors", "optimizer.safetensors", "state.json"}) {
    const auto whole = slurp(newer / name);
    const bool tensors = std::string(name) != "state.json";
    const auto check = [&](const std::string& bytes, std::size_t at) {
      spill(newer / name, bytes);
      const auto newest = newest_valid(scratch.path());
      ASSERT_TRUE(newest.found);
      if (newest.found->step == 20 && !tensors) {  // changed spaces of state.json do not matter
        EXPECT_EQ(newest.found->checkpoint.state, example(20).state) << at;
        return;
      }
      EXPECT_EQ(newest.found->step, 10) << name << " " << at;
      ASSERT_THAT(newest.damaged, SizeIs(1));
      EXPECT_THAT(newest.damaged[0], HasSubstr((newer / name).string()));
    };
    for (std::size_t size = 0; size + 1 < whole.size(); ++size) check(whole.substr(0, size), size);
    for (std::size_t at = 0; at < whole.size(); ++at) {
      auto changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ (1 << at % 8));
      check(changed, at);
    }
    spill(newer / name, whole);
    expect_equal(newest_valid(scratch.path()).found.value().checkpoint, example(20));
  }
}

TEST(Checkpoint, OneWithAMissingFileOrAnotherNameIsSkipped) {
  const Scratch scratch;
  save_checkpoint(scratch.path(), 1, example(1));
  for (const char* name : {"model.safetensors", "optimizer.safetensors", "state.json"}) {
    std::filesystem::remove(save_checkpoint(scratch.path(), 2, example(2)) / name);
    const auto newest = newest_valid(scratch.path());
    EXPECT_EQ(newest.found.value().step, 1);
    ASSERT_THAT(newest.damaged, SizeIs(1));
    EXPECT_THAT(newest.damaged[0], HasSubstr(name));
  }
  std::filesystem::rename(scratch / "step-000000001", scratch / "step-000000007");
  const auto renamed = newest_valid(scratch.path());
  EXPECT_FALSE(renamed.found);
  EXPECT_THAT(renamed.damaged,
              ElementsAre(HasSubstr("is of step 1, but its directory is of another"), HasSubstr("step-000000002")));
}

TEST(Prune, KeepsTheNewest) {
  const Scratch scratch;
  for (const std::int64_t step : {1, 2, 3, 4}) save_checkpoint(scratch.path(), step, example(step));
  prune(scratch.path(), 5);
  EXPECT_THAT(scratch.names(), SizeIs(4));
  prune(scratch.path(), 2);
  EXPECT_THAT(scratch.names(), ElementsAre("step-000000003", "step-000000004"));
  EXPECT_THAT(message_of([&] { prune(scratch.path(), 0); }), HasSubstr("expected at least 1"));
}

TEST(Prune, NeverRemovesTheOnlyValidOne) {
  const Scratch scratch;
  for (const std::int64_t step : {1, 2, 3, 4}) save_checkpoint(scratch.path(), step, example(step));
  for (const char* name : {"step-000000003", "step-000000004"}) spill(scratch / name / "model.safetensors", "damaged");
  prune(scratch.path(), 1);
  EXPECT_THAT(scratch.names(), ElementsAre("step-000000002", "step-000000003", "step-000000004"));
  EXPECT_EQ(newest_valid(scratch.path()).found.value().step, 2);
  save_checkpoint(scratch.path(), 5, example(5));
  prune(scratch.path(), 1);
  EXPECT_THAT(scratch.names(), ElementsAre("step-000000005"));
}

/// Saves checkpoints from `step` on, keeps two, and writes each saved step to the pipe, until the process is killed.
[[noreturn]] void save_until_killed(const std::filesystem::path& directory, std::int64_t step, int pipe) {
  try {
    for (;; ++step) {
      save_checkpoint(directory, step, example(step));
      if (::write(pipe, &step, sizeof(step)) != sizeof(step)) ::_exit(2);
      prune(directory, 2);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  ::_exit(1);
}

TEST(Checkpoint, AProcessKilledAtAnyMomentLeavesAValidOne) {
  const Scratch scratch;
  std::mt19937 generator(5);
  std::int64_t saved = 0;
  const auto start = std::chrono::steady_clock::now();
  save_checkpoint(scratch.path(), saved, example(saved));
  // Time for a few checkpoints, even if a sanitizer makes them slow.
  const std::chrono::microseconds one =
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start);
  std::uniform_int_distribution<int> microseconds(0, std::max(20'000, 4 * static_cast<int>(one.count())));
  int interrupted_writes = 0;
  for (int round = 0; round < 50; ++round) {
    std::array<int, 2> pipe{};
    ASSERT_EQ(::pipe(pipe.data()), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) save_until_killed(scratch.path(), saved + 1, pipe[1]);
    ::close(pipe[1]);
    ::usleep(static_cast<useconds_t>(microseconds(generator)));
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child exited with " << WEXITSTATUS(status);
    for (std::int64_t step = 0; ::read(pipe[0], &step, sizeof(step)) == sizeof(step);) saved = step;
    ::close(pipe[0]);

    interrupted_writes += remove_leftovers(scratch.path());
    const auto newest = newest_valid(scratch.path());
    EXPECT_THAT(newest.damaged, IsEmpty());
    ASSERT_TRUE(newest.found);
    EXPECT_GE(newest.found->step, saved);      // a checkpoint whose save_checkpoint() returned exists
    EXPECT_LE(newest.found->step, saved + 1);  // or the process was killed before it wrote to the pipe
    expect_equal(newest.found->checkpoint, example(newest.found->step));
    saved = newest.found->step;
    prune(scratch.path(), 2);  // the killed process may have saved without pruning
    EXPECT_THAT(scratch.names(), SizeIs(::testing::Le(2u)));
    EXPECT_TRUE(std::filesystem::exists(newest.found->path));
  }
  EXPECT_GT(interrupted_writes, 0) << "no kill hit a write; the test did not test what it should";
  EXPECT_GT(saved, 0);
}

}  // namespace
}  // namespace lehi::train
