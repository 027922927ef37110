// CSV tables: everything that RFC 4180 allows, and the messages for everything else.
#include "data/csv.h"

#include <gmock/gmock.h>

#include "base/numbers.h"
#include "data/error.h"
#include "data_files/fixture.h"
#include "support/support.h"

namespace lehi::data {
namespace {

using lehi::testing::message_of;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Table parse(const std::string& text) { return parse_csv(text, "t.csv"); }
std::string csv_error(const std::string& text) {
  return message_of([&] { parse(text); });
}

TEST(Csv, NumbersAndStringsByColumn) {
  const Table table = parse("x,colour,y\n1,red,-2.5e3\n+.5,3,7\n");
  ASSERT_EQ(table.columns.size(), 3U);
  EXPECT_EQ(table.columns[0].name, "x");
  EXPECT_THAT(table.columns[0].numbers(), ElementsAre(1.0, 0.5));
  EXPECT_THAT(table.columns[1].strings(), ElementsAre("red", "3"));  // one string makes the whole column strings
  EXPECT_THAT(table.columns[2].numbers(), ElementsAre(-2500.0, 7.0));
  EXPECT_THAT(table.lines, ElementsAre(2, 3));
}

TEST(Csv, QuotesHoldCommasLineBreaksAndQuotes) {
  const Table table = parse("\"a,b\",\"say \"\"hi\"\"\"\n\"two\nlines\",\"\"\"\"\n\"x\r\ny\",\"1,5\"\nlast,z\n");
  EXPECT_EQ(table.columns[0].name, "a,b");
  EXPECT_EQ(table.columns[1].name, "say \"hi\"");
  EXPECT_THAT(table.columns[0].strings(), ElementsAre("two\nlines", "x\r\ny", "last"));
  EXPECT_THAT(table.columns[1].strings(), ElementsAre("\"", "1,5", "z"));
  EXPECT_THAT(table.lines, ElementsAre(2, 4, 6));
}

TEST(Csv, LineEndsSpacesAndByteOrderMarkAreIgnored) {
  const Table expected = parse("x,y\n1,a b\n2,c\n");
  for (const char* text : {"x,y\r\n1,a b\r\n2,c\r\n", "x,y\n1,a b\n2,c", "\xef\xbb\xbfx,y\n1,a b\n2,c\n\r\n\n",
                           " x ,\ty\n 1, a b \n2 ,c\n", "\"x\",\"y\"\n\"1\",\"a b\"\n\"2\",\"c\"\n"}) {
    const Table table = parse(text);
    ASSERT_EQ(table.columns.size(), 2U) << text;
    EXPECT_EQ(table.columns[0].name, "x") << text;
    EXPECT_EQ(table.columns[0].numbers(), expected.columns[0].numbers()) << text;
    EXPECT_EQ(table.columns[1].strings(), expected.columns[1].strings()) << text;
  }
}

TEST(Csv, ReadsPlainAndGzipFiles) {
  const lehi::testing::Folder folder;
  const std::string text = "x,y\n1,2\n3,4\n";
  EXPECT_THAT(read_csv(folder.write("a.csv", text)).columns[1].numbers(), ElementsAre(2.0, 4.0));
  EXPECT_THAT(read_csv(folder.write("a.csv.gz", lehi::testing::gzipped(text))).columns[1].numbers(),
              ElementsAre(2.0, 4.0));
}

TEST(Csv, HeaderIsRequired) {
  EXPECT_THAT(csv_error("1,2\n3,4\n"), StartsWith("t.csv has no header"));
  EXPECT_THAT(csv_error("nan,-1e5\n3,4\n"), StartsWith("t.csv has no header"));
  EXPECT_EQ(parse("1,b\n3,4\n").columns[0].name, "1");  // not all numbers
  EXPECT_THAT(csv_error(""), HasSubstr("empty"));
  EXPECT_THAT(csv_error("\r\n\n"), HasSubstr("empty"));
  EXPECT_THAT(csv_error("a,b\n"), HasSubstr("no rows"));
  EXPECT_THAT(csv_error("a,,b\n1,2,3\n"), HasSubstr("column 2 has no name"));
  EXPECT_THAT(csv_error("a,b,a\n1,2,3\n"), HasSubstr("two columns named 'a'"));
}

TEST(Csv, RowsOfTheWrongLengthThrowWithTheLine) {
  EXPECT_THAT(csv_error("a,b\n1,2\n3\n"), StartsWith("t.csv line 3 has 1 fields, but the header has 2"));
  EXPECT_THAT(csv_error("a,b\n\"x\ny\",2\n3,4,5\n"), StartsWith("t.csv line 4 has 3 fields"));
  EXPECT_THAT(csv_error("a,b\n1,2\n\n3,4\n"), StartsWith("t.csv line 3 has 1 fields"));
}

TEST(Csv, MissingAndNonFiniteValuesThrowWithLineAndColumn) {
  for (const char* bad : {"", "NA", "N/A", "null", "NULL", "?", "\"\"", "  "}) {
    EXPECT_THAT(csv_error("a,b\n1,2\n3," + std::string(bad) + "\n"),
                AllOf(StartsWith("t.csv line 3, column 'b'"), HasSubstr("missing")))
        << bad;
  }
  for (const char* bad : {"nan", "NaN", "-nan", "inf", "-Infinity", "1e999"}) {
    EXPECT_THAT(csv_error("a,b\n" + std::string(bad) + ",2\n3,4\n"),
                AllOf(StartsWith("t.csv line 2, column 'a'"), HasSubstr(bad), HasSubstr("finite")))
        << bad;
  }
  EXPECT_THAT(csv_error("a,b\nx,2\n,4\n"), StartsWith("t.csv line 3, column 'a'"));  // in a string column too
}

TEST(Csv, BrokenQuotesThrowWithTheLine) {
  EXPECT_THAT(csv_error("a,b\n1,\"x\n2,y\n"), StartsWith("t.csv line 2 has an opening quote"));
  EXPECT_THAT(csv_error("a,b\n1,\"x\"y\n"), StartsWith("t.csv line 2 has characters after a closing quote"));
  EXPECT_THAT(csv_error("a,b\n1,x\"y\n"), StartsWith("t.csv line 2 has a quote inside"));
}

TEST(Csv, BinaryFilesThrow) { EXPECT_THAT(csv_error(std::string("a,b\n1,\0\n", 8)), HasSubstr("not a CSV file")); }

TEST(Csv, ParsesNumbers) {
  EXPECT_EQ(base::parse_number("-1.25"), -1.25);
  EXPECT_EQ(base::parse_number("+3"), 3.0);
  for (const char* text : {"", "+", "-", "+-3", "1 2", "0x10", "1,5", "1.5kg", "true"}) {
    EXPECT_FALSE(base::parse_number(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace lehi::data
