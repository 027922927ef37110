// `lehi data`: its output and exit codes.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/data.h"
#include "data/find_files.h"
#include "data_files/fixture.h"
#include "support/support.h"

namespace lehi::cli {
namespace {

using lehi::testing::Folder;
using lehi::testing::message_of;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Answer {
  int code;
  std::string out;
  std::string err;
};

Answer lehi(Arguments arguments) {
  arguments.insert(arguments.begin(), "data");
  std::ostringstream out;
  std::ostringstream err;
  const int code = run_program(arguments, out, err);
  return {code, out.str(), err.str()};
}

TEST(DataCommand, ParsesActionTasksAndFlags) {
  const auto config = parse_data({"verify", "mnist", "protein", "--data-dir", "d", "--json"});
  EXPECT_EQ(config.action, "verify");
  EXPECT_THAT(config.tasks, ::testing::ElementsAre("mnist", "protein"));
  EXPECT_EQ(config.data_dir, "d");
  EXPECT_TRUE(config.json);
}

TEST(DataCommand, UsageErrorsExitWith2) {
  for (const Arguments& wrong : {Arguments{}, {"steal"}, {"list", "minst"}, {"get"}, {"list", "--colour"}}) {
    const auto answer = lehi(wrong);
    EXPECT_EQ(answer.code, usage_error);
    EXPECT_THAT(answer.out, IsEmpty());
    EXPECT_THAT(answer.err, ::testing::StartsWith("lehi: "));
  }
}

TEST(DataCommand, ListHasMissingFilesTheirPlaceAndAdvice) {
  const Folder folder;
  folder.write("mnist/train-labels-idx1-ubyte.gz", "x");
  const auto text = lehi({"list", "protein", "mnist", "--data-dir", folder.string()});
  EXPECT_EQ(text.code, done);
  EXPECT_THAT(text.out, AllOf(HasSubstr("protein: missing"), HasSubstr("UCI"), HasSubstr("mnist: partial"),
                              HasSubstr("lehi data get mnist"), HasSubstr(folder.string() + "/mnist")));

  const auto answer = lehi({"list", "--json", "--data-dir", folder.string()});
  const auto json = nlohmann::json::parse(answer.out);
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["data_dir"], folder.string());
  ASSERT_EQ(json["tasks"].size(), data::catalogue().size());
  const auto& mnist = json["tasks"][1];
  EXPECT_EQ(mnist["task"], "mnist");
  EXPECT_EQ(mnist["status"], "partial");
  EXPECT_TRUE(mnist["files"][0]["path"].is_null());
  EXPECT_EQ(mnist["files"][1]["path"], folder.string() + "/mnist/train-labels-idx1-ubyte.gz");
}

TEST(DataCommand, VerifyFindsWrongAndMissingFiles) {
  const Folder folder;
  EXPECT_EQ(lehi({"verify", "mnist", "--data-dir", folder.string()}).code, bad_input);

  folder.write("protein/CASP.csv", "not it");
  const auto answer = lehi({"verify", "protein", "--json", "--data-dir", folder.string()});
  EXPECT_EQ(answer.code, bad_input);
  EXPECT_THAT(answer.err, HasSubstr("CASP.csv holds 6 bytes, the official file 3528690"));
  const auto json = nlohmann::json::parse(answer.out);
  ASSERT_EQ(json["files"].size(), 1U);
  EXPECT_EQ(json["files"][0]["status"], "wrong");

  folder.write("protein/CASP.csv", "\x1f\x8b broken");
  EXPECT_EQ(lehi({"verify", "protein", "--data-dir", folder.string()}).code, bad_input);
}

TEST(DataCommand, FilesWithoutAnOfficialCopyAreListedAndNotReportedAsWrong) {
  const Folder folder;
  folder.write("ptb/ptb.train.txt", "a");
  folder.write("ptb/ptb.valid.txt.gz", "b");
  folder.write("fineweb-edu/fineweb-edu.jsonl.zst", "c");
  const auto list = lehi({"list", "ptb", "fineweb-edu", "--data-dir", folder.string()}).out;
  EXPECT_THAT(list, AllOf(HasSubstr("ptb: partial"), HasSubstr("missing    ptb.test.txt (plain or .gz)"),
                          HasSubstr("fineweb-edu: complete")));
  folder.write("ptb/ptb.test.txt", "d");
  const auto answer = lehi({"verify", "ptb", "fineweb-edu", "--json", "--data-dir", folder.string()});
  EXPECT_EQ(answer.code, done) << answer.err;
  const auto files = nlohmann::json::parse(answer.out)["files"];
  ASSERT_EQ(files.size(), 4U);
  for (const auto& file : files) EXPECT_EQ(file["status"], "no official copy");
  EXPECT_EQ(lehi({"get", "ptb", "--data-dir", folder.string()}).code, done);  // present

  const Folder empty;
  EXPECT_THAT(lehi({"list", "fineweb-edu", "--data-dir", empty.string()}).out,
              HasSubstr("missing    fineweb-edu.jsonl (also as .jsonl.gz, .jsonl.zst, .txt, .bin)"));
  EXPECT_THAT(lehi({"get", "ptb", "--data-dir", empty.string()}).err, HasSubstr("no package provides ptb"));
  const auto json = nlohmann::json::parse(lehi({"list", "ptb", "--json", "--data-dir", empty.string()}).out);
  EXPECT_TRUE(json["tasks"][0]["files"][0]["sha256"].is_null());
}

TEST(DataCommand, VerifyIgnoresMissingOptionalFiles) {
  const Folder folder;
  for (const char* name : {"cifar10/data_batch_1.bin", "cifar10/test_batch.bin"}) {
    std::filesystem::resize_file(folder.write(name, ""), 30'730'000);
  }
  const auto answer = lehi({"verify", "cifar10", "--data-dir", folder.string()});
  EXPECT_EQ(answer.code, done) << answer.err;
  EXPECT_THAT(answer.out, AllOf(HasSubstr("ok"), HasSubstr("missing")));
  EXPECT_THAT(lehi({"list", "cifar10", "--data-dir", folder.string()}).out, HasSubstr("cifar10: complete"));
}

TEST(DataCommand, InstalledFashionMnistVerifiesAndIsNotFetchedAgain) {
  const Folder folder;
  if (!data::search(data::task_files("fashion-mnist"), folder.string()).back().complete()) {
    GTEST_SKIP() << "the Debian package dataset-fashion-mnist is not installed";
  }
  const auto all =
      lehi({"verify", "--data-dir", folder.string()});  // missing files are errors only for tasks that were named
  EXPECT_EQ(all.code, done) << all.err;
  EXPECT_THAT(all.out, AllOf(HasSubstr("ok"), HasSubstr("missing")));
  const auto got = lehi({"get", "fashion-mnist", "--json", "--data-dir", folder.string()});
  EXPECT_EQ(got.code, done);
  EXPECT_EQ(nlohmann::json::parse(got.out)["tasks"][0]["status"], "present");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(DataCommand, GettingProteinExitsWith3AndAdvice) {
  const Folder folder;
  const auto answer = lehi({"get", "protein", "--data-dir", folder.string()});
  EXPECT_EQ(answer.code, bad_input);
  EXPECT_THAT(answer.err, AllOf(HasSubstr("UCI"), HasSubstr(folder.string() + "/protein")));
}

TEST(DataCommand, SignalDuringGetExitsWith143) {
  const Folder folder;
  const auto npm = folder.write("bin/npm", "#!/bin/sh\nkill -TERM $PPID; sleep 1000\n");
  std::filesystem::permissions(npm, std::filesystem::perms::owner_all);
  const lehi::testing::Environment path("PATH", folder.string() + "/bin:/usr/bin:/bin");
  EXPECT_EQ(lehi({"get", "mnist", "--data-dir", folder.string() + "/data"}).code, 143);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path() / "data"));
}

}  // namespace
}  // namespace lehi::cli
