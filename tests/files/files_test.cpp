#include "files/files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "support/support.h"
#include "train/scratch.h"

namespace lehi {
namespace {

using lehi::testing::message_of;
using lehi::testing::Scratch;
using lehi::testing::slurp;
using lehi::testing::spill;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// Limits the size of files that this process writes: a full disk that needs no privileges.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : old_handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit limit{bytes, old_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, old_handler_);
  }

 private:
  rlimit old_{};
  void (*old_handler_)(int);
};

TEST(FileError, NamesOperationPathReasonAndRemedy) {
  EXPECT_THAT(FileError("write", "a/b", ENOSPC).what(),
              AllOf(StartsWith("cannot write a/b: no space"), HasSubstr("free")));
  EXPECT_THAT(FileError("open", "a/b", EACCES).what(), StartsWith("cannot open a/b: permission denied"));
  EXPECT_THAT(FileError("sync", "a/b", EIO).what(), StartsWith("cannot sync a/b: the disk reported"));
}

TEST(PublishFile, ReplacesTheOldContentsAndLeavesNoOtherFile) {
  const Scratch scratch;
  publish_text(scratch / "a", "first, and longer");
  publish_text(scratch / "a", "second");
  EXPECT_EQ(slurp(scratch / "a"), "second");
  EXPECT_THAT(scratch.names(), ElementsAre("a"));
}

TEST(PublishFile, AWriterThatThrowsLeavesTheOldContents) {
  const Scratch scratch;
  publish_text(scratch / "a", "old");
  EXPECT_THROW(publish_file(scratch / "a",
                            [](OutputFile& file) {
                              file.write("half of the n");
                              throw std::logic_error("stop");
                            }),
               std::logic_error);
  EXPECT_EQ(slurp(scratch / "a"), "old");
  EXPECT_THAT(scratch.names(), ElementsAre("a"));
}

TEST(PublishFile, AFullDiskLeavesTheOldContents) {
  const Scratch scratch;
  publish_text(scratch / "a", "old");
  std::string message;
  {
    const FileSizeLimit limit(100);
    message = message_of([&] { publish_text(scratch / "a", std::string(101, 'x')); });
  }
  EXPECT_THAT(message,
              AllOf(StartsWith("cannot write " + (scratch / "a").string()), HasSubstr("larger than the system")));
  EXPECT_EQ(slurp(scratch / "a"), "old");
  EXPECT_THAT(scratch.names(), ElementsAre("a"));
}

TEST(PublishFile, WithoutPermissionThrows) {
  const Scratch scratch;
  std::filesystem::create_directory(scratch / "locked");
  std::filesystem::permissions(scratch / "locked", std::filesystem::perms(0555));
  std::filesystem::permissions(scratch.path(), std::filesystem::perms(0755));
  const bool root = ::geteuid() == 0;  // root may write everywhere: become another user for a moment
  if (root) {
    ASSERT_EQ(::seteuid(65534), 0);
  }
  const auto message = message_of([&] { publish_text(scratch / "locked/a", "text"); });
  if (root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  EXPECT_THAT(message, AllOf(StartsWith("cannot create "), HasSubstr("locked/a"), HasSubstr("permission denied")));
}

TEST(PublishFile, IntoAMissingDirectoryThrows) {
  const Scratch scratch;
  EXPECT_THAT(message_of([&] { publish_text(scratch / "none/a", "text"); }), HasSubstr("does not exist"));
}

TEST(OutputFile, AFullDiskHasItsMessage) {
  OutputFile file("/dev/full", OutputFile::Mode::append);
  EXPECT_EQ(message_of([&] { file.write("text"); }),
            "cannot write /dev/full: no space is left on that disk; free some or write elsewhere");
}

TEST(OutputFile, AFailedAppendIsUndone) {
  const Scratch scratch;
  OutputFile file(scratch / "log", OutputFile::Mode::append);
  file.write("line 1\n");
  {
    const FileSizeLimit limit(10);  // room for 3 bytes of the next line
    EXPECT_THROW(file.write("line 2\n"), FileError);
  }
  EXPECT_EQ(slurp(scratch / "log"), "line 1\n");
  file.write("line 3\n");
  EXPECT_EQ(slurp(scratch / "log"), "line 1\nline 3\n");
}

TEST(OutputFile, AppendsAtTheEnd) {
  const Scratch scratch;
  OutputFile(scratch / "log", OutputFile::Mode::append).write("one");
  OutputFile(scratch / "log", OutputFile::Mode::append).write("two");
  EXPECT_EQ(slurp(scratch / "log"), "onetwo");
  EXPECT_THROW(OutputFile(scratch / "log", OutputFile::Mode::create), FileError);
}

TEST(PublishDirectory, ReplacesAnOlderOne) {
  const Scratch scratch;
  const auto fill = [](const std::string& name) {
    return [name](const std::filesystem::path& temporary) {
      std::filesystem::create_directory(temporary / "inner");
      OutputFile(temporary / "inner" / name, OutputFile::Mode::create).write(name);
    };
  };
  publish_directory(scratch / "d", fill("old"));
  publish_directory(scratch / "d", fill("new"));
  EXPECT_EQ(slurp(scratch / "d/inner/new"), "new");
  EXPECT_FALSE(std::filesystem::exists(scratch / "d/inner/old"));
  EXPECT_THAT(scratch.names(), ElementsAre("d"));
}

TEST(PublishDirectory, AWriterThatThrowsLeavesTheOldOne) {
  const Scratch scratch;
  publish_directory(scratch / "d", [](const auto& temporary) { spill(temporary / "file", "old"); });
  EXPECT_THROW(publish_directory(scratch / "d",
                                 [](const auto& temporary) {
                                   spill(temporary / "file", "new");
                                   throw FileError("stop");
                                 }),
               FileError);
  EXPECT_EQ(slurp(scratch / "d/file"), "old");
  EXPECT_THAT(scratch.names(), ElementsAre("d"));
}

TEST(MakeDirectories, CreatesParentsAndThrowsIfAFileHasTheName) {
  const Scratch scratch;
  make_directories(scratch / "a/b/c/");
  make_directories(scratch / "a/b");
  EXPECT_TRUE(std::filesystem::is_directory(scratch / "a/b/c"));
  spill(scratch / "file", "");
  EXPECT_THAT(message_of([&] { make_directories(scratch / "file"); }), StartsWith("cannot create the directory"));
  EXPECT_THAT(message_of([&] { make_directories(scratch / "file/d"); }), HasSubstr((scratch / "file").string()));
}

TEST(RemoveLeftovers, RemovesOnlyTheFilesOfAKilledWriter) {
  const Scratch scratch;
  for (const char* name : {"run.json", "run.json.tmp-12-0", "notes.tmp", "notes.tmp-12", "tmp-1-2", ".tmp-1-2"}) {
    spill(scratch / name, "");
  }
  std::filesystem::create_directories(scratch / "step-000000001.tmp-7-31/inner");
  EXPECT_EQ(remove_leftovers(scratch.path()), 2);
  EXPECT_THAT(scratch.names(), ElementsAre(".tmp-1-2", "notes.tmp", "notes.tmp-12", "run.json", "tmp-1-2"));
  EXPECT_EQ(remove_leftovers(scratch / "none"), 0);
}

TEST(RemoveLeftovers, OfOneNameKeepsThoseOfOthers) {
  const Scratch scratch;
  for (const char* name : {"a", "a.tmp-12-0", "a.b.tmp-12-0", "b.tmp-12-0"}) spill(scratch / name, "");
  EXPECT_EQ(remove_leftovers_of(scratch / "a"), 1);
  EXPECT_THAT(scratch.names(), ElementsAre("a", "a.b.tmp-12-0", "b.tmp-12-0"));
}

TEST(RemoveLeftovers, KeepsTheFilesOfARunningWriter) {
  const Scratch scratch;
  {
    PendingFile pending(scratch / "file");
    pending.file().write("half");
    EXPECT_EQ(remove_leftovers(scratch.path()), 0);
    pending.publish();
  }
  publish_directory(scratch / "directory", [&](const auto& temporary) {
    EXPECT_EQ(remove_leftovers(scratch.path()), 0);
    spill(temporary / "inner", "text");
  });
  EXPECT_EQ(slurp(scratch / "file"), "half");
  EXPECT_EQ(slurp(scratch / "directory/inner"), "text");
  EXPECT_THAT(scratch.names(), ElementsAre("directory", "file"));
}

TEST(ReadText, AMissingTooLargeOrSpecialFileThrows) {
  const Scratch scratch;
  spill(scratch / "a", "12345");
  EXPECT_EQ(read_text(scratch / "a", 5), "12345");
  EXPECT_THAT(message_of([&] { read_text(scratch / "a", 4); }), HasSubstr("has 5 bytes, expected at most 4"));
  EXPECT_THAT(message_of([&] { read_text(scratch / "b", 4); }), HasSubstr("does not exist"));
  EXPECT_THAT(message_of([&] { read_text(scratch.path(), 4); }), HasSubstr("not a regular file"));
  ASSERT_EQ(::mkfifo((scratch / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(message_of([&] { read_text(scratch / "pipe", 4); }), HasSubstr("not a regular file"));
}

}  // namespace
}  // namespace lehi
