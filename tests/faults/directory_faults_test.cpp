// A directory that is replaced while the disk fails or the process dies, on file systems that can swap two names and on
// those that can't: whoever looks for it finds all of the old one or all of the new one.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "faults/ends.h"
#include "faults/harness.h"
#include "faults/points.h"
#include "files/files.h"
#include "train/scratch.h"

namespace lehi::faults {
namespace {

namespace fs = std::filesystem;

void publish(const fs::path& path, const std::string& word) {
  publish_directory(path, [&](const fs::path& aside) {
    for (const char* name : {"one", "two"}) publish_text(aside / name, word);
  });
}

/// "old", "new", or "" when it is not there or no whole directory of either.
std::string word_of(const fs::path& directory) {
  if (!fs::exists(directory / "one") || !fs::exists(directory / "two")) return "";
  const auto word = read_text(directory / "one", 100);
  return word == read_text(directory / "two", 100) ? word : "";
}

class DirectoryFaults : public ::testing::TestWithParam<bool> {};

TEST_P(DirectoryFaults, AllOldOrAllNew) {
  const testing::Scratch scratch;
  Layer layer(scratch.path(), scratch / "w");
  layer.allow_exchange(GetParam());
  const auto replace = [&](const Fault& fault) {
    fs::remove_all(scratch / "w");
    fs::create_directory(scratch / "w");
    publish(scratch / "w/d", "old");
    return layer.run_work(
        [&] {
          try {
            publish(scratch / "w/d", "new");
            return 0;
          } catch (const FileError&) {
            return 3;
          }
        },
        fault);
  };
  const auto operations = replace({}).operations;
  ASSERT_EQ(word_of(scratch / "w/d"), "new");
  ASSERT_TRUE(leftovers(scratch / "w").empty());
  int untouched = 0;
  for (const auto& fault : points(operations, 60)) {
    const auto ended = replace(fault);
    const auto word = word_of(scratch / "w/d");
    EXPECT_TRUE(ended.code == 0 || ended.code == 3 || ended.code == -SIGKILL) << text_of(fault);
    EXPECT_TRUE(ended.code != 0 || word == "new") << text_of(fault);
    untouched += word == "old" ? 1 : 0;
    if (!word.empty()) continue;
    // Without exchange the name is free for a moment. Only a death there, or a disk that does not recover, shows it,
    // and even then the old directory is whole beside it.
    EXPECT_FALSE(GetParam()) << text_of(fault);
    EXPECT_FALSE(passes(fault.kind)) << text_of(fault);
    bool beside = false;
    for (const auto& name : leftovers(scratch / "w")) beside = beside || word_of(name) == "old";
    EXPECT_TRUE(beside) << text_of(fault);
  }
  EXPECT_GT(untouched, 0);
}

INSTANTIATE_TEST_SUITE_P(Exchange, DirectoryFaults, ::testing::Bool(),
                         [](const auto& each) { return each.param ? "Swaps" : "RenamesTwice"; });

}  // namespace
}  // namespace lehi::faults
