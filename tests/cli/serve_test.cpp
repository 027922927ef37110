#include "cli/serve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <regex>
#include <thread>

#include "cli/run.h"
#include "serve/client.h"
#include "study/fake.h"
#include "study/study_file.h"
#include "train/scratch.h"

namespace lehi::cli {
namespace {

using ::testing::HasSubstr;
using testing::Scratch;

TEST(ServeCommand, ListensOnLoopbackByDefault) {
  const auto config = parse_serve({"runs/a", "runs/b"});
  EXPECT_EQ(config.directories, (std::vector<std::string>{"runs/a", "runs/b"}));
  EXPECT_EQ(config.server.host, "127.0.0.1");
  EXPECT_EQ(config.server.port, 8000);
  EXPECT_TRUE(config.server.allow_hosts.empty());
  const auto other = parse_serve({"runs/a", "--port", "0", "--host", "::1", "--allow-host", "localhost:9000",
                                  "--allow-host", "lab.example", "--title", "Ours"});
  EXPECT_EQ(other.server.port, 0);
  EXPECT_EQ(other.server.host, "::1");
  EXPECT_EQ(other.server.allow_hosts, (std::vector<std::string>{"localhost:9000", "lab.example"}));
  EXPECT_EQ(other.title, "Ours");
}

TEST(ServeCommand, ReportsTheErrorInOneSentence) {
  EXPECT_EQ(run({"serve"}).code, usage_error);
  EXPECT_EQ(run({"serve", "a", "a"}).err, "lehi: the directory a is given twice; leave one out\n");
  EXPECT_EQ(run({"serve", "a", "--port", "70000"}).code, usage_error);
  const auto missing = run({"serve", "/no/such/place"});
  EXPECT_EQ(missing.code, bad_input);
  EXPECT_EQ(missing.err,
            "lehi: /no/such/place is not a directory; expected a directory of `lehi compare` or `lehi sweep`\n");
  const Scratch scratch;
  EXPECT_EQ(run({"serve", scratch.path().string(), "--host", "no such name"}).code, usage_error);
}

study::Study write_one_run(const Scratch& scratch) {
  study::Study study;
  study.kind = "sweep";
  study.started = "2024-05-06T07:08:09Z";
  study.runs = {testing::fake_run("lehi", 0.1, 0, 0.25)};
  study::write_study(scratch.path(), study);
  return study;
}

// The built program prints its address, serves the study, and exits with the signal's code.
TEST(ServeCommand, ServesAStudyUntilASignal) {
  const Scratch scratch;
  write_one_run(scratch);
  for (const auto& [name, code] : {std::pair("INT", 130), std::pair("TERM", 143)}) {
    // The shell writes the address to a file, waits for the file `go`, sends the signal and prints the exit code.
    const auto at = (scratch / "at").string();
    const auto go = (scratch / "go").string();
    const auto command = "rm -f '" + at + "' '" + go + "'; $LEHI serve '" + scratch.path().string() + "' --port 0 > '" +
                         at + "' & pid=$!; while [ ! -e '" + go + "' ]; do sleep 0.05; done; kill -" + name +
                         " $pid; wait $pid; echo $?";
    std::string url;
    std::string page;
    std::thread asking([&] {
      const std::regex port_pattern(R"(^http://127\.0\.0\.1:(\d+)/\n$)");
      std::smatch match;
      for (int i = 0; i < 1200 && url.empty(); ++i) {  // a minute: the program loads LibTorch first
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        std::ifstream stream(at);
        const std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
        if (std::regex_match(text, match, port_pattern)) url = text;
        if (url.empty()) continue;
        serve::Client client(static_cast<std::uint16_t>(std::stoi(match[1])));
        client.send("GET /healthz HTTP/1.1\r\nHost: localhost:" + match[1].str() + "\r\n\r\n");
        page = client.receive().body;
      }
      std::ofstream(go) << "go";
    });
    const auto result = run_process(command);
    asking.join();
    EXPECT_EQ(page, "ok\n") << url;
    EXPECT_EQ(result.out, std::to_string(code) + "\n");
  }
}

TEST(ServeCommand, ReadsItsContentAtEveryRequest) {
  const Scratch scratch;
  auto study = write_one_run(scratch);
  ServeConfig config;
  config.directories = {scratch.path().string()};
  config.title = "<script>alert(1)</script>";
  const auto content = serve_content(config);
  EXPECT_THAT(content.page(), ::testing::Not(HasSubstr("<script>alert(1)")));
  EXPECT_TRUE(nlohmann::json::accept(content.data()));
  study.runs.push_back(testing::fake_run("adam", 0.001, 0, 0.24));
  study::write_study(scratch.path(), study);
  EXPECT_THAT(content.data(), HasSubstr("adam"));
}

}  // namespace
}  // namespace lehi::cli
