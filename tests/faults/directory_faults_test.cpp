// Replacing a directory while the disk fails or the process is killed, on file systems with and without
// RENAME_EXCHANGE: afterwards there is either the complete old directory or the complete new one.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "faults/differences.h"
#include "faults/fault_points.h"
#include "faults/harness.h"
#include "files/files.h"
#include "train/scratch.h"

namespace lehi::faults {
namespace {

namespace fs = std::filesystem;

void publish(const fs::path& path, const std::string& word) {
  publish_directory(path, [&](const fs::path& temporary) {
    for (const char* name : {"one", "two"}) publish_text(temporary / name, word);
  });
}

/// "old" or "new"; "" if the directory does not exist or is neither of them completely.
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
  for (const auto& fault : fault_points(operations, 60)) {
    const auto ended = replace(fault);
    const auto word = word_of(scratch / "w/d");
    EXPECT_TRUE(ended.code == 0 || ended.code == 3 || ended.code == -SIGKILL) << text_of(fault);
    EXPECT_TRUE(ended.code != 0 || word == "new") << text_of(fault);
    untouched += word == "old" ? 1 : 0;
    if (!word.empty()) continue;
    // Without RENAME_EXCHANGE there is a moment without the directory. It remains missing only if the process is killed
    // or the disk fails for good in that moment; the complete old directory is then beside it.
    EXPECT_FALSE(GetParam()) << text_of(fault);
    EXPECT_FALSE(is_temporary(fault.kind)) << text_of(fault);
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
