// Runs of tiny language models and ResNets: every optimizer, resumption, low memory, loading and saving weights.
#include <gmock/gmock.h>
#include <torch/torch.h>

#include <cmath>
#include <cstdlib>

#include "lehi/losses.h"
#include "support/support.h"
#include "train/evaluate.h"
#include "train/runs.h"
#include "train/task_data.h"
#include "train/task_model.h"
#include "train/weight_settings.h"
#include "train/weights.h"

namespace lehi::train {
namespace {

using lehi::testing::message_of;
using lehi::testing::slurp;
using lehi::testing::spill;
using ::testing::HasSubstr;

const std::vector<std::string> papers_optimizers_and_ours = {"lehi", "lehibrid", "lehi-gn",
                                                             "adam", "adamw",    "sophia-g"};

std::string sentences() {
  std::string text;
  const std::vector<std::string> words = {"the ", "cat ", "sat ", "on ", "a ", "mat. ", "so ", "it ", "was. "};
  for (std::size_t i = 0; i < 900; ++i) text += words[i * i % 7 + (i % 3)];
  return text;
}

class ModelRuns : public RunFixture {
 protected:
  ModelRuns() {
    ::setenv("XDG_CACHE_HOME", (scratch / "cache").c_str(), 1);
    spill(scratch / "t.txt", sentences());
  }
  ~ModelRuns() override { ::unsetenv("XDG_CACHE_HOME"); }

  RunConfig text_config(const std::string& optimizer, std::vector<Setting> settings = {}) const {
    ConfigRequest request;
    request.task = "text:" + (scratch / "t.txt").string();
    request.preset = "small";
    request.optimizer = optimizer;
    request.settings = {{"text.block", "8", ""},   {"text.test_tokens", "300", ""}, {"model.width", "16", ""},
                        {"model.layers", "2", ""}, {"model.heads", "2", ""},        {"model.context", "8", ""},
                        {"train.steps", "20", ""}, {"train.batch_size", "8", ""},   {"train.evaluate_every", "5", ""},
                        {"train.threads", "1", ""}};
    request.settings.insert(request.settings.end(), settings.begin(), settings.end());
    return resolve(request);
  }

  // Twenty images of two classes: 0 is dark, 1 is bright.
  void write_images() const {
    std::filesystem::create_directory(scratch / "cifar10");
    for (const char* name : {"cifar10/data_batch_1.bin", "cifar10/test_batch.bin"}) {
      std::string bytes;
      for (int i = 0; i < 20; ++i) {
        bytes += static_cast<char>(i % 2);
        for (int pixel = 0; pixel < 3072; ++pixel) bytes += static_cast<char>((i * 31 + pixel * 7) % 90 + i % 2 * 120);
      }
      spill(scratch / name, bytes);
    }
  }

  RunConfig image_config(const std::string& optimizer, std::vector<Setting> settings = {}) const {
    ConfigRequest request;
    request.task = "cifar10";
    request.preset = "small";
    request.optimizer = optimizer;
    request.settings = {{"data.train_rows", "0", ""},   {"data.test_rows", "0", ""}, {"model.width", "2", ""},
                        {"model.blocks", "[1, 1]", ""}, {"train.epochs", "4", ""},   {"train.batch_size", "6", ""},
                        {"train.threads", "1", ""}};
    request.settings.insert(request.settings.end(), settings.begin(), settings.end());
    return resolve(request);
  }

  RunOutcome run_images(const RunConfig& config, const std::string& name, bool resume = false) {
    auto asked = request(config, name);
    asked.data_dir = scratch.path().string();
    asked.resume = resume;
    return run_training(asked);
  }

  double first_loss(const std::string& name) const { return metrics(name).front()["train_loss"].get<double>(); }
  double last_loss(const std::string& name) const { return metrics(name).back()["train_loss"].get<double>(); }
};

TEST_F(ModelRuns, EveryOptimizerLearnsOnTextAndImages) {
  write_images();
  for (const auto& optimizer : papers_optimizers_and_ours) {
    SCOPED_TRACE(optimizer);
    for (const std::string kind : {"gpt2", "llama"}) {
      const auto name = kind + "-" + optimizer;
      const auto outcome = run(
          text_config(optimizer, {{"model.kind", kind, ""}, {"model.key_heads", "1", ""}, {"model.inner", "24", ""}}),
          name);
      EXPECT_EQ(outcome.record.status, RunStatus::done) << outcome.record.message;
      EXPECT_LT(last_loss(name), first_loss(name));
      const auto line = metrics(name).back();
      EXPECT_NEAR(line["test_perplexity"].get<double>(), std::exp(line["test_loss"].get<double>()), 1e-9);
    }
    EXPECT_EQ(run_images(image_config(optimizer), "images-" + optimizer).record.status, RunStatus::done);
    EXPECT_LT(last_loss("images-" + optimizer), first_loss("images-" + optimizer));
  }
}

TEST_F(ModelRuns, ResumeWithTheSameBits) {
  write_images();
  const auto config = text_config("lehi-gn", {{"model.dropout", "0.2", ""}, {"checkpoint.every", "5", ""}});
  run(config, "whole");
  EXPECT_EQ(run_until(7, config, "parts").record.status, RunStatus::interrupted);
  EXPECT_EQ(run(config, "parts", /*resume=*/true).record.status, RunStatus::done);
  expect_same_run("whole", "parts");

  // Running means and augmentation must continue as well.
  const auto images = image_config("lehi", {{"checkpoint.every", "1", ""}});
  run_images(images, "images");
  auto asked = request(images, "halves");
  asked.data_dir = scratch.path().string();
  EXPECT_EQ(run_until(6, asked).record.status, RunStatus::interrupted);
  EXPECT_EQ(run_images(images, "halves", /*resume=*/true).record.status, RunStatus::done);
  expect_same_run("images", "halves");
}

TEST_F(ModelRuns, LowMemoryAndRecomputationChangeNoBit) {
  for (const std::string optimizer : {"lehi", "adamw"}) {
    run(text_config(optimizer), optimizer);
    run(text_config(optimizer, {{"train.low_memory", "true", ""}}), optimizer + "-low");
    run(text_config(optimizer, {{"model.recompute", "true", ""}}), optimizer + "-again");
    expect_same_run(optimizer, optimizer + "-low");
    expect_same_run(optimizer, optimizer + "-again");
  }
}

TEST_F(ModelRuns, ChunksOfTheHeadChangeRoundingOnly) {
  run(text_config("lehi"), "whole");
  run(text_config("lehi", {{"model.chunk", "5", ""}}), "chunks");
  EXPECT_NEAR(last_loss("chunks"), last_loss("whole"), 1e-4 * last_loss("whole"));
}

TEST_F(ModelRuns, ADivergedLowMemoryRunHasThatStatus) {
  const auto outcome = run(text_config("sgd", {{"train.low_memory", "true", ""}, {"optimizer.lr", "1e17", ""}}), "a");
  EXPECT_EQ(outcome.record.status, RunStatus::diverged);
}

TEST_F(ModelRuns, LowMemoryThrowsWithOptionsThatMayUndoAStep) {
  const auto message = [&](std::vector<Setting> settings) {
    settings.push_back({"train.low_memory", "true", "--low-memory"});
    return message_of([&] { text_config("lehi", settings); });
  };
  EXPECT_EQ(message({}), "");
  EXPECT_EQ(message({{"optimizer.clip_norm", "1.0", ""}}),
            "train.low_memory cannot be combined with optimizer.clip_norm: "
            "it changes weights before the whole gradient is known");
  EXPECT_EQ(message({{"train.accumulate", "2", ""}}),
            "train.low_memory cannot be combined with train.accumulate = 2: "
            "it changes weights before the whole gradient is known");
  for (const std::string policy : {"throw", "skip"}) {
    EXPECT_EQ(message({{"optimizer.non_finite", policy, ""}}),
              "train.low_memory cannot be combined with optimizer.non_finite = " + policy +
                  ", which would have to undo updates; choose record");
  }
}

// A checkpoint's directory has the layout of Hugging Face's: its config.json has the model's sizes.
TEST_F(ModelRuns, CanStartFromTheWeightsOfACheckpoint) {
  const auto config = text_config("adamw", {{"model.heads", "4", ""}});
  run(config, "first");
  const auto folder = newest_valid(scratch / "first" / "checkpoints").found.value().path;
  std::vector<Setting> settings = weight_settings(folder);
  const auto again = text_config("adamw", settings);
  EXPECT_EQ(again.model.heads, 4);
  EXPECT_EQ(again.text.tokenizer, "bytes");
  settings.push_back({"train.init_from", "'" + folder.string() + "'", ""});
  settings.push_back({"train.steps", "1", ""});
  settings.push_back({"optimizer.lr", "0.0", ""});
  run(text_config("sgd", settings), "second");
  EXPECT_EQ(metrics("second").back()["test_loss"], metrics("first").back()["test_loss"]);
  const auto before = last_checkpoint("first").model;
  const auto after = last_checkpoint("second").model;
  ASSERT_EQ(before.size(), after.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(before[i].first, after[i].first);
    EXPECT_TRUE(lehi::testing::same_bits(before[i].second, after[i].second)) << before[i].first;
  }
  EXPECT_THAT(
      message_of([&] {
        run(text_config("sgd", {{"train.init_from", "'" + folder.string() + "'", ""}, {"model.width", "8", ""}}),
            "third");
      }),
      HasSubstr("wte.weight"));
}

TEST(WeightConfig, IsReadAsItWasWritten) {
  for (const auto* task : {"ptb", "fineweb-edu"}) {
    ConfigRequest request;
    request.task = task;
    const auto config = resolve(request);
    const lehi::testing::Scratch scratch;
    spill(scratch / "config.json", weight_config(config, std::string(task) == "ptb" ? 50257 : 128256));
    ConfigRequest back;
    back.task = "text:x";
    back.settings = weight_settings(scratch / "model.safetensors");
    const auto found = resolve(back);
    EXPECT_EQ(weight_config(found, 0), weight_config(config, 0));
    EXPECT_EQ(found.text.tokenizer, config.text.tokenizer);
  }
  const lehi::testing::Scratch scratch;
  spill(scratch / "config.json", R"({"model_type": "bert"})");
  EXPECT_THAT(message_of([&] { weight_settings(scratch / "model.safetensors"); }),
              HasSubstr("has model_type \"bert\", expected gpt2 or llama"));
}

RunConfig preset_of(const std::string& task, const std::string& preset, const std::string& optimizer = "lehi") {
  ConfigRequest request;
  request.task = task;
  request.preset = preset;
  request.optimizer = optimizer;
  return resolve(request);
}

TEST(TaskModel, ThePapersPresetsHaveThePapersParameters) {
  const auto count = [](const std::string& task, TaskSize size) {
    return model::parameter_count(model_parameters(preset_of(task, "paper"), size));
  };
  EXPECT_EQ(count("protein", {9, 1}), 1'101);
  EXPECT_EQ(count("mnist", {784, 10}), 39'760);
  EXPECT_EQ(count("cifar10", {3072, 10}), 11'173'962);
  EXPECT_EQ(count("cifar100", {3072, 100}), 11'220'132);
  EXPECT_EQ(count("ptb", {0, 50257}), 124'439'808);
  EXPECT_EQ(count("fineweb-edu", {0, 128256}), 1'235'814'400);
}

TEST(TaskModel, AModelThatDoesNotFitTheTaskThrows) {
  auto config = preset_of("mnist", "paper");
  config.model.kind = "gpt2";
  EXPECT_EQ(
      message_of([&] {
        make_model(config, {784, 10});
      }),
      "model.kind gpt2 does not fit task mnist: gpt2 and llama are for text, mlp and resnet for tables and images");
  config.model.kind = "resnet";
  EXPECT_THAT(message_of([&] { make_model(config, {784, 10}); }), HasSubstr("resnet is for cifar10 and cifar100"));
  auto text = preset_of("ptb", "paper");
  text.text.block = 2048;
  EXPECT_EQ(message_of([&] {
              model_parameters(text, {0, 50257});
            }),
            "text.block is 2048, but the model reads at most model.context = 1024 tokens");
}

// On 24 GiB: a step that cannot fit throws, one that was measured to fit does not.
TEST(TaskModel, AStepThatNeedsMoreMemoryThanTheMachineHasThrows) {
  constexpr std::int64_t machine = std::int64_t{24} << 30U;
  auto config = preset_of("fineweb-edu", "paper");
  const TaskSize size{0, 128256};
  EXPECT_THAT(message_of([&] { check_memory(config, size, 1, machine); }),
              HasSubstr("and this machine has 26 GB: try --low-memory, --set model.recompute=true, a smaller"));
  config.optimizer.update_during_pull_back = true;
  config.batch_size = 1;
  config.text.block = 128;
  EXPECT_EQ(message_of([&] { check_memory(config, size, 1, machine); }), "");
  EXPECT_EQ(message_of([&] { check_memory(preset_of("ptb", "small"), {0, 256}, 1, std::int64_t{1} << 30U); }), "");
  EXPECT_EQ(message_of([&] { check_memory(preset_of("mnist", "paper"), {784, 10}, 1, 0); }), "");
}

// How many numbers the optimizer keeps in factors and bases, after a step with any gradient.
std::int64_t kept_in_factors(const RunConfig& config, const TaskSize& size) {
  const auto network = make_model(config, size);
  const std::int64_t rows = is_text_task(config.task) ? config.batch_size * config.text.block : config.batch_size;
  Optimizer optimizer(network->named_parameters(), model::options_for(*network, config.optimizer));
  const auto parameters = network->named_parameters().values();
  Differentiable step;
  step.predictions = torch::zeros({rows});
  step.pull_back = [&](const std::vector<torch::Tensor>&, const Differentiable::Deliver& deliver) {
    for (const auto& parameter : parameters) deliver(parameter, {torch::randn(parameter.sizes())});
  };
  optimizer.step(step, MeanSquaredError(), torch::zeros({rows}));
  std::int64_t numbers = 0;
  for (const auto& parameter : parameters) {
    const ParameterState& state = *optimizer.find_state(parameter);
    for (const auto& tensor : {state.left, state.left_basis, state.right, state.right_basis}) {
      if (tensor.defined()) numbers += tensor.numel();
    }
  }
  return numbers;
}

TEST(TaskModel, AStepsMemoryHasTheFactorsAndBasesThatTheOptimizerKeeps) {
  torch::manual_seed(1);
  for (const std::string name : {"soap", "lehi-kron"}) {
    for (auto [config, size] : {std::pair{preset_of("ptb", "small", name), TaskSize{0, 64}},
                                std::pair{preset_of("fineweb-edu", "small", name), TaskSize{0, 64}},
                                std::pair{preset_of("cifar10", "small", name), TaskSize{3072, 10}},
                                std::pair{preset_of("mnist", "small", name), TaskSize{784, 10}}}) {
      SCOPED_TRACE(config.task + " with " + name);
      config.model.hidden = {24, 16};
      if (config.model.kind == "mlp") config.batch_size = 128;
      const std::int64_t factors = kept_in_factors(config, size);
      EXPECT_GT(factors, 0);
      auto diagonal = config;
      diagonal.optimizer = preset(Preset::adamw);
      EXPECT_EQ(step_bytes(config, size, 1) - step_bytes(diagonal, size, 1), 4 * factors);
      config.distributed.shard_optimizer = true;
      const std::int64_t state = 2 * model::parameter_count(model_parameters(config, size)) + factors;
      EXPECT_EQ(step_bytes(config, size, 1) - step_bytes(config, size, 4), 4 * (state - state / 4));
    }
  }
}

// GPT-2 small: 85M weights in matrices of 768 and 3072, 3.28 GB with both sides turned (docs/reference/optimizers.md),
// of which 2.60 are factors and bases.
TEST(TaskModel, FactorsThatDoNotFitAreAStepThatDoesNotFit) {
  const TaskSize size{0, 50257};
  const auto config = preset_of("ptb", "paper", "soap");
  const auto adam = preset_of("ptb", "paper", "adamw");
  const double factors = static_cast<double>(step_bytes(config, size, 1) - step_bytes(adam, size, 1));
  EXPECT_NEAR(factors / 1e9, 2.60, 0.01);
  const std::int64_t machine = step_bytes(adam, size, 1);
  EXPECT_EQ(message_of([&] { check_memory(adam, size, 1, machine); }), "");
  EXPECT_THAT(message_of([&] { check_memory(config, size, 1, machine); }),
              HasSubstr("--set optimizer.sides=smaller, a smaller"));
}

}  // namespace
}  // namespace lehi::train
