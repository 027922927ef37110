// Runs on a tiny table: the record, resumption with the same bits, divergence, errors.
#include "train/run.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/functional/activation.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/adam.h>

#include <cmath>
#include <csignal>

#include "data/load_dataset.h"
#include "data/permutation.h"
#include "support/support.h"
#include "train/checkpoint.h"
#include "train/metrics_log.h"
#include "train/runs.h"
#include "train/trainer.h"

namespace lehi::train {
namespace {

using lehi::testing::message_of;
using lehi::testing::same_bits;
using lehi::testing::Scratch;
using lehi::testing::slurp;
using lehi::testing::spill;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// 250 rows of three features with a smooth target and a class.
void write_table(const std::filesystem::path& path) {
  std::string text = "a,b,c,y,kind\n";
  for (int i = 0; i < 250; ++i) {
    const double a = std::sin(i * 1.7);
    const double b = std::cos(i * 0.9);
    const double c = std::sin(i * 0.3 + 1);
    text += fmt::format("{:.6f},{:.6f},{:.6f},{:.6f},{}\n", a, b, c, a * b + 0.5 * c,
                        a > 0.3 ? "red"
                        : b > 0 ? "green"
                                : "blue");
  }
  spill(path, text);
}

/// Runs on the table.
class Runs : public RunFixture {
 protected:
  Runs() { write_table(scratch / "t.csv"); }

  RunConfig config(std::vector<Setting> settings = {}) const {
    ConfigRequest request;
    request.task = "csv:" + (scratch / "t.csv").string();
    request.settings = {{"data.target", "y", ""},
                        {"model.hidden", "[8]", ""},
                        {"train.epochs", "6", ""},
                        {"train.batch_size", "32", ""},
                        {"train.threads", "1", ""}};
    request.settings.insert(request.settings.end(), settings.begin(), settings.end());
    return resolve(request);
  }
};

TEST_F(Runs, WriteOneRecord) {
  const auto outcome = run(config(), "a");
  EXPECT_EQ(outcome.record.status, RunStatus::done);
  const auto record = read_run_record(scratch / "a" / "run.json");
  EXPECT_EQ(record.status, RunStatus::done);
  EXPECT_EQ(record.parameters, 7 * 8 + 9);  // three numbers and three colours make six inputs
  EXPECT_EQ(record.result["steps"], 42);    // 200 training rows make 7 batches of at most 32
  EXPECT_EQ(record.result["forward_passes"], 42);
  EXPECT_EQ(record.result["backward_passes"], 84);
  EXPECT_TRUE(record.result["test_loss"].is_number());
  const auto lines = read_metrics(scratch / "a" / "metrics.jsonl");
  ASSERT_EQ(lines.size(), 6U);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i]["epoch"], i + 1);
    EXPECT_EQ(lines[i]["step"], 7 * (i + 1));
    for (const char* key : {"seconds", "train_loss", "test_loss", "grad_inf_norm", "lr", "eps_dominated"}) {
      EXPECT_TRUE(lines[i][key].is_number()) << key;
    }
  }
  EXPECT_LT(lines[5]["train_loss"], lines[0]["train_loss"]);
  EXPECT_EQ(difference(read_config(scratch / "a" / "config.toml"), config()), "");
  EXPECT_TRUE(run(config(), "a", true).was_over);
}

// The same training by torch alone: nn::Linear, autograd, optim::Adam.
TEST_F(Runs, FollowTorch) {
  const auto setup = config({{"optimizer.name", "adam", ""}, {"optimizer.lr", "1e-2", ""}, {"seed", "3", ""}});
  run(setup, "a");
  const auto data = data::load_dataset({setup.task, "", "y", "", 3});
  torch::manual_seed(3);
  torch::nn::Sequential model;  // one by one: the order in which arguments are evaluated is unspecified
  model->push_back(torch::nn::Linear(6, 8));
  model->push_back(torch::nn::ReLU());
  model->push_back(torch::nn::Linear(8, 1));
  torch::optim::Adam adam(model->parameters(), torch::optim::AdamOptions(1e-2));
  for (std::int64_t epoch = 0; epoch < 6; ++epoch) {
    const auto order = torch::tensor(data::epoch_order(200, 3, epoch));
    for (std::int64_t first = 0; first < 200; first += 32) {
      const auto rows = order.narrow(0, first, std::min<std::int64_t>(32, 200 - first));
      adam.zero_grad();
      const auto error =
          model->forward(data.train.inputs.index_select(0, rows)) - data.train.targets.index_select(0, rows);
      (0.5 * error.square().mean()).backward();
      adam.step();
    }
  }
  const auto checkpoint = last_checkpoint("a");
  std::map<std::string, torch::Tensor> ours(checkpoint.model.begin(), checkpoint.model.end());
  for (const auto& [theirs, name] : {std::pair("0.weight", "layers.0.weight"), std::pair("2.bias", "layers.1.bias")}) {
    EXPECT_LT(lehi::testing::relative_difference(ours.at(name), model->named_parameters()[theirs]), 1e-5) << name;
  }
}

TEST_F(Runs, ResumedInMidEpochHaveTheSameBits) {
  for (const Preset which : all_presets()) {
    const std::string optimizer(name(which));
    const auto setup = config({{"optimizer.name", optimizer, ""},
                               {"optimizer.lr", which == Preset::sgd ? "1e-2" : "1e-3", ""},
                               {"checkpoint.every", "5", ""},
                               {"rate.schedule", "cosine", ""}});
    run(setup, optimizer + "-whole");
    const auto stopped = run_until(1, setup, optimizer + "-pieces");
    EXPECT_EQ(stopped.signal, SIGTERM);
    EXPECT_EQ(stopped.record.status, RunStatus::interrupted);
    EXPECT_EQ(run_until(17, setup, optimizer + "-pieces").record.status, RunStatus::interrupted);
    EXPECT_EQ(run(setup, optimizer + "-pieces", true).record.status, RunStatus::done);
    expect_same_run(optimizer + "-whole", optimizer + "-pieces");
  }
}

// The state after a kill: the newest checkpoint is older than the newest metrics.
TEST_F(Runs, ResumedFromAnOlderCheckpointHaveTheSameBits) {
  const auto setup = config({{"checkpoint.every", "4", ""}, {"checkpoint.keep", "20", ""}});
  run(setup, "whole");
  run_until(30, setup, "pieces");
  for (const auto& checkpoint : list_directory(scratch / "pieces" / "checkpoints")) {
    if (checkpoint > "step-000000024") std::filesystem::remove_all(scratch / "pieces" / "checkpoints" / checkpoint);
  }
  const auto damaged = scratch / "pieces" / "checkpoints" / "step-000000024" / "model.safetensors";
  auto bytes = slurp(damaged);
  bytes[bytes.size() / 2] ^= 1;
  spill(damaged, bytes);
  messages.clear();
  run(setup, "pieces", true);
  EXPECT_THAT(messages, Contains(HasSubstr("step-000000024")));
  EXPECT_THAT(messages, Contains(HasSubstr("resuming at step 20 of 42")));
  expect_same_run("whole", "pieces");
}

TEST_F(Runs, MicroBatchesChangeRoundingOnly) {
  run(config(), "one");
  run(config({{"train.accumulate", "5", ""}}), "five");
  const auto one = last_checkpoint("one").model;
  const auto five = last_checkpoint("five").model;
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_LT(lehi::testing::relative_difference(five[i].second, one[i].second), 1e-4) << one[i].first;
  }
}

TEST_F(Runs, ClassificationHasAccuracyAndValidation) {
  run(config({{"data.target", "kind", ""},
              {"data.validation", "0.2", ""},
              {"train.epochs", "30", ""},
              {"optimizer.name", "adam", ""},
              {"optimizer.lr", "1e-2", ""}}),
      "a");
  const auto line = read_metrics(scratch / "a" / "metrics.jsonl").back();
  EXPECT_GT(line["test_accuracy"], 70.0);
  EXPECT_LE(line["validation_accuracy"], 100.0);
  EXPECT_TRUE(line["validation_loss"].is_number());
}

TEST_F(Runs, StepsInsteadOfEpochsAndTheirOwnEvaluations) {
  run(config({{"train.steps", "10", ""}, {"train.evaluate_every", "4", ""}}), "a");
  std::vector<int> steps;
  for (const auto& line : read_metrics(scratch / "a" / "metrics.jsonl")) steps.push_back(line["step"]);
  EXPECT_THAT(steps, ElementsAre(4, 8, 10));
}

TEST_F(Runs, DivergenceIsAStatus) {
  const auto setup = config({{"optimizer.name", "sgd", ""}, {"optimizer.lr", "1e17", ""}});
  const auto outcome = run(setup, "a");
  EXPECT_EQ(outcome.record.status, RunStatus::diverged);
  EXPECT_THAT(outcome.record.message, HasSubstr("not finite"));
  EXPECT_EQ(read_run_record(scratch / "a" / "run.json").status, RunStatus::diverged);
  EXPECT_TRUE(run(setup, "a", true).was_over);
}

TEST_F(Runs, RejectADirectoryOfAnotherRunOrOtherFiles) {
  run(config(), "a");
  const auto before = slurp(scratch / "a" / "run.json");
  EXPECT_THAT(message_of([&] { run(config(), "a"); }), HasSubstr("holds a run already; --resume"));
  EXPECT_THAT(message_of([&] {
                run(config({{"seed", "1", ""}}), "a", true);
              }),
              HasSubstr("holds a different run: seed is 0 there and 1 here"));
  EXPECT_EQ(slurp(scratch / "a" / "run.json"), before);
  std::filesystem::create_directory(scratch / "b");
  spill(scratch / "b" / "thesis.tex", "mine");
  EXPECT_THAT(message_of([&] { run(config(), "b"); }), HasSubstr("not empty and holds no run"));
  EXPECT_THAT(message_of([&] { run(config(), "t.csv"); }), HasSubstr("is not a directory"));
  auto nothing = request(config(), "c");
  nothing.config.reset();
  nothing.resume = true;
  EXPECT_THAT(message_of([&] { run_training(nothing); }), HasSubstr("no run to resume"));
  EXPECT_FALSE(std::filesystem::exists(scratch / "c"));
}

TEST_F(Runs, BadDataLeavesNoDirectory) {
  EXPECT_THAT(message_of([&] { run(config({{"data.target", "z", ""}}), "a"); }), HasSubstr("'z'"));
  EXPECT_THAT(message_of([&] {
                run(config({{"optimizer.probe", "sampled-label", ""}, {"data.kind", "tall", ""}}), "a");
              }),
              HasSubstr("tall"));
  EXPECT_FALSE(std::filesystem::exists(scratch / "a"));
}

TEST_F(Runs, OnlyOneProcessTrainsInADirectory) {
  std::filesystem::create_directory(scratch / "a");
  const DirectoryLock lock(scratch / "a");
  EXPECT_THAT(message_of([&] { run(config(), "a"); }), HasSubstr("in use by another lehi process"));
  EXPECT_THAT(list_directory(scratch / "a"), IsEmpty());
}

}  // namespace
}  // namespace lehi::train
