#include "serve/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <future>
#include <random>

#include "serve/client.h"

namespace lehi::serve {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Server, ServesPageDataAndHealth) {
  const RunningServer running(small_content());
  EXPECT_EQ(running.server().url(), "http://127.0.0.1:" + std::to_string(running.port()) + "/");
  EXPECT_TRUE(running.server().is_loopback());
  const auto page = running.get("/");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.body, "<!doctype html><p>page");
  EXPECT_EQ(page.header("Content-Type"), "text/html; charset=utf-8");
  const auto data = running.get("/data.json");
  EXPECT_EQ(data.body, "{\"runs\":[]}");
  EXPECT_EQ(data.header("Content-Type"), "application/json; charset=utf-8");
  EXPECT_EQ(running.get("/healthz").body, "ok\n");
}

TEST(Server, EveryResponseHasSecurityHeaders) {
  const RunningServer running(small_content());
  for (const auto* target : {"/", "/data.json", "/nothing"}) {
    const auto response = running.get(target);
    EXPECT_EQ(response.header("X-Content-Type-Options"), "nosniff") << target;
    EXPECT_EQ(response.header("Cache-Control"), "no-store") << target;
    EXPECT_EQ(response.header("Referrer-Policy"), "no-referrer") << target;
    EXPECT_EQ(response.header("X-Frame-Options"), "DENY") << target;
    EXPECT_EQ(response.header("Cross-Origin-Resource-Policy"), "same-origin") << target;
    EXPECT_THAT(response.header("Date"), HasSubstr(" GMT")) << target;
    EXPECT_THAT(response.head, Not(HasSubstr("Access-Control"))) << target;
    EXPECT_THAT(response.head, Not(HasSubstr("Server:"))) << target;
  }
}

TEST(Server, HeadHasTheHeadersWithoutTheBody) {
  const RunningServer running(small_content());
  Client client(running.port());
  client.send("HEAD / HTTP/1.1\r\nHost: " + running.host() +
              "\r\n\r\nGET /healthz HTTP/1.1\r\nHost: " + running.host() + "\r\n\r\n");
  const auto head = client.receive(false);
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.header("Content-Length"), "22");
  EXPECT_EQ(client.receive().body, "ok\n");  // directly after the head: there is no body
}

TEST(Server, OtherMethodsGetTheAllowHeader) {
  const RunningServer running(small_content());
  for (const auto* method : {"POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "BREW"}) {
    const auto response = running.get("/", method);
    EXPECT_EQ(response.status, 405) << method;
    EXPECT_EQ(response.header("Allow"), "GET, HEAD") << method;
  }
  const auto post =
      running.send("POST /data.json HTTP/1.1\r\nHost: " + running.host() + "\r\nContent-Length: 7\r\n\r\n{\"a\":1}");
  EXPECT_EQ(post.status, 405);
  EXPECT_EQ(post.header("Connection"), "close");  // so that the body is not read as a request
}

TEST(Server, NoPathReadsAFile) {
  const RunningServer running(small_content());
  for (const auto* target :
       {"/../etc/passwd", "/../../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/..%2f..%2fetc/passwd",
        "/data.json/../../etc/passwd", "/%00", "/etc/passwd", "//etc/passwd", "/.git/config"}) {
    const auto response = running.get(target);
    EXPECT_EQ(response.status, 404) << target;
    EXPECT_THAT(response.body, Not(HasSubstr("root"))) << target;
  }
}

TEST(Server, OtherHostsAreRejected) {
  const RunningServer running(small_content());
  const auto ask = [&](const std::string& line, const std::string& headers) {
    return running.send(line + "\r\n" + headers + "Connection: close\r\n\r\n").status;
  };
  const auto own = "Host: " + running.host() + "\r\n";
  EXPECT_EQ(ask("GET / HTTP/1.1", own), 200);
  EXPECT_EQ(ask("GET / HTTP/1.1", "Host: localhost:" + std::to_string(running.port()) + "\r\n"), 200);
  EXPECT_EQ(ask("GET / HTTP/1.1", "Host: evil.example:" + std::to_string(running.port()) + "\r\n"), 421);
  EXPECT_EQ(ask("GET / HTTP/1.1", "Host: localhost\r\n"), 421);  // the wrong port
  EXPECT_EQ(ask("GET / HTTP/1.1", ""), 400);
  EXPECT_EQ(ask("GET / HTTP/1.0", ""), 400);
  EXPECT_EQ(ask("GET / HTTP/1.1", own + own), 400);
  EXPECT_EQ(ask("GET / HTTP/1.1", own + "Host: evil.example\r\n"), 400);
  EXPECT_EQ(ask("GET http://" + running.host() + "/data.json HTTP/1.1", own), 200);
  EXPECT_EQ(ask("GET http://evil.example/data.json HTTP/1.1", own), 421);
}

TEST(Server, AcceptsAllowedHosts) {
  const RunningServer running(small_content(), {.allow_hosts = {"Localhost:9000"}});
  EXPECT_EQ(running.send("GET / HTTP/1.1\r\nHost: localhost:9000\r\n\r\n").status, 200);
  EXPECT_EQ(running.send("GET / HTTP/1.1\r\nHost: localhost:9001\r\n\r\n").status, 421);
}

TEST(Server, AWildcardServerIsNotLoopback) {
  const RunningServer running(small_content(), {.host = "0.0.0.0"});
  EXPECT_FALSE(running.server().is_loopback());
  EXPECT_EQ(running.get("/healthz").status, 200);
  const auto port = std::to_string(running.port());
  EXPECT_EQ(running.send("GET / HTTP/1.1\r\nHost: 10.1.2.3:" + port + "\r\n\r\n").status, 200);
  EXPECT_EQ(running.send("GET / HTTP/1.1\r\nHost: evil.example:" + port + "\r\n\r\n").status, 421);
}

TEST(Server, ReportsWhyItCannotListen) {
  const RunningServer first(small_content());
  const auto message = [](const Settings& settings) {
    try {
      const Server server(small_content(), settings);
    } catch (const ServeError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(message({.port = first.port()}), "cannot listen on 127.0.0.1:" + std::to_string(first.port()) +
                                                 ": Address already in use; choose another --port or --host");
  EXPECT_THAT(message({.host = "no such name"}),
              HasSubstr("--host: 'no such name' is not an address or name of this machine"));
  EXPECT_THAT(message({.host = "192.0.2.1"}), HasSubstr("cannot listen on 192.0.2.1:0: "));  // a documentation address
}

TEST(Server, ManyRequestsShareAConnection) {
  const RunningServer running(small_content());
  Client client(running.port());
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(client.send("GET /data.json HTTP/1.1\r\nHost: " + running.host() + "\r\n\r\n"));
    ASSERT_EQ(client.receive().body, "{\"runs\":[]}");
  }
  client.send("GET / HTTP/1.1\r\nHost: " + running.host() + "\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(client.receive().header("Connection"), "close");
  EXPECT_EQ(client.rest(), "");
}

TEST(Server, PipelinedRequestsAreAnsweredInOrder) {
  const RunningServer running(small_content());
  Client client(running.port());
  std::string together;
  for (const auto* target : {"/", "/nothing", "/healthz", "/data.json"}) {
    together += std::string("GET ") + target + " HTTP/1.1\r\nHost: " + running.host() + "\r\n\r\n";
  }
  client.send(together);
  EXPECT_EQ(client.receive().status, 200);
  EXPECT_EQ(client.receive().status, 404);
  EXPECT_EQ(client.receive().body, "ok\n");
  EXPECT_EQ(client.receive().body, "{\"runs\":[]}");
}

TEST(Server, LargeHeadsAreRejected) {
  const RunningServer running(small_content());
  const auto start = "GET / HTTP/1.1\r\nHost: " + running.host() + "\r\n";
  EXPECT_EQ(running.send(start + "X: " + std::string(20000, 'a') + "\r\n\r\n").status, 431);
  EXPECT_EQ(running.send("GET /" + std::string(20000, 'a') + " HTTP/1.1\r\n\r\n").status, 431);
  EXPECT_EQ(running.send("GET /" + std::string(200000, 'a')).status, 431);  // a line that never ends
  std::string many = start;
  for (int i = 0; i < 5000; ++i) many += "A: b\r\n";
  EXPECT_EQ(running.send(many + "\r\n").status, 431);
  EXPECT_EQ(running.send(start + "X: " + std::string(4000, 'a') + "\r\n\r\n").status, 200);
}

TEST(Server, GarbageIsRejectedAndTheServerContinues) {
  const RunningServer running(small_content());
  const auto host = "Host: " + running.host() + "\r\n";
  using namespace std::string_literals;
  const std::vector<std::string> garbage = {
      "\r\n\r\n\r\n\r\n \r\n\r\n",
      "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 a TLS greeting\r\n\r\n"s,
      std::string(64, '\0') + "\r\n\r\n",
      "GET\r\n\r\n",
      "GET / HTTP/9.9\r\n\r\n",
      "GET / HTTP/1.1\r\nbad header\r\n\r\n",
      "GET / HTTP/1.1\r\n: x\r\n\r\n",
      "GET / HTTP/1.1\r\n" + host + "Content-Length: -1\r\n\r\n",
      "GET / HTTP/1.1\r\n" + host + "Content-Length: 99999999999999999999999\r\n\r\n",
      "GET / HTTP/1.1\r\n" + host + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
      "GET / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n",
  };
  for (const auto& bytes : garbage) {
    const auto response = running.send(bytes);
    EXPECT_TRUE(response.status == 0 || (response.status >= 400 && response.status < 500) || response.status == 505)
        << response.status << " for " << bytes;
  }
  EXPECT_EQ(running.send("GET / HTTP/1.1\r\n" + host + "Content-Length: 3\r\n\r\nabc").status, 413);
  EXPECT_EQ(running.get("/healthz").status, 200);
}

// A thousand requests with a few bytes changed, removed or repeated.
TEST(Server, ContinuesAfterDamagedRequests) {
  const RunningServer running(small_content());
  const auto whole = "GET /data.json?x=1 HTTP/1.1\r\nHost: " + running.host() +
                     "\r\nContent-Length: 0\r\nTransfer-Encoding: identity\r\nConnection: keep-alive\r\n\r\n";
  std::mt19937 draw(11);
  for (int i = 0; i < 1000; ++i) {
    auto bytes = whole;
    for (auto changes = 1 + draw() % 4; changes > 0 && !bytes.empty(); --changes) {
      const auto at = draw() % bytes.size();
      const auto kind = draw() % 3;
      if (kind == 0) bytes[at] = static_cast<char>(draw() % 256);
      if (kind == 1) bytes.erase(at, 1 + draw() % 8);
      if (kind == 2) bytes.insert(at, bytes.substr(at, 1 + draw() % 40));
    }
    Client client(running.port());
    client.send(bytes);
    client.finish_sending();
    const auto response = client.rest();
    ASSERT_TRUE(response.empty() || response.rfind("HTTP/1.1 ", 0) == 0) << response;
  }
  EXPECT_EQ(running.get("/healthz").status, 200);
}

TEST(Server, AnswersTwoHundredConnectionsAtOnce) {
  const std::string large(300000, 'x');
  std::atomic<int> made = 0;
  const RunningServer running({.page = [&] { return ++made, large; }, .data = [] { return std::string("{}"); }},
                              {.limits = {.connections = 64}});
  std::deque<Client> clients;
  for (int i = 0; i < 200; ++i) clients.emplace_back(running.port());
  // Connections above the limit wait in the listen queue until others close, so each request closes its own.
  for (auto& client : clients) {
    client.send("GET / HTTP/1.1\r\nHost: " + running.host() + "\r\nConnection: close\r\n\r\n");
  }
  for (auto& client : clients) {
    const auto response = client.receive();
    ASSERT_EQ(response.status, 200);
    ASSERT_EQ(response.body, large);
  }
  EXPECT_LT(made, 200);  // requests share documents
}

TEST(Server, IdleConnectionsDoNotKeepOthersOut) {
  const RunningServer running(small_content(),
                              {.limits = {.connections = 8, .request = std::chrono::milliseconds(300)}});
  std::deque<Client> idle;
  for (int i = 0; i < 20; ++i) idle.emplace_back(running.port());
  EXPECT_EQ(running.get("/").status, 200);
}

TEST(Server, SlowClientsAreDisconnected) {
  const RunningServer running(small_content(), {.limits = {.request = std::chrono::milliseconds(300)}});
  Client silent(running.port());
  Client slow(running.port());
  const std::string head = "GET / HTTP/1.1\r\nHost: " + running.host() + "\r\nX: " + std::string(2000, 'a');
  std::size_t sent = 0;
  // Single bytes must not extend the time for the head: the server closes before it is complete.
  while (sent < head.size() && slow.send(head.substr(sent, 1))) {
    ++sent;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_LT(sent, head.size());
  EXPECT_EQ(silent.rest(), "");
  EXPECT_EQ(running.get("/healthz").status, 200);
}

TEST(Server, AClientThatDoesNotReadIsDisconnected) {
  const std::string large(30'000'000, 'x');  // more than the sockets' buffers hold
  const RunningServer running({.page = [&] { return large; }, .data = [] { return std::string("{}"); }},
                              {.limits = {.connections = 1, .response = std::chrono::milliseconds(300)}});
  const Client lazy(running.port());
  lazy.send("GET / HTTP/1.1\r\nHost: " + running.host() + "\r\n\r\n");
  EXPECT_EQ(running.get("/healthz").status, 200);  // the only connection is free again
}

TEST(Server, AnExceptionFromContentIsAnErrorResponse) {
  std::atomic<bool> broken = true;
  const RunningServer running({.page =
                                   [&] {
                                     if (broken) throw std::runtime_error("study.json is <torn>");
                                     return std::string("fine");
                                   },
                               .data = [] { return std::string("{}"); }},
                              {.limits = {.max_age = std::chrono::milliseconds(0)}});
  const auto response = running.get("/");
  EXPECT_EQ(response.status, 500);
  EXPECT_EQ(response.body, "Cannot generate the report: study.json is <torn>\n");
  EXPECT_EQ(response.header("Content-Type"), "text/plain; charset=utf-8");
  EXPECT_EQ(running.get("/data.json").status, 200);
  broken = false;
  EXPECT_EQ(running.get("/").body, "fine");
}

TEST(Server, SlowContentDoesNotDelayOtherRequests) {
  std::promise<void> release;
  auto released = release.get_future().share();
  const RunningServer running({.page =
                                   [released] {
                                     released.wait();
                                     return std::string("late");
                                   },
                               .data = [] { return std::string("{}"); }});
  Client waiting(running.port());
  waiting.send("GET / HTTP/1.1\r\nHost: " + running.host() + "\r\n\r\n");
  EXPECT_EQ(running.get("/healthz").body, "ok\n");
  release.set_value();
  EXPECT_EQ(waiting.receive().body, "late");
}

TEST(Server, StopsWhileClientsAreConnected) {
  std::promise<void> release;
  auto released = release.get_future().share();
  std::promise<void> begun;
  RunningServer running({.page =
                             [&begun, released] {
                               begun.set_value();
                               released.wait();
                               return std::string("the last response");
                             },
                         .data = [] { return std::string("{}"); }});
  Client idle(running.port());
  Client half(running.port());
  half.send("GET / HT");
  Client kept(running.port());
  kept.send("GET /healthz HTTP/1.1\r\nHost: " + running.host() + "\r\n\r\n");
  EXPECT_EQ(kept.receive().status, 200);
  Client asking(running.port());
  asking.send("GET / HTTP/1.1\r\nHost: " + running.host() + "\r\n\r\n");
  begun.get_future().wait();
  running.request_stop();
  EXPECT_EQ(idle.rest(), "");
  EXPECT_EQ(half.rest(), "");
  EXPECT_EQ(kept.rest(), "");
  release.set_value();
  EXPECT_EQ(asking.receive().body, "the last response");
  running.stop();
}

TEST(Server, MayNeverRun) { const Server server(small_content(), {}); }

}  // namespace
}  // namespace lehi::serve
