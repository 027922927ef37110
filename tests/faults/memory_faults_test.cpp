// Every loader of the program with one failing allocation, or with all failing from one on: no crash, one message, exit
// code 1, no open descriptor.
#ifndef LEHI_SANITIZED
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iostream>
#include <sstream>

#include "data_files/fixture.h"
#include "faults/allocations.h"
#include "faults/differences.h"
#include "faults/fault_points.h"
#include "faults/harness.h"
#include "files/files.h"
#include "text/fixture.h"
#include "train/scratch.h"

namespace lehi::faults {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string image_record() {
  std::string bytes(1 + 3072, '\x55');
  bytes[0] = '\3';
  return bytes;
}

/// A loader and a command that uses it.
struct Loader {
  std::string name;
  cli::Arguments (*command)(const fs::path& folder);
};

cli::Arguments small_run(const std::string& task, const fs::path& folder) {
  return {"train",        task, "--data-dir", folder.string(),   "--steps", "1",
          "--batch-size", "2",  "--set",      "train.threads=1", "--out",   (folder / "run").string(),
          "--resume"};
}

const std::vector<Loader>& loaders() {
  static const std::vector<Loader> all = {
      {"Csv",
       [](const fs::path& folder) {
         std::string text = "a,b,y\n";
         for (int i = 0; i < 30; ++i) text += fmt::format("{},{},{}\n", i % 7, i % 5, i % 3);
         testing::spill(folder / "t.csv.gz", testing::gzipped(text));
         auto words = small_run("csv:" + (folder / "t.csv.gz").string(), folder);
         words.insert(words.end(), {"--target", "y"});
         return words;
       }},
      {"Idx",
       [](const fs::path& folder) {
         fs::create_directory(folder / "mnist");
         for (const std::string part : {"train", "t10k"}) {
           testing::spill(folder / "mnist" / (part + "-images-idx3-ubyte"),
                          testing::idx(0x803, {4, 28, 28}, std::string(4 * 784, '\x40')));
           testing::spill(folder / "mnist" / (part + "-labels-idx1-ubyte"), testing::idx(0x801, {4}, "\1\2\3\4"));
         }
         return small_run("mnist", folder);
       }},
      {"Cifar",
       [](const fs::path& folder) {
         fs::create_directory(folder / "cifar10");
         testing::spill(folder / "cifar10/data_batch_1.bin", image_record() + image_record());
         testing::spill(folder / "cifar10/test_batch.bin", image_record());
         // The weights do not fit; the images are loaded before them.
         return cli::Arguments{"eval",          "cifar10",   "--data-dir",
                               folder.string(), "--weights", LEHI_TEST_DATA "/mixed.safetensors"};
       }},
      {"Tokenizer",
       [](const fs::path& folder) {
         const auto files = text::gpt2_files(text::small_parts({{"a", "b"}, {"ab", "c"}}, {"<|endoftext|>"}));
         fs::create_directory(folder / "gpt2");
         testing::spill(folder / "gpt2/encoder.json", files.encoder_json);
         testing::spill(folder / "gpt2/vocab.bpe", files.vocab_bpe);
         testing::spill(folder / "t.txt", "abc abcabc aab\n");
         return cli::Arguments{"tokenize",   "--tokenizer",   "gpt2",
                               "--data-dir", folder.string(), (folder / "t.txt").string()};
       }},
      {"TextAndShards",
       [](const fs::path& folder) {
         std::string text;
         for (int i = 0; i < 400; ++i) text += "so long, and thanks ";
         testing::spill(folder / "t.txt", text);
         ::setenv("XDG_CACHE_HOME", folder.c_str(), 1);
         auto words = small_run("text:" + (folder / "t.txt").string(), folder);
         for (const char* setting :
              {"text.tokenizer=bytes", "model.layers=1", "model.width=8", "model.heads=1", "text.block=16"}) {
           words.insert(words.end(), {"--set", setting});
         }
         words.insert(words.end(), {"--preset", "small"});
         return words;
       }},
      {"Checkpoint",
       [](const fs::path& folder) {
         testing::spill(folder / "t.csv", "a,y\n1,2\n2,3\n3,5\n4,4\n5,6\n6,7\n7,9\n8,8\n9,7\n10,12\n");
         auto words = small_run("csv:" + (folder / "t.csv").string(), folder);
         *std::find(words.begin(), words.end(), "1") = "4";
         words.insert(words.end(), {"--target", "y", "--checkpoint-every", "1"});
         Layer layer(folder, folder / "run");
         EXPECT_EQ(layer.run(words, {Kind::kill, 100}).code, -9);
         EXPECT_FALSE(list_directory(folder / "run/checkpoints").empty());
         fs::rename(folder / "run", folder / "prepared");
         return words;
       }},
      {"Safetensors",
       [](const fs::path& folder) {
         return cli::Arguments{"convert", LEHI_TEST_DATA "/mixed.safetensors", (folder / "out.safetensors").string(),
                               "--dtype", "float32"};
       }},
  };
  return all;
}

std::size_t open_descriptors() {
  const fs::directory_iterator entries("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

class MemoryFaults : public ::testing::TestWithParam<Loader> {
 protected:
  struct Answer {
    int code = 0;
    std::string err;
  };

  /// Runs the command with failing allocations in a fork. Writes the number of allocations to count.txt.
  Answer run(const cli::Arguments& words, std::int64_t at, bool all_after) const {
    constexpr int leaks = 99;
    const auto err = scratch / "err.txt";
    const int code = forked([&] {
      cli::install_terminate_handler();
      const int file = ::open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
      const int nothing = ::open("/dev/null", O_WRONLY);
      ::dup2(file, STDERR_FILENO);
      ::dup2(nothing, STDOUT_FILENO);
      const auto before = open_descriptors();
      fail_allocation(at, all_after);
      const int result = cli::run_program(words, std::cout, std::cerr);
      const auto count = stop_counting_allocations();
      std::ofstream(scratch / "count.txt") << count;
      return open_descriptors() == before ? result : leaks;
    });
    return {code, testing::slurp(err)};
  }

  testing::Scratch scratch;
};

TEST_P(MemoryFaults, GiveOneMessage) {
  const auto folder = scratch / "data";
  fs::create_directory(folder);
  const auto words = GetParam().command(folder);
  const auto prepare = [&] {
    for (const char* left : {"run", "out.safetensors", "lehi"}) fs::remove_all(folder / left);
    if (fs::exists(folder / "prepared")) fs::copy(folder / "prepared", folder / "run", fs::copy_options::recursive);
  };
  prepare();
  // Once in this process, so that libraries are initialised before the forks: libcrypto, LibTorch's cpuinfo and glibc
  // abort the process if an allocation of their initialisation fails.
  std::ostringstream warm;
  cli::run_program(words, warm, warm);
  prepare();
  const auto usual = run(words, 0, false);
  ASSERT_THAT(usual.code, ::testing::AnyOf(cli::done, cli::bad_input)) << usual.err;
  const auto count = std::stoll(testing::slurp(scratch / "count.txt"));
  ASSERT_GT(count, 100);
  const std::int64_t tries = std::min<std::int64_t>(count, tries_all() ? 500 : 8);
  int messages = 0;
  for (std::int64_t i = 0; i < tries; ++i) {
    for (const bool all_after : {false, true}) {
      prepare();
      const auto at = 1 + i * count / tries;
      const auto [code, err] = run(words, at, all_after);
      const auto shown = fmt::format("allocation {} of {}{}, exit code {}: {}", at, count,
                                     all_after ? " and all after it" : "", code, err);
      // Some allocations are optional: the command then succeeds.
      ASSERT_THAT(code, ::testing::AnyOf(usual.code, cli::internal_error, cli::bad_input)) << shown;
      if (code == usual.code && err == usual.err) continue;
      ++messages;
      for (const char* trace : {"Exception raised", "terminate called", "frame #", "bad_alloc", "enforce"}) {
        ASSERT_EQ(err.find(trace), std::string::npos) << shown;
      }
      if (code == cli::internal_error) {
        ASSERT_THAT(err, HasSubstr("memory")) << shown;
      }
    }
  }
  EXPECT_GE(messages, tries) << "too few failures were reported";
}

INSTANTIATE_TEST_SUITE_P(Loaders, MemoryFaults, ::testing::ValuesIn(loaders()),
                         [](const auto& loader) { return loader.param.name; });

}  // namespace
}  // namespace lehi::faults
#endif
