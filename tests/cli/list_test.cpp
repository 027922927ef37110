#include "cli/list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "cli/loss_table.h"
#include "cli/run.h"
#include "lehi/options.h"
#include "support/support.h"

namespace lehi::cli {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

std::set<std::string> names_of(const json& list) {
  std::set<std::string> names;
  for (const auto& entry : list) names.insert(entry["name"]);
  return names;
}

json find(const json& list, const std::string& name) {
  for (const auto& entry : list) {
    if (entry["name"] == name) return entry;
  }
  return {};
}

TEST(List, OptimizersCarryTheirPartsAndDefaults) {
  const auto list = run({"list", "optimizers", "--json"}).json();
  EXPECT_EQ(names_of(list), (std::set<std::string>{"lehi", "lehibrid", "lehi-gn", "adam-simplified", "adam", "adamw",
                                                   "amsgrad", "nadam", "radam", "adagrad", "rmsprop", "sgd", "sophia-g",
                                                   "lion", "muon", "soap", "lehi-kron"}));
  // The paper's LEHIBRID, part by part.
  const auto hybrid = find(list, "lehibrid");
  EXPECT_EQ(hybrid["probe"], "imitation");
  EXPECT_EQ(hybrid["schedule"], (json{{"every", 1}, {"dense", 0}, {"alternate", true}, {"doubling", false}}));
  EXPECT_EQ(hybrid["accumulator"], "running-sum");
  EXPECT_EQ(hybrid["mix"], "none");
  EXPECT_EQ(hybrid["rule"], "adam-simplified");
  EXPECT_EQ(hybrid["scale"], "sqrt-n");
  EXPECT_EQ(hybrid["shape"], "diagonal");
  EXPECT_FALSE(hybrid.contains("kronecker"));
  EXPECT_EQ(hybrid["defaults"]["beta1"], 0.9);
  EXPECT_EQ(hybrid["defaults"]["beta2"], 0.999);
  // One that takes matrices as a whole.
  const auto soap = find(list, "soap");
  EXPECT_EQ(soap["shape"], "kronecker");
  EXPECT_EQ(soap["kronecker"]["factors"], "gradient");
  EXPECT_EQ(soap["kronecker"]["basis_every"], 10);
  EXPECT_EQ(soap["defaults"]["beta3"], 0.95);
  for (const auto& entry : list) EXPECT_NE(entry["summary"], "") << entry["name"];
}

TEST(List, LossesHaveTheirProbes) {
  const auto list = run({"list", "losses", "--json"}).json();
  EXPECT_EQ(names_of(list), (std::set<std::string>{"mse", "bce", "cross-entropy", "huber", "log-cosh", "poisson-nll",
                                                   "squared-hinge", "focal"}));
  EXPECT_EQ(find(list, "cross-entropy")["probes"],
            (json{"gradient", "imitation", "diagonal", "gauss-newton", "sampled-label"}));
  EXPECT_EQ(find(list, "huber")["probes"], (json{"gradient", "imitation", "diagonal", "gauss-newton"}));
  EXPECT_EQ(find(list, "focal")["probes"], (json{"gradient", "imitation", "diagonal"}));
}

TEST(List, ProbesHaveAMeaning) {
  const auto list = run({"list", "probes", "--json"}).json();
  EXPECT_EQ(names_of(list),
            (std::set<std::string>{"gradient", "imitation", "diagonal", "gauss-newton", "sampled-label"}));
  for (const auto& entry : list) EXPECT_NE(entry["meaning"], "") << entry["name"];
  EXPECT_EQ(find(list, "imitation")["random"], false);
  EXPECT_EQ(find(list, "gauss-newton")["random"], true);
}

TEST(List, TasksHaveThePapersParameters) {
  const auto list = run({"list", "tasks", "--json"}).json();
  std::map<std::string, std::int64_t> counts;
  for (const auto& entry : list) {
    if (entry["preset"] == "paper") counts[entry["name"]] = entry["parameters"];
    EXPECT_NE(entry["epochs"] == 0, entry["steps"] == 0) << entry["name"];
  }
  EXPECT_EQ(counts, (std::map<std::string, std::int64_t>{{"protein", 1'101},
                                                         {"mnist", 39'760},
                                                         {"fashion-mnist", 39'760},
                                                         {"cifar10", 11'173'962},
                                                         {"cifar100", 11'220'132},
                                                         {"ptb", 124'439'808},
                                                         {"fineweb-edu", 1'235'814'400}}));
}

TEST(List, TextHasAHeaderAndOneLinePerEntry) {
  for (const std::string what : {"optimizers", "losses", "probes", "tasks"}) {
    const auto text = run({"list", what});
    const auto entries = run({"list", what, "--json"}).json();
    EXPECT_EQ(text.code, done);
    EXPECT_EQ(std::count(text.out.begin(), text.out.end(), '\n'), static_cast<std::ptrdiff_t>(entries.size()) + 1);
    for (const auto& name : names_of(entries)) EXPECT_THAT(text.out, HasSubstr("\n" + name + " "));
  }
}

TEST(LossTable, MakesEachLossUnderItsOwnName) {
  for (const auto& entry : loss_table()) EXPECT_EQ(make_loss(entry.name)->name(), entry.name);
}

TEST(LossTable, ThrowsForNumbersThatALossDoesNotHave) {
  EXPECT_EQ(testing::message_of([] { make_loss("mse", {.delta = 1}); }),
            "the loss mse has no delta; leave out --delta");
  EXPECT_EQ(testing::message_of([] { make_loss("huber", {.gamma = 1}); }),
            "the loss huber has no gamma; leave out --gamma");
  EXPECT_EQ(testing::message_of([] { make_loss("focal", {.label_smoothing = 0.1}); }),
            "the loss focal has no label-smoothing; leave out --label-smoothing");
  EXPECT_EQ(testing::message_of([] { make_loss("focal", {.gamma = 1, .alpha = 0.5}); }), "");
}

}  // namespace
}  // namespace lehi::cli
