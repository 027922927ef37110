#include "cli/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/run.h"
#include "study/fake.h"
#include "study/study_file.h"
#include "train/scratch.h"

namespace lehi::cli {
namespace {

using ::testing::HasSubstr;
using testing::Scratch;

std::string small_study(const Scratch& scratch) {
  study::Study study;
  study.kind = "sweep";
  study.command_line = {"lehi", "sweep", "protein", "--optimizers", "lehi,adam[lr=1]"};
  study.started = "2024-05-06T07:08:09Z";
  study.runs = {testing::fake_run("lehi", 0.1, 0, 0.25), testing::fake_run("lehi", 0.1, 1, 0.26),
                testing::fake_run("adam", 0.001, 0, 0.24), testing::fake_run("adam", 0.001, 1, NAN)};
  study::write_study(scratch.path(), study);
  return scratch.path().string();
}

TEST(ReportCommand, WritesMarkdownThatBeginsWithTheCommands) {
  const Scratch scratch;
  const Scratch elsewhere;
  const auto file = (elsewhere / "report.md").string();
  const auto result = run({"report", small_study(scratch), "--markdown", file, "--title", "Measured again"});
  EXPECT_EQ(result.code, done) << result.err;
  EXPECT_EQ(result.out, "");
  const auto text = testing::slurp(file);
  EXPECT_THAT(text, ::testing::StartsWith("# Measured again\n"));
  EXPECT_THAT(text, HasSubstr("lehi sweep protein --optimizers 'lehi,adam[lr=1]'\nlehi report "));
  EXPECT_THAT(text, HasSubstr("better than adam, which diverged on 1 of 2 seeds"));
}

TEST(ReportCommand, PrintsTheSameTablesAsTextAndWritesThePage) {
  const Scratch scratch;
  const auto result = run({"report", small_study(scratch)});
  EXPECT_EQ(result.code, done);
  EXPECT_THAT(result.out, HasSubstr("0.2550 ± 0.0071"));
  const auto page = (scratch / "report.html").string();
  EXPECT_EQ(result.err, "lehi: wrote " + page + "\n");
  EXPECT_THAT(testing::slurp(page), HasSubstr("\"schema\":1,\"title\":\"Studies\""));
}

TEST(ReportCommand, WritesOnlyTheRequestedFiles) {
  const Scratch scratch;
  const Scratch elsewhere;
  const auto file = [&](const char* name) { return (elsewhere / name).string(); };
  const auto result = run({"report", small_study(scratch), "--out", file("a.html"), "--latex", file("a.tex"), "--csv",
                           file("a.csv"), "--svg", file("figures")});
  EXPECT_EQ(result.code, done) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(testing::slurp(file("a.html")), ::testing::StartsWith("<!doctype html>"));
  EXPECT_THAT(testing::slurp(file("a.tex")), HasSubstr("\\toprule"));
  EXPECT_THAT(testing::slurp(file("a.csv")), HasSubstr("\r\n"));
  EXPECT_TRUE(std::filesystem::is_directory(file("figures")));
  EXPECT_FALSE(std::filesystem::exists(scratch / "report.html"));
}

TEST(ReportCommand, WarnsAboutADamagedStudyBesideAGoodOne) {
  const Scratch good;
  const Scratch damaged;
  testing::spill(damaged / "study.json", "{\"schema\": 1");
  const auto result = run({"report", small_study(good), damaged.path().string()});
  EXPECT_EQ(result.code, done);
  EXPECT_THAT(result.err, HasSubstr("lehi: warning: "));
}

TEST(ReportCommand, ReportsBadInputInOneSentence) {
  const Scratch scratch;
  const auto study = small_study(scratch);
  EXPECT_EQ(run({"report"}).code, usage_error);
  EXPECT_EQ(run({"report", study, study}).code, usage_error);
  const auto none = run({"report", (scratch / "none").string()});
  EXPECT_EQ(none.code, bad_input);
  EXPECT_THAT(none.err, HasSubstr("is not a study"));
  EXPECT_EQ(run({"report", study, "--markdown", "/proc/nowhere/a.md"}).code, bad_input);
  testing::spill(scratch / "study.json", "{\"schema\": 1");
  EXPECT_EQ(run({"report", study}).code, bad_input);
}

}  // namespace
}  // namespace lehi::cli
