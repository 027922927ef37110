#include "report/contest_sentences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/contest_example.h"

namespace lehi::report {
namespace {

using testing::contest_arm;
using testing::contest_control;
using testing::contest_task;
using ::testing::HasSubstr;
using ::testing::Not;

std::string winner_of_arms(std::vector<contest::ArmResult> arms) {
  const auto task = contest_task("gpt", std::move(arms));
  return winner_sentence(analyse(task, "lehi-kron"), "lehi-kron");
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
            "gpt: no clear winner; adamw has the lowest test loss, 1.3000 ± 0.0248 (3 seeds), but lehi-kron does not "
            "differ from it clearly; diverged: lehi-kron with 1 of 3 seeds.");
  // Six losses of six have a probability of 2 / 64.
  EXPECT_EQ(winner_of_arms({contest_arm("adamw", {1.3, 1.3, 1.3, 1.3, 1.3, 1.3}),
                            contest_arm("lehi-kron", {1.4, NAN, 1.4, NAN, 1.4, 1.4})}),
            "gpt: adamw won with the lowest test loss, 1.3000 ± 0.0000 (6 seeds); it is clearly better than lehi-kron; "
            "diverged: lehi-kron with 2 of 6 seeds. lehi-kron lost: diverged with 2 of 6 seeds.");
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

}  // namespace
}  // namespace lehi::report
