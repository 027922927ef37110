// The same seed, machine and number of threads give the same bits: every optimizer on every kind of task, twice in one
// process and in two processes. Another number of threads gives the same run up to rounding.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <cstdlib>
#include <map>

#include "cli/run.h"
#include "lehi/presets.h"
#include "train/runs.h"

namespace lehi::train {
namespace {

using lehi::testing::slurp;
using lehi::testing::spill;

// A tiny task of one kind, trained for six steps.
struct TinyTask {
  std::string name;
  std::string task;
  std::vector<Setting> settings;
  bool only_our_loops;  // without products of BLAS or oneDNN, which may split sums by threads
};

class Determinism : public RunFixture {
 protected:
  Determinism() {
    ::setenv("XDG_CACHE_HOME", (scratch / "cache").c_str(), 1);
    write_rows();
    write_digits();
    write_colours();
    write_words();
  }
  ~Determinism() override { ::unsetenv("XDG_CACHE_HOME"); }

  std::vector<TinyTask> tasks() const {
    const std::string csv = "csv:" + (scratch / "rows.csv").string();
    const std::string text = "text:" + (scratch / "words.txt").string();
    const std::vector<Setting> language = {{"text.block", "8", ""},   {"text.test_tokens", "200", ""},
                                           {"model.width", "16", ""}, {"model.layers", "2", ""},
                                           {"model.heads", "2", ""},  {"model.context", "8", ""}};
    std::vector<Setting> gpt2 = language;
    gpt2.push_back({"model.kind", "gpt2", ""});
    gpt2.push_back({"model.dropout", "0.1", ""});
    std::vector<Setting> llama = language;
    llama.push_back({"model.kind", "llama", ""});
    llama.push_back({"model.key_heads", "1", ""});
    llama.push_back({"model.inner", "24", ""});
    return {{"regression", csv, {{"data.target", "y", ""}, {"model.hidden", "[8]", ""}}, true},
            {"classification", csv, {{"data.target", "kind", ""}, {"model.hidden", "[8]", ""}}, true},
            {"digits", "mnist", {{"model.hidden", "[8]", ""}}, true},
            {"colours",
             "cifar10",
             {{"data.train_rows", "0", ""},
              {"data.test_rows", "0", ""},
              {"model.width", "8", ""},
              {"model.blocks", "[1, 1]", ""}},
             false},
            {"gpt2", text, gpt2, false},
            {"llama", text, llama, false}};
  }

  // The task's settings, then those of every run here.
  static std::vector<Setting> settings_of(const TinyTask& task, int threads, int seed) {
    auto all = task.settings;
    const std::vector<Setting> common = {{"train.steps", "6", ""},
                                         {"train.batch_size", "8", ""},
                                         {"train.evaluate_every", "3", ""},
                                         {"train.threads", std::to_string(threads), ""},
                                         {"seed", std::to_string(seed), ""}};
    all.insert(all.end(), common.begin(), common.end());
    return all;
  }

  void train(const TinyTask& task, const std::string& optimizer, int threads, int seed, const std::string& name) {
    ConfigRequest asked;
    asked.task = task.task;
    asked.preset = "small";
    asked.optimizer = optimizer;
    asked.settings = settings_of(task, threads, seed);
    auto run = request(resolve(asked), name);
    run.data_dir = scratch.path().string();
    ASSERT_EQ(run_training(run).record.status, RunStatus::done) << name;
  }

  // In a process of its own, with another memory layout.
  void train_apart(const TinyTask& task, const std::string& optimizer, int threads, const std::string& name) const {
    std::string command =
        fmt::format("\"$LEHI\" train '{}' --preset small --optimizer {} --data-dir '{}' --out '{}' --progress none",
                    task.task, optimizer, scratch.path().string(), (scratch / name).string());
    for (const Setting& setting : settings_of(task, threads, 5)) {
      command += fmt::format(" --set '{}={}'", setting.key, setting.value);
    }
    ASSERT_EQ(cli::run_process(command + " 2>/dev/null").code, 0) << command;
  }

  // Every tensor file of every checkpoint, by its path.
  std::map<std::string, std::string> tensor_files(const std::string& name) const {
    std::map<std::string, std::string> files;
    const auto folder = scratch / name / "checkpoints";
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (entry.path().extension() == ".safetensors") {
        files[std::filesystem::relative(entry.path(), folder)] = slurp(entry.path());
      }
    }
    return files;
  }

  double last_loss(const std::string& name) const { return metrics(name).back().at("train_loss").get<double>(); }

  bool same_run(const std::string& a, const std::string& b) const {
    const auto files = tensor_files(a);
    EXPECT_FALSE(files.empty());
    return files == tensor_files(b) && metrics(a) == metrics(b);
  }

 private:
  void write_rows() const {
    std::string text = "a,b,c,y,kind\n";
    for (int i = 0; i < 120; ++i) {
      const double a = std::sin(i * 1.7);
      const double b = std::cos(i * 0.9);
      text += fmt::format("{:.6f},{:.6f},{:.6f},{:.6f},{}\n", a, b, std::sin(i * 0.3), a * b, i % 3 == 0 ? "p" : "q");
    }
    spill(scratch / "rows.csv", text);
  }

  void write_digits() const {
    std::filesystem::create_directory(scratch / "mnist");
    const auto word = [](std::uint32_t value) {
      std::string bytes;
      for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(value >> shift & 0xffU);
      return bytes;
    };
    for (const std::string part : {"train", "t10k"}) {
      std::string pixels;
      std::string labels;
      for (std::uint32_t i = 0; i < 40; ++i) {
        labels += static_cast<char>(i % 10);
        for (std::uint32_t pixel = 0; pixel < 784; ++pixel)
          pixels += static_cast<char>((i * 31 + pixel * (i % 10 + 1)) % 250);
      }
      spill(scratch / ("mnist/" + part + "-images-idx3-ubyte"), word(0x803) + word(40) + word(28) + word(28) + pixels);
      spill(scratch / ("mnist/" + part + "-labels-idx1-ubyte"), word(0x801) + word(40) + labels);
    }
  }

  void write_colours() const {
    std::filesystem::create_directory(scratch / "cifar10");
    for (const char* name : {"cifar10/data_batch_1.bin", "cifar10/test_batch.bin"}) {
      std::string bytes;
      for (int i = 0; i < 24; ++i) {
        bytes += static_cast<char>(i % 2);
        for (int pixel = 0; pixel < 3072; ++pixel) bytes += static_cast<char>((i * 31 + pixel * 7) % 90 + i % 2 * 120);
      }
      spill(scratch / name, bytes);
    }
  }

  void write_words() const {
    const std::vector<std::string> words = {"the ", "cat ", "sat ", "on ", "a ", "mat. ", "so ", "it ", "was. "};
    std::string text;
    for (std::size_t i = 0; i < 600; ++i) text += words[i * i % 7 + i % 3];
    spill(scratch / "words.txt", text);
  }
};

TEST_F(Determinism, EveryOptimizerOnEveryTaskHasTheSameBitsTwice) {
  for (const TinyTask& task : tasks()) {
    for (const Preset preset : all_presets()) {
      const std::string optimizer(name(preset));
      SCOPED_TRACE(task.name + " with " + optimizer);
      train(task, optimizer, 2, 5, task.name + optimizer + "a");
      train(task, optimizer, 2, 5, task.name + optimizer + "b");
      EXPECT_TRUE(same_run(task.name + optimizer + "a", task.name + optimizer + "b"));
    }
    train(task, "lehi", 2, 6, task.name + "another seed");
    EXPECT_FALSE(same_run(task.name + "lehia", task.name + "another seed")) << task.name;
  }
}

TEST_F(Determinism, EveryNumberOfThreadsHasTheSameBitsTwice) {
  for (const TinyTask& task : tasks()) {
    for (const int threads : {1, 2, 3}) {
      SCOPED_TRACE(fmt::format("{} on {} threads", task.name, threads));
      const auto name = fmt::format("{}{}", task.name, threads);
      train(task, "lehi-gn", threads, 5, name + "a");
      train(task, "lehi-gn", threads, 5, name + "b");
      EXPECT_TRUE(same_run(name + "a", name + "b"));
    }
  }
}

TEST_F(Determinism, AnotherNumberOfThreadsIsTheSameRunUpToRounding) {
  for (const TinyTask& task : tasks()) {
    for (const std::string optimizer : {"lehi-gn", "adam"}) {
      const std::string one = task.name + optimizer + "one";
      train(task, optimizer, 1, 5, one);
      for (const int threads : {2, 3}) {
        SCOPED_TRACE(fmt::format("{} with {} on {} threads", task.name, optimizer, threads));
        const auto several = fmt::format("{}{}{}", task.name, optimizer, threads);
        train(task, optimizer, threads, 5, several);
        EXPECT_TRUE(same_run(one, several) || !task.only_our_loops);
        // Adam's first steps are the signs of gradients: if one is nearly 0, rounding decides the step. So the losses
        // are compared, on which such a weight has almost no effect; those of another seed differ by far more.
        EXPECT_NEAR(last_loss(several), last_loss(one), 1e-3 * last_loss(one));
      }
      train(task, optimizer, 2, 6, task.name + optimizer + "another seed");
      EXPECT_GT(std::abs(last_loss(task.name + optimizer + "another seed") - last_loss(one)), 2e-3 * last_loss(one));
    }
  }
}

TEST_F(Determinism, SeparateProcessesHaveTheSameBits) {
  for (const TinyTask& task : tasks()) {
    SCOPED_TRACE(task.name);
    train_apart(task, "lehi-gn", 2, task.name + "a");
    train_apart(task, "lehi-gn", 2, task.name + "b");
    EXPECT_TRUE(same_run(task.name + "a", task.name + "b"));
  }
}

}  // namespace
}  // namespace lehi::train
