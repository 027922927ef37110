#include "report/contest_sentences.h"

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

std::string winner_of_arms(std::vector<contest::ArmResult> arms) {
  const auto task = contest_task("gpt", std::move(arms));
  return winner_sentence(analyse(task, "lehi-kron"), "lehi-kron");
}

Answer answer_of(const contest::Result& result, char letter) {
  for (auto& answer : answers(result, analyse(result))) {
    if (answer.letter == letter) return answer;
  }
  return {};
}

TEST(ContestSentences, Lists) {
  EXPECT_EQ(listed({}), "");
  EXPECT_EQ(listed({"a"}), "a");
  EXPECT_EQ(listed({"a", "b"}), "a and b");
  EXPECT_EQ(listed({"a", "b", "c"}), "a, b and c");
}

// Of three seeds with deviations -0.01, 0 and 0.01 the interval is ± 4.3027 * 0.01 / sqrt(3) = 0.0248.
TEST(ContestSentences, AClearWinner) {
  EXPECT_EQ(winner_of_arms({contest_arm("adamw", {1.51, 1.50, 1.49}), contest_arm("soap", {1.44, 1.42, 1.43}),
                            contest_arm("lehi-kron", {1.31, 1.30, 1.29}), contest_arm("lion", {1.71, 1.72, 1.73})}),
            "gpt: lehi-kron won with the lowest test loss, 1.3000 ± 0.0248 (3 seeds); it is clearly better than all "
            "others.");
}

TEST(ContestSentences, LevelOnesAreNamed) {
  EXPECT_EQ(winner_of_arms({contest_arm("adamw", {1.51, 1.50, 1.49}), contest_arm("muon", {1.29, 1.31, 1.33}),
                            contest_arm("soap", {1.29, 1.32, 1.31}), contest_arm("lehi-kron", {1.31, 1.30, 1.29})}),
            "gpt: no clear winner; lehi-kron has the lowest test loss, 1.3000 ± 0.0248 (3 seeds), but soap and muon do "
            "not differ from it clearly; it is clearly better than adamw.");
}

TEST(ContestSentences, ATie) {
  EXPECT_EQ(
      winner_of_arms({contest_arm("adamw", {1.31, 1.30, 1.29}), contest_arm("lehi-kron", {1.31, 1.30, 1.29})}),
      "gpt: no clear winner; adamw has the lowest test loss, 1.3000 ± 0.0248 (3 seeds), but lehi-kron does not differ "
      "from it clearly.");
}

TEST(ContestSentences, TheChallengersLossIsStated) {
  EXPECT_EQ(winner_of_arms({contest_arm("adamw", {1.31, 1.30, 1.29}), contest_arm("lehi-kron", {1.42, 1.40, 1.38})}),
            "gpt: adamw won with the lowest test loss, 1.3000 ± 0.0248 (3 seeds); it is clearly better than lehi-kron. "
            "lehi-kron lost: 1.4000 ± 0.0497, which differs by +0.1000 (+0.0752 to +0.1248).");
}

TEST(ContestSentences, DivergedSeeds) {
  EXPECT_EQ(winner_of_arms({contest_arm("adamw", {1.31, 1.30, 1.29}), contest_arm("lehi-kron", {1.1, NAN, 1.1})}),
            "gpt: adamw won with the lowest test loss, 1.3000 ± 0.0248 (3 seeds); it is clearly better than lehi-kron; "
            "diverged: lehi-kron with 1 of 3 seeds. lehi-kron lost: diverged with 1 of 3 seeds.");
  EXPECT_EQ(winner_of_arms({contest_arm("adamw", {NAN, 1.2}), contest_arm("lehi-kron", {NAN, NAN})}),
            "gpt: nobody won; diverged: adamw with 1 of 2 seeds and lehi-kron with 2 of 2 seeds.");
}

TEST(ContestSentences, MissingResults) {
  EXPECT_EQ(winner_of_arms({}), "gpt: no result yet.");
  EXPECT_EQ(winner_of_arms({contest_arm("adamw", {}), contest_control("random", {1.0})}), "gpt: no result yet.");
  EXPECT_EQ(winner_of_arms({contest_arm("adamw", {1.31, 1.30, 1.29}), contest_arm("lehi-kron", {})}),
            "gpt: adamw has the lowest test loss, 1.3000 ± 0.0248 (3 seeds); lehi-kron can't be compared: too few "
            "seeds. lehi-kron has no result.");
  EXPECT_EQ(winner_of_arms({contest_arm("adamw", {1.3})}),
            "gpt: adamw has the lowest test loss, 1.3000 (1 seed); no other optimizer took part.");
}

TEST(ContestSentences, HighestAccuracyWins) {
  auto task = contest_task("mnist", {contest_arm("adamw", {97, 97}), contest_arm("lehi-kron", {98, 98})});
  task.metric = "test_accuracy";
  EXPECT_EQ(winner_sentence(analyse(task, "lehi-kron"), "lehi-kron"),
            "mnist: lehi-kron won with the highest test accuracy, 98.00 ± 0.00 (2 seeds); it is clearly better than "
            "adamw.");
}

TEST(ContestSentences, Controls) {
  const auto task =
      contest_task("gpt", {contest_arm("adamw", {1.51, 1.50, 1.49}), contest_arm("lehi-kron", {1.31, 1.30, 1.29}),
                           contest_control("random", {1.42, 1.40, 1.38}), contest_control("label", {1.33, 1.30, 1.27}),
                           contest_control("previous", {1.21, 1.20, 1.19}), contest_control("momentum", {})});
  EXPECT_EQ(control_sentence(analyse(task, "lehi-kron")),
            "Controls: lehi-kron is clearly better than random (-0.1000, -0.1248 to -0.0752); not clearly different "
            "from label (+0.0000, -0.0497 to +0.0497); clearly worse than previous (+0.1000, +0.1000 to +0.1000); not "
            "compared yet with momentum.");
}

TEST(ContestSentences, Power) {
  auto task = contest_task("gpt", {contest_arm("adamw", {2.00, 2.00, 2.00, 2.00, 2.00, 2.00, 2.00, 2.00}),
                                   contest_arm("lehi-kron", {1.01, 0.99, 1.01, 0.99, 1.01, 0.99, 1.01, 0.99})});
  EXPECT_THAT(power_sentence(analyse(task, "lehi-kron")), Not(HasSubstr("worth finding")));
  task.effect = 0.01;
  // The spread is 0.01 sqrt(8 / 7) = 0.01069, times scipy's 1.156034678; 0.02 is 1.87 of it, for which 5 pairs have a
  // power of 0.87 and 4 one of 0.70 (scipy).
  EXPECT_EQ(power_sentence(analyse(task, "lehi-kron")),
            "With 8 seeds a difference of 0.0124 from adamw is found with 80 % power (two-sided, 5 %), as a paired "
            "difference has a standard deviation of 0.0107 (median over the optimizers); the difference worth finding, "
            "1 % of adamw's mean or 0.0200, takes 5 seeds.");
  EXPECT_EQ(power_sentence(analyse(contest_task("gpt", {}), "lehi-kron")), "");
}

contest::ArmResult kron() { return contest_arm("lehi-kron", {1.31, 1.30, 1.29}); }
contest::ArmResult adamw() { return contest_arm("adamw", {1.51, 1.50, 1.49}); }

TEST(ContestAnswers, SpeedUp) {
  const auto fast = contest_task("gpt-small", {adamw(), with_speed_up(kron(), 0.5, 0.5 * 1.2)});
  const auto resnet = contest_task("resnet", {adamw(), with_speed_up(kron(), 0.7, 0.8)});
  const auto met = answer_of(contest_result({fast, resnet}), 'a');
  EXPECT_EQ(met.outcome, Outcome::met);
  EXPECT_THAT(met.sentences, ElementsAre("gpt-small: 50 % of adamw's steps and 60.0 % of its time: met.",
                                         "resnet: 70 % of adamw's steps and 80.0 % of its time: met."));
  const auto slow = contest_task("gpt-large", {adamw(), with_speed_up(kron(), 0.5, 0.61)});
  EXPECT_EQ(answer_of(contest_result({fast, slow, resnet}), 'a').outcome, Outcome::not_met);
  const auto late = contest_task("gpt-large", {adamw(), with_speed_up(kron(), 0.6, 0.55)});
  EXPECT_EQ(answer_of(contest_result({late, resnet}), 'a').outcome, Outcome::not_met);
}

TEST(ContestAnswers, SpeedUpThatIsNotReachedOrMissing) {
  auto arm = kron();
  arm.speed_up = contest::SpeedUp{.points = {{1.0, arm.values}}};
  const auto never = answer_of(contest_result({contest_task("gpt", {adamw(), arm})}), 'a');
  EXPECT_EQ(never.outcome, Outcome::not_met);
  EXPECT_THAT(never.sentences,
              ElementsAre("gpt: not reached with all of adamw's steps: not met.", "No ResNet task took part."));
  const auto open = answer_of(contest_result({contest_task("gpt", {adamw(), kron()})}), 'a');
  EXPECT_EQ(open.outcome, Outcome::not_measured);
  EXPECT_THAT(open.sentences.front(), "gpt: not measured: not measured.");
  const auto fast = contest_task("gpt", {adamw(), with_speed_up(kron(), 0.3, 0.4)});
  EXPECT_EQ(answer_of(contest_result({fast}), 'a').outcome, Outcome::not_measured);  // no ResNet
}

TEST(ContestAnswers, RivalsAndAllOthersOnGpts) {
  const auto soap = contest_arm("soap", {1.29, 1.31, 1.33});
  const auto muon = contest_arm("muon", {1.41, 1.40, 1.39});
  const auto met = answer_of(contest_result({contest_task("gpt", {adamw(), kron(), soap, muon})}), 'b');
  EXPECT_EQ(met.outcome, Outcome::met);
  EXPECT_THAT(met.sentences.front(), HasSubstr("from soap, no clear difference: met"));
  EXPECT_EQ(met.sentences.back(), "gpt: clearly better than 1 of 1 other optimizer.");
  const auto ahead = contest_arm("soap", {1.21, 1.20, 1.19});
  const auto lost = answer_of(contest_result({contest_task("gpt", {adamw(), kron(), ahead, muon})}), 'b');
  EXPECT_EQ(lost.outcome, Outcome::not_met);
  EXPECT_THAT(lost.sentences.front(), HasSubstr("+0.1000 (+0.1000 to +0.1000) from soap, clearly worse: not met"));
  const auto other = contest_arm("lion", {1.29, 1.30, 1.31});
  EXPECT_EQ(answer_of(contest_result({contest_task("gpt", {adamw(), kron(), soap, muon, other})}), 'b').outcome,
            Outcome::not_met);
  const auto lacking = answer_of(contest_result({contest_task("gpt", {adamw(), kron(), soap})}), 'b');
  EXPECT_EQ(lacking.outcome, Outcome::not_measured);
  EXPECT_THAT(lacking.sentences.front(), HasSubstr("(muon missing)"));
  EXPECT_EQ(answer_of(contest_result({contest_task("protein", {adamw(), kron(), ahead})}), 'b').outcome,
            Outcome::not_measured);
}

TEST(ContestAnswers, WorseThanTheClassicsNowhere) {
  const auto adam = contest_arm("adam", {1.41, 1.40, 1.39});
  const auto level = contest_task("protein", {adamw(), adam, contest_arm("lehi-kron", {1.45, 1.40, 1.35})});
  EXPECT_EQ(answer_of(contest_result({level}), 'c').outcome, Outcome::met);
  const auto worse = contest_task("mnist", {adamw(), adam, contest_arm("lehi-kron", {1.46, 1.45, 1.44})});
  const auto lost = answer_of(contest_result({level, worse}), 'c');
  EXPECT_EQ(lost.outcome, Outcome::not_met);  // better than adamw, worse than adam
  EXPECT_THAT(lost.sentences.back(), HasSubstr("from adam, clearly worse: not met"));
  EXPECT_EQ(answer_of(contest_result({contest_task("protein", {adamw(), kron()})}), 'c').outcome,
            Outcome::not_measured);
  const auto diverged = contest_task("mnist", {adamw(), adam, contest_arm("lehi-kron", {1.2, NAN, 1.2})});
  EXPECT_EQ(answer_of(contest_result({diverged}), 'c').outcome, Outcome::not_met);
}

contest::TaskResult batch_task(std::int64_t batch_size, const std::vector<double>& losses) {
  auto task = contest_task("batch-" + std::to_string(batch_size),
                           {contest_arm("adamw", {2.0, 2.0, 2.0}), contest_arm("lehi-kron", losses),
                            contest_control("random", {1.9, 1.9, 1.9})});
  task.group = "batches";
  task.batch_size = batch_size;
  return task;
}

TEST(ContestAnswers, ControlsAndBatchSizes) {
  const auto random = contest_control("random", {1.42, 1.40, 1.38});
  const auto better = contest_task("gpt", {adamw(), kron(), random});
  const std::vector<contest::TaskResult> growing = {batch_task(16, {1.80, 1.81, 1.82}),
                                                    batch_task(64, {1.70, 1.71, 1.73})};
  const auto met = answer_of(contest_result({better, growing[0], growing[1]}), 'd');
  EXPECT_EQ(met.outcome, Outcome::met);
  EXPECT_THAT(
      met.sentences,
      ElementsAre(HasSubstr("clearly better than random"), HasSubstr("over adamw by batch size is +0.1900 at 16 and"),
                  HasSubstr("over random by batch size is +0.0900 at 16 and +0.1867 at 64; it grows")));
  const auto level = contest_task("gpt-large", {adamw(), kron(), contest_control("random", {1.29, 1.30, 1.31})});
  EXPECT_EQ(answer_of(contest_result({better, level, growing[0], growing[1]}), 'd').outcome, Outcome::not_met);
  const auto shrinking =
      answer_of(contest_result({better, batch_task(16, {1.70, 1.71, 1.73}), batch_task(64, {1.80, 1.81, 1.82})}), 'd');
  EXPECT_EQ(shrinking.outcome, Outcome::not_met);
  EXPECT_THAT(shrinking.sentences.back(), HasSubstr("it shrinks"));
  EXPECT_EQ(answer_of(contest_result({better}), 'd').outcome, Outcome::not_measured);  // no panel
}

TEST(ContestAnswers, NothingForControlsToExplain) {
  const auto task = contest_task(
      "gpt", {adamw(), contest_arm("lehi-kron", {1.50, 1.51, 1.49}), contest_control("random", {1.9, 1.9, 1.9})});
  const auto answer = answer_of(contest_result({task}), 'd');
  EXPECT_EQ(answer.outcome, Outcome::not_met);
  EXPECT_THAT(answer.sentences.front(), HasSubstr("nothing to explain"));
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
