#include "report/contest_answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/contest_example.h"

namespace lehi::report {
namespace {

using testing::contest_arm;
using testing::contest_control;
using testing::contest_result;
using testing::contest_task;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::with_speed_up;

Answer answer_of(const contest::Result& result, char letter) {
  for (auto& answer : answers(result, analyse(result))) {
    if (answer.letter == letter) return answer;
  }
  return {};
}

contest::ArmResult kron() { return contest_arm("lehi-kron", {1.31, 1.30, 1.29}); }
contest::ArmResult adamw() { return contest_arm("adamw", {1.51, 1.50, 1.49}); }

TEST(ContestAnswers, SpeedUp) {
  const auto fast = contest_task("gpt-small", {adamw(), with_speed_up(kron(), 0.5, 0.5 * 1.2)});
  const auto resnet = contest_task("resnet", {adamw(), with_speed_up(kron(), 0.7, 0.8)});
  const auto met = answer_of(contest_result({fast, resnet}), 'a');
  EXPECT_EQ(met.outcome, Outcome::met);
  EXPECT_THAT(met.sentences,
              ElementsAre("gpt-small: 50 % of adamw's steps and 60.0 % of its time (mean of 3 seeds): met.",
                          "resnet: 70 % of adamw's steps and 80.0 % of its time (mean of 3 seeds): met."));
  const auto slow = contest_task("Llama-large", {adamw(), with_speed_up(kron(), 0.5, 0.61)});
  EXPECT_EQ(answer_of(contest_result({fast, slow, resnet}), 'a').outcome, Outcome::not_met);
  const auto late = contest_task("gpt-large", {adamw(), with_speed_up(kron(), 0.6, 0.55)});
  EXPECT_EQ(answer_of(contest_result({late, resnet}), 'a').outcome, Outcome::not_met);
}

TEST(ContestAnswers, SpeedUpThatIsNotReachedOrMissing) {
  auto arm = kron();
  arm.speed_up = contest::SpeedUp{.points = {{1.0, arm.values}}};
  const auto never = answer_of(contest_result({contest_task("gpt", {adamw(), arm})}), 'a');
  EXPECT_EQ(never.outcome, Outcome::not_met);
  EXPECT_THAT(never.sentences, ElementsAre("gpt: not reached with all of adamw's steps (mean of 3 seeds): not met.",
                                           "No ResNet task took part."));
  const auto open = answer_of(contest_result({contest_task("gpt", {adamw(), kron()})}), 'a');
  EXPECT_EQ(open.outcome, Outcome::not_measured);
  EXPECT_THAT(open.sentences.front(), "gpt: not measured: not measured.");
  const auto fast = contest_task("gpt", {adamw(), with_speed_up(kron(), 0.3, 0.4)});
  EXPECT_EQ(answer_of(contest_result({fast}), 'a').outcome, Outcome::not_measured);  // no ResNet
}

// Three seeds leave 1.30 ± 0.0248, so soap may be better by 0.0248 + 0.0149, which is 2.6 % of adamw's 1.5.
contest::TaskResult with_effect(contest::TaskResult task, double effect) {
  task.effect = effect;
  return task;
}

TEST(ContestAnswers, RivalsAndAllOthersOnGpts) {
  const auto soap = contest_arm("soap", {1.32, 1.31, 1.33});
  const auto muon = contest_arm("muon", {1.41, 1.40, 1.39});
  const auto task = contest_task("gpt", {adamw(), kron(), soap, muon});
  const auto met = answer_of(contest_result({with_effect(task, 0.03)}), 'b');
  EXPECT_EQ(met.outcome, Outcome::met);
  EXPECT_THAT(met.sentences.front(), HasSubstr("from soap, no clear difference: met"));
  EXPECT_EQ(met.sentences.back(), "gpt: clearly better than 1 of 1 other optimizer.");
  const auto unclear = answer_of(contest_result({with_effect(task, 0.001)}), 'b');
  EXPECT_EQ(unclear.outcome, Outcome::not_shown) << "soap may be better by more than 0.1 %";
  EXPECT_THAT(unclear.sentences.front(), HasSubstr("no clear difference: not shown"));
  const auto ahead = contest_arm("soap", {1.21, 1.20, 1.19});
  const auto lost = answer_of(contest_result({contest_task("gpt", {adamw(), kron(), ahead, muon})}), 'b');
  EXPECT_EQ(lost.outcome, Outcome::not_met);
  EXPECT_THAT(lost.sentences.front(), HasSubstr("+0.1000 (+0.1000 to +0.1000) from soap, clearly worse: not met"));
  const auto other = contest_arm("lion", {1.29, 1.30, 1.31});
  EXPECT_EQ(answer_of(contest_result({contest_task("gpt", {adamw(), kron(), soap, muon, other})}), 'b').outcome,
            Outcome::not_met);
  const auto lacking =
      answer_of(contest_result({with_effect(contest_task("gpt", {adamw(), kron(), soap}), 0.03)}), 'b');
  EXPECT_EQ(lacking.outcome, Outcome::met);
  EXPECT_THAT(lacking.sentences.front(), HasSubstr("(muon took no part)"));
  EXPECT_EQ(answer_of(contest_result({contest_task("gpt", {adamw(), kron()})}), 'b').outcome, Outcome::not_measured);
  EXPECT_EQ(answer_of(contest_result({contest_task("protein", {adamw(), kron(), ahead})}), 'b').outcome,
            Outcome::not_measured);
}

TEST(ContestAnswers, WorseThanTheClassicsNowhere) {
  const auto adam = contest_arm("adam", {1.41, 1.40, 1.39});
  const auto level = contest_task("protein", {adamw(), adam, contest_arm("lehi-kron", {1.45, 1.40, 1.35})});
  EXPECT_EQ(answer_of(contest_result({with_effect(level, 0.1)}), 'c').outcome, Outcome::met);
  EXPECT_EQ(answer_of(contest_result({with_effect(level, 0.01)}), 'c').outcome, Outcome::not_shown);
  const auto worse = contest_task("mnist", {adamw(), adam, contest_arm("lehi-kron", {1.46, 1.45, 1.44})});
  const auto lost = answer_of(contest_result({level, worse}), 'c');
  EXPECT_EQ(lost.outcome, Outcome::not_met);  // better than adamw, worse than adam
  EXPECT_THAT(lost.sentences.back(), HasSubstr("from adam, clearly worse: not met"));
  const auto only = answer_of(contest_result({contest_task("protein", {adamw(), kron()})}), 'c');
  EXPECT_EQ(only.outcome, Outcome::met);
  EXPECT_THAT(only.sentences.front(), HasSubstr("(adam took no part)"));
}

TEST(ContestAnswers, OneDivergedSeedOfThreeShowsNothing) {
  const auto task = contest_task("mnist", {adamw(), contest_arm("lehi-kron", {1.2, NAN, 1.2})});
  const auto answer = answer_of(contest_result({task}), 'c');
  EXPECT_EQ(answer.outcome, Outcome::not_shown);
  EXPECT_THAT(answer.sentences.front(),
              HasSubstr("mnist: diverged with 1 of 3 seeds, adamw with 0: no clear difference"));
}

contest::TaskResult batch_task(std::int64_t batch_size, const std::vector<double>& losses) {
  auto task = contest_task("batch-" + std::to_string(batch_size),
                           {contest_arm("adamw", {2.0, 2.0, 2.0}), contest_arm("lehi-kron", {1.9, 1.9, 1.9}),
                            contest_control("probe", losses)});
  task.group = "batches";
  task.batch_size = batch_size;
  return task;
}

contest::Result probe_result(std::vector<contest::TaskResult> tasks) {
  auto result = contest_result(std::move(tasks));
  result.question.probe = "probe";
  return result;
}

TEST(ContestAnswers, TheProbeAgainstTheChallengerWithoutIt) {
  const auto probe = contest_control("probe", {1.21, 1.20, 1.19});
  const auto random = contest_control("random", {1.42, 1.40, 1.38});
  const auto better = contest_task("gpt", {adamw(), kron(), random, probe});
  const std::vector<contest::TaskResult> growing = {batch_task(16, {1.80, 1.81, 1.82}),
                                                    batch_task(64, {1.70, 1.71, 1.73})};
  const auto met = answer_of(probe_result({better, growing[0], growing[1]}), 'd');
  EXPECT_EQ(met.outcome, Outcome::met);
  EXPECT_THAT(met.goal, HasSubstr("probe is clearly better than lehi-kron, which has none"));
  EXPECT_THAT(
      met.sentences,
      ElementsAre("gpt: probe is clearly better than lehi-kron (-0.1000, -0.1000 to -0.1000) and random (-0.2000, "
                  "-0.2248 to -0.1752).",
                  HasSubstr("lehi-kron over adamw by batch size is +0.1000 at 16 and +0.1000 at 64"),
                  HasSubstr("probe over lehi-kron by batch size is +0.0900 at 16 and +0.1867 at 64; it grows")));
  const auto level = contest_task("gpt-large", {adamw(), kron(), contest_control("probe", {1.29, 1.30, 1.31})});
  EXPECT_EQ(answer_of(probe_result({better, level, growing[0], growing[1]}), 'd').outcome, Outcome::not_met);
  const auto shrinking =
      answer_of(probe_result({better, batch_task(16, {1.70, 1.71, 1.73}), batch_task(64, {1.80, 1.81, 1.82})}), 'd');
  EXPECT_EQ(shrinking.outcome, Outcome::not_met);
  EXPECT_THAT(shrinking.sentences.back(), HasSubstr("it shrinks"));
  EXPECT_EQ(answer_of(probe_result({better}), 'd').outcome, Outcome::not_measured) << "no panel";
  const auto elsewhere = contest_task("protein", {adamw(), kron(), random});
  EXPECT_EQ(answer_of(probe_result({better, elsewhere, growing[0], growing[1]}), 'd').outcome, Outcome::met)
      << "a task without the probe says nothing about it";
}

TEST(ContestAnswers, WithoutAProbeTheChallengerIsComparedWithTheControls) {
  const auto task = contest_task("gpt", {adamw(), kron(), contest_control("random", {1.42, 1.40, 1.38})});
  const auto answer =
      answer_of(contest_result({task, batch_task(16, {2.0, 2.0, 2.0}), batch_task(64, {2.1, 2.1, 2.1})}), 'd');
  EXPECT_EQ(answer.outcome, Outcome::met);
  EXPECT_EQ(answer.sentences.front(), "gpt: lehi-kron is clearly better than random (-0.1000, -0.1248 to -0.0752).");
  EXPECT_THAT(answer.sentences.back(), HasSubstr("lehi-kron over probe by batch size is +0.1000 at 16 and +0.2000"));
}

TEST(ContestAnswers, AnEmptyContestHasMeasuredNothing) {
  const auto result = contest_result({});
  for (const auto& answer : answers(result, analyse(result))) {
    EXPECT_EQ(answer.outcome, Outcome::not_measured) << answer.letter;
    EXPECT_THAT(answer.sentences, Not(IsEmpty())) << answer.letter;
  }
}

}  // namespace
}  // namespace lehi::report
