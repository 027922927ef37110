#include "train/events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "support/support.h"
#include "train/run_record.h"
#include "train/scratch.h"

namespace lehi::train {
namespace {

using lehi::testing::Scratch;
using lehi::testing::slurp;
using lehi::testing::spill;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr double kStarted = 1700000000.0;
const json kFirst = {{"step", 10}, {"seconds", 0.5}, {"test_loss", 0.25}};
const json kSecond = {{"step", 20}, {"seconds", 1.5}, {"test_loss", 0.125}};
const json kThird = {{"step", 30}, {"seconds", 2.5}, {"test_loss", 0.0625}};

constexpr const char* kVersionText = "wall_time: 1700000000 file_version: \"brain.Event:2\"";
constexpr const char* kStartText = "wall_time: 1700000000 session_log { status: START }";
constexpr const char* kFirstText =
    "wall_time: 1700000000.5 step: 10 summary { value { tag: \"seconds\" simple_value: 0.5 } "
    "value { tag: \"test_loss\" simple_value: 0.25 } }";
constexpr const char* kSecondText =
    "wall_time: 1700000001.5 step: 20 summary { value { tag: \"seconds\" simple_value: 1.5 } "
    "value { tag: \"test_loss\" simple_value: 0.125 } }";
constexpr const char* kThirdText =
    "wall_time: 1700000002.5 step: 30 summary { value { tag: \"seconds\" simple_value: 2.5 } "
    "value { tag: \"test_loss\" simple_value: 0.0625 } }";

/// What scripts/reference/read_events.py prints for a file (framing and checksums by python, messages by protoc).
std::string read_independently(const std::filesystem::path& path) {
  const auto command = "python3 " LEHI_SOURCE_DIR "/scripts/reference/read_events.py '" + path.string() + "' 2>&1";
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot start " + command);
  std::string output;
  std::array<char, 4096> chunk{};
  while (const auto count = std::fread(chunk.data(), 1, chunk.size(), pipe)) output.append(chunk.data(), count);
  ::pclose(pipe);
  return output;
}

std::vector<std::string> events_in(const std::filesystem::path& path) {
  const auto output = read_independently(path);
  try {
    return json::parse(output).get<std::vector<std::string>>();
  } catch (const json::exception&) {
    throw std::runtime_error("read_events.py printed: " + output);
  }
}

class Events : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::system("python3 --version > /dev/null 2>&1 && protoc --version > /dev/null 2>&1") != 0) {
      GTEST_SKIP() << "no python3 or no protoc: apt-get install python3 protobuf-compiler";
    }
  }

  Scratch scratch_;
};

TEST_F(Events, AreReadByAnIndependentParser) {
  EventLog log(scratch_.path(), kStarted);
  log.add(kFirst);
  log.add(kSecond);
  EXPECT_THAT(events_in(log.path()), ElementsAre(kVersionText, kStartText, kFirstText, kSecondText));
}

TEST_F(Events, HaveEveryNumberOfALine) {
  EventLog log(scratch_.path(), kStarted);
  log.add({{"step", 3'000'000'000},
           {"seconds", 0},
           {"count", -7},
           {"diverged", nullptr},
           {"groups", {{"bias", {{"clip", 1.5}}}}},
           {"list", {1, 2}},
           {"nan", std::numeric_limits<double>::quiet_NaN()},
           {"split", "test"}});
  EXPECT_EQ(events_in(log.path()).at(2),
            "wall_time: 1700000000 step: 3000000000 summary { "
            "value { tag: \"count\" simple_value: -7 } "
            "value { tag: \"diverged\" simple_value: nan } "
            "value { tag: \"groups/bias/clip\" simple_value: 1.5 } "
            "value { tag: \"nan\" simple_value: nan } "
            "value { tag: \"seconds\" simple_value: 0 } }");
}

TEST_F(Events, AfterAResumeHaveEveryStepOnce) {
  std::filesystem::path old_path;
  {
    EventLog log(scratch_.path(), kStarted);
    for (const auto& line : {kFirst, kSecond, kThird}) log.add(line);
    old_path = log.path();
  }
  EventLog log(scratch_.path(), kStarted, {kFirst});  // the checkpoint was of step 10
  EXPECT_GT(log.path(), old_path);                    // TensorBoard reads files in the order of their names
  EXPECT_THAT(scratch_.names(), ElementsAre(log.path().filename().string()));
  log.add(kSecond);
  log.add(kThird);
  EXPECT_THAT(events_in(log.path()), ElementsAre(kVersionText, kStartText, kFirstText, kSecondText, kThirdText));
}

TEST_F(Events, TheIndependentParserDetectsDamagedRecords) {
  EventLog log(scratch_.path(), kStarted);
  const auto opening = slurp(log.path()).size();
  log.add(kFirst);
  const auto whole = slurp(log.path());
  for (const auto size : {opening + 1, opening + 12, whole.size() - 1}) {
    spill(scratch_ / "torn", whole.substr(0, size));
    EXPECT_THAT(read_independently(scratch_ / "torn"), HasSubstr("ends within a record")) << size;
  }
  for (const auto at : {opening, opening + 9, opening + 20, whole.size() - 1}) {
    auto changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    spill(scratch_ / "torn", changed);
    EXPECT_THAT(read_independently(scratch_ / "torn"), HasSubstr("checksum")) << at;
  }
}

TEST(EventLog, BeginsAsTensorFlowsOwnFilesDo) {
  const Scratch scratch;
  const EventLog log(scratch.path(), kStarted);
  // A 24-byte version record: every event file of TensorFlow begins with this length and its masked checksum.
  EXPECT_THAT(slurp(log.path()), StartsWith(std::string("\x18\0\0\0\0\0\0\0\xa3\x7fK\"\x09", 13)));
  EXPECT_THAT(log.path().filename().string(), StartsWith("events.out.tfevents.1"));
  EXPECT_THAT(log.path().filename().string(), EndsWith("." + host_name()));
}

TEST(EventLog, KeepsOtherFilesAndAcceptsStrangeNames) {
  const Scratch scratch;
  for (const char* name : {"metrics.jsonl", "events.out.tfevents.", "events.out.tfevents.99999999999999999999.x"}) {
    spill(scratch / name, "");
  }
  const EventLog log(scratch.path(), kStarted);
  EXPECT_THAT(scratch.names(), ElementsAre(log.path().filename().string(), "metrics.jsonl"));
}

TEST(EventLog, ALineWithoutStepOrSecondsThrows) {
  const Scratch scratch;
  EventLog log(scratch.path(), kStarted);
  EXPECT_THROW(log.add({{"step", 1}}), FileError);
  EXPECT_THROW(log.add({{"seconds", 1}}), FileError);
}

}  // namespace
}  // namespace lehi::train
