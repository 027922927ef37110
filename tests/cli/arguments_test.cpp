// Parsing helpers that every subcommand uses.
#include "cli/arguments.h"

#include <gtest/gtest.h>

#include "base/nearest.h"
#include "cli/help.h"
#include "support/support.h"

namespace lehi::cli {
namespace {

using testing::message_of;
using Numbers = std::vector<double>;

TEST(ParseNumbers, ReadsCommaSeparatedDoublesExactly) {
  EXPECT_EQ(parse_numbers("--x", "1"), (Numbers{1}));
  EXPECT_EQ(parse_numbers("--x", "-1.5,2e-3,.1"), (Numbers{-1.5, 2e-3, 0.1}));
  EXPECT_EQ(parse_numbers("--x", "0.1000000000000000055"), (Numbers{0.1}));
}

TEST(ParseNumbers, ThrowsForAnythingElseAndNamesOptionAndPiece) {
  for (const auto* const text : {"", "1,", ",1", "1,,2", "a", "1 ", "1;2", "nan", "inf", "1e999", "0x10"}) {
    EXPECT_THROW(parse_numbers("--x", text), UsageError) << "'" << text << "'";
  }
  EXPECT_EQ(message_of([] { parse_numbers("--start", "1,b,2"); }),
            "--start: 'b' in '1,b,2' is not a finite number; expected numbers separated by commas");
}

TEST(ParseArguments, ThrowsUsageErrorsAndTheHelpText) {
  double rate = 0;
  CLI::App app("What it does.", "lehi thing");
  app.add_option("--rate", rate)->check(finite());
  app.footer("Examples:\n  lehi thing --rate 1");
  parse_arguments(app, {"--rate", "-2.5"});
  EXPECT_EQ(rate, -2.5);
  EXPECT_THROW(parse_arguments(app, {"--rate", "nan"}), UsageError);
  EXPECT_THROW(parse_arguments(app, {"--rate"}), UsageError);
  EXPECT_THROW(parse_arguments(app, {"--speed", "1"}), UsageError);
  EXPECT_NE(message_of([&] { parse_arguments(app, {"--speed", "1"}); }).find("`lehi thing --help`"), std::string::npos);
  EXPECT_THROW(parse_arguments(app, {"--help"}), HelpRequest);
  EXPECT_NE(message_of([&] { parse_arguments(app, {"-h"}); }).find("lehi thing --rate 1"), std::string::npos);
}

TEST(ParseArguments, SplitsAtCommas) {
  EXPECT_EQ(split_at_commas("a,,b"), (std::vector<std::string_view>{"a", "", "b"}));
  EXPECT_EQ(split_at_commas(""), (std::vector<std::string_view>{""}));
}

TEST(HelpText, ShowsUsageArgumentsAndOptionsByGroup) {
  std::vector<std::string> files;
  std::string name = "x";
  int size = 0;
  bool json = false;
  CLI::App app("Do a thing.", "lehi thing");
  app.add_option("FILE", files, "files to read")->required();
  app.add_option("--name", name, "name of the thing")->type_name("NAME")->capture_default_str()->group("Thing");
  app.add_option("--a-rather-longer-option", size, std::string(60, 'a') + " " + std::string(20, 'b'))
      ->type_name("N")
      ->check(CLI::Range(1, 9))
      ->required()
      ->group("Thing");
  app.add_flag("--json", json, "print JSON");
  app.add_flag("--hidden", json, "for tests")->group("");
  app.footer("Examples:\n  lehi thing a");
  EXPECT_EQ(help_text(app),
            "Do a thing.\n"
            "\n"
            "Usage: lehi thing [OPTIONS] FILE...\n"
            "\n"
            "Arguments:\n"
            "  FILE                      files to read\n"
            "\n"
            "Thing:\n"
            "  --name NAME               name of the thing [default: x]\n"
            "  --a-rather-longer-option N\n"
            "                            " +
                std::string(60, 'a') +
                "\n"
                "                            " +
                std::string(20, 'b') +
                " (required)\n"
                "\n"
                "Options:\n"
                "  --json                    print JSON\n"
                "  -h, --help                print this help and exit\n"
                "\n"
                "Examples:\n"
                "  lehi thing a\n");
}

TEST(NearestName, IsFoundForTypingMistakesOnly) {
  const std::vector<std::string> known = {"doctor", "list", "loss", "trace", "bound"};
  EXPECT_EQ(base::nearest_name("docter", known), "doctor");
  EXPECT_EQ(base::nearest_name("trac", known), "trace");
  EXPECT_EQ(base::nearest_name("lost", known), "list");  // as near as "loss", but first
  EXPECT_EQ(base::nearest_name("optimise", known), "");
  EXPECT_EQ(base::nearest_name("", known), "");
}

}  // namespace
}  // namespace lehi::cli
