#include "faults/scenarios.h"

#include <fmt/format.h>

#include <cmath>
#include <random>

#include "train/scratch.h"

namespace lehi::faults {

namespace fs = std::filesystem;
using testing::spill;

namespace {

std::string table_text() {
  std::string text = "a,b,y,kind\n";
  for (int i = 0; i < 400; ++i) {
    const double a = std::sin(i * 1.7);
    const double b = std::cos(i * 0.9);
    text += fmt::format("{:.5f},{:.5f},{:.5f},{}\n", a, b, a * b, a > 0.3 ? "red" : b > 0 ? "green" : "blue");
  }
  return text;
}

/// Random images, used if the data directory has no real ones.
void write_images(const fs::path& folder) {
  fs::create_directories(folder);
  std::mt19937 engine(1);  // NOLINT(cert-msc51-cpp): the same images every time
  const auto records = [&](int count) {
    std::string bytes;
    for (int i = 0; i < count; ++i) {
      bytes += static_cast<char>(i % 10);
      for (int j = 0; j < 3072; ++j) bytes += static_cast<char>(engine());
    }
    return bytes;
  };
  spill(folder / "data_batch_1.bin", records(200));
  spill(folder / "test_batch.bin", records(50));
}

}  // namespace

cli::Arguments joined(cli::Arguments words, const cli::Arguments& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::vector<Scenario> scenarios_in(const fs::path& folder, const std::string& data_dir) {
  spill(folder / "t.csv", table_text());
  std::string text;
  for (int i = 0; i < 3000; ++i) text += fmt::format("line {} of {} says {}\n", i, i % 7, i * i % 101);
  spill(folder / "t.txt", text);
  const auto table = "csv:" + (folder / "t.csv").string();
  const cli::Arguments every = {"--set", "train.threads=1", "--resume"};
  std::vector<Scenario> all;
  for (const char* optimizer : {"lehi", "lehi-gn", "lehibrid", "adam", "sophia-g", "sgd"}) {
    const std::string target = all.size() % 2 == 0 ? "y" : "kind";
    const std::string usable = target == "y" && std::string(optimizer) == "sophia-g" ? "kind" : target;
    all.push_back(
        {fmt::format("table, {}", optimizer), false,
         joined({"train", table, "--target", usable, "--optimizer", optimizer, "--lr", "1e-3", "--steps", "3000",
                 "--set", "model.hidden=[16]", "--set", "train.evaluate_every=150", "--checkpoint-every", "200"},
                every)});
  }
  all.push_back({"fashion-mnist, lehi-gn", false,
                 joined({"train", "fashion-mnist", "--preset", "small", "--optimizer", "lehi-gn", "--epochs", "2",
                         "--set", "data.train_rows=6000", "--set", "data.test_rows=1000", "--checkpoint-every", "15"},
                        every)});
  all.push_back({"text, adam", false,
                 joined({"train", "text:" + (folder / "t.txt").string(), "--preset", "small", "--optimizer", "adam",
                         "--steps", "30", "--set", "text.tokenizer=bytes", "--set", "model.layers=2", "--set",
                         "train.evaluate_every=10", "--checkpoint-every", "4"},
                        every)});
  auto images = data_dir;
  if (images.empty() || !fs::exists(fs::path(images) / "cifar10")) {
    images = (folder / "images").string();
    write_images(folder / "images/cifar10");
  }
  all.push_back({"cifar10, lehi", false,
                 joined({"train",
                         "cifar10",
                         "--data-dir",
                         images,
                         "--preset",
                         "small",
                         "--optimizer",
                         "lehi",
                         "--steps",
                         "8",
                         "--batch-size",
                         "16",
                         "--set",
                         "data.train_rows=128",
                         "--set",
                         "data.test_rows=32",
                         "--set",
                         "train.evaluate_every=3",
                         "--checkpoint-every",
                         "2"},
                        every)});
  for (const char* jobs : {"1", "2"}) {
    all.push_back({fmt::format("sweep, {} at once", jobs), true,
                   joined({"sweep",         table,
                           "--target",      "y",
                           "--steps",       "400",
                           "--optimizers",  "lehi,adam",
                           "--lrs",         "1e-3,1e-2",
                           "--seeds",       "0,1",
                           "--best",        "1",
                           "--jobs",        jobs,
                           "--set",         "model.hidden=[8]",
                           "--set",         "train.evaluate_every=100",
                           "--set",         "checkpoint.every=100",
                           "--retry-failed"},
                          every)});
  }
  return all;
}

}  // namespace lehi::faults
