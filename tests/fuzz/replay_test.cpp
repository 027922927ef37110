// Replays the corpus of every fuzz target without libFuzzer; tests the checks of the harness themselves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <new>
#include <set>
#include <vector>

#include "event_reader.h"
#include "files/files.h"
#include "harness.h"
#include "meter.h"

namespace lehi::fuzz {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const fs::path corpus = fs::path(LEHI_SOURCE_DIR) / "fuzz/corpus";

std::string input_in(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

std::string finding_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Finding& finding) {
    return finding.what();
  }
  return "";
}

// Keeps the compiler from removing an allocation.
void touch(void* memory) { __asm__ volatile("" : : "r"(memory) : "memory"); }

TEST(FuzzCorpus, EveryInputPasses) {
  for (const auto& target : targets()) {
    std::size_t inputs = 0;
    for (const auto& entry : fs::directory_iterator(corpus / target.name)) {
      ++inputs;
      EXPECT_EQ(finding_of([&] { run_target(target, input_in(entry.path())); }), "") << entry.path();
    }
    EXPECT_GE(inputs, 3U) << target.name;
  }
}

// Variants of the seeds, which have names; inputs that libFuzzer found have a digest as their name.
TEST(FuzzCorpus, TruncatedAndChangedSeedsPass) {
  for (const auto& target : targets()) {
    for (const auto& entry : fs::directory_iterator(corpus / target.name)) {
      const auto whole = input_in(entry.path());
      const bool found_by_fuzzer = entry.path().filename().string().size() == 40;
      if (found_by_fuzzer || whole.size() > 20'000) continue;
      const std::size_t stride = whole.size() / 8 + 1;
      for (std::size_t at = 0; at < whole.size(); at += stride) {
        auto changed = whole;
        changed[at] = static_cast<char>(changed[at] ^ 0x41);
        EXPECT_EQ(finding_of([&] { run_target(target, whole.substr(0, at)); }), "") << entry.path() << " cut at " << at;
        EXPECT_EQ(finding_of([&] { run_target(target, changed); }), "") << entry.path() << " changed at " << at;
      }
    }
  }
}

TEST(FuzzCorpus, HasNoDirectoryWithoutATarget) {
  std::set<std::string> names;
  for (const auto& target : targets()) EXPECT_TRUE(names.insert(target.name).second) << target.name;
  for (const auto& entry : fs::directory_iterator(corpus)) {
    EXPECT_EQ(names.count(entry.path().filename().string()), 1U) << entry.path();
  }
}

TEST(FuzzHarness, SentencesAreOneCleanLine) {
  EXPECT_EQ(sentence_fault("a.csv line 3 has 2 fields; expected 3 \xc3\xa4"), "");
  for (const std::string bad : {"", "two\nlines", "red \x1b[31m", "\xff", "\xc2\x85", "\x7f", "\xed\xa0\x80"}) {
    EXPECT_NE(sentence_fault(bad), "") << bad;
  }
  EXPECT_NE(sentence_fault(std::string(5000, 'x')), "");
}

TEST(FuzzHarness, OnlyDocumentedExceptionsAreAccepted) {
  const auto throws = [](auto error) { return [error]() -> int { throw error; }; };
  EXPECT_FALSE(accepted<FileError>(throws(FileError("a sentence"))).has_value());
  EXPECT_EQ(accepted<FileError>([] { return 3; }), 3);
  EXPECT_THAT(finding_of([&] { accepted<FileError>(throws(std::out_of_range("at"))); }),
              HasSubstr("undocumented exception"));
  EXPECT_THAT(finding_of([&] { accepted<std::runtime_error>(throws(std::runtime_error("a\nb"))); }),
              HasSubstr("not one sentence"));
  EXPECT_THAT(finding_of([&] { accepted<std::exception>(throws(Finding("mine"))); }), HasSubstr("mine"));
}

TEST(FuzzHarness, MeterCountsEveryKindOfAllocation) {
  const std::size_t much = 100'000'000;
  const Target plain{"plain", [](std::string_view) { touch(std::vector<char>(100'000'000).data()); }};
  const Target aligned{"aligned", [](std::string_view) {
                         void* memory = nullptr;
                         ASSERT_EQ(::posix_memalign(&memory, 64, 100'000'000), 0);
                         touch(memory);
                         std::free(memory);
                       }};
  const Target grown{"grown", [](std::string_view) {
                       void* memory = std::realloc(std::malloc(10), 100'000'000);
                       touch(memory);
                       std::free(memory);
                     }};
  for (const auto* target : {&plain, &aligned, &grown}) {
    EXPECT_THAT(finding_of([&] { run_target(*target, "x"); }), HasSubstr("bytes were in use")) << target->name;
    EXPECT_EQ(finding_of([&] { run_target(*target, std::string(much, 'x')); }), "") << target->name;
  }
  // Memory that is freed before the next allocation does not add up.
  const Target repeated{"repeated", [](std::string_view) {
                          for (int i = 0; i < 10; ++i) touch(std::vector<char>(40'000'000).data());
                        }};
  EXPECT_EQ(finding_of([&] { run_target(repeated, "x"); }), "");
}

TEST(FuzzHarness, EventsWithAWrongChecksumThrow) {
  EXPECT_THAT(finding_of([] { read_events(std::string(16, '\0')); }), HasSubstr("checksum"));
  EXPECT_THAT(finding_of([] { read_events("short"); }), HasSubstr("too early"));
}

}  // namespace
}  // namespace lehi::fuzz
