#include "serve/routes.h"

#include <gtest/gtest.h>

namespace lehi::serve {
namespace {

HostRules loopback_rules() { return {.names = {"localhost", "127.0.0.1", "[::1]"}, .port = 8000}; }

Decision ask(std::string_view method, std::string_view target, std::string_view host = "localhost:8000") {
  return decide({.method = method, .target = target, .hosts = {host}}, loopback_rules());
}

TEST(Hosts, OnlyTheServersNamesWithItsPortAreAllowed) {
  const auto rules = loopback_rules();
  for (const auto* host : {"localhost:8000", "LocalHost:8000", "127.0.0.1:8000", "[::1]:8000"}) {
    EXPECT_TRUE(is_allowed(rules, host)) << host;
  }
  for (const auto* host : {"",
                           ":",
                           ":8000",
                           "localhost",
                           "localhost:",
                           "localhost:8001",
                           "localhost:80000",
                           "localhost:8000 ",
                           "localhost:+8000",
                           "localhost:8000x",
                           "localhost.:8000",
                           "evil.example:8000",
                           "evil.example",
                           "localhost.evil.example:8000",
                           "127.0.0.1.evil.example:8000",
                           "user@localhost:8000",
                           "[::1]",
                           "::1:8000",
                           "[::1",
                           "10.0.0.1:8000",
                           "2130706433:8000",
                           "127.1:8000",
                           "localhost:8000:8000"}) {
    EXPECT_FALSE(is_allowed(rules, host)) << host;
  }
}

TEST(Hosts, WithoutAPortMeanPortEighty) {
  const HostRules rules{.names = {"localhost"}, .port = 80};
  EXPECT_TRUE(is_allowed(rules, "localhost"));
  EXPECT_TRUE(is_allowed(rules, "localhost:80"));
}

TEST(Hosts, AWildcardServerAllowsAllAddressesButNoOtherNames) {
  const HostRules rules{.names = {"lab7"}, .port = 8000, .any_address = true};
  EXPECT_TRUE(is_allowed(rules, "192.168.1.7:8000"));
  EXPECT_TRUE(is_allowed(rules, "[fe80::1]:8000"));
  EXPECT_TRUE(is_allowed(rules, "lab7:8000"));
  EXPECT_FALSE(is_allowed(rules, "evil.example:8000"));
  EXPECT_FALSE(is_allowed(rules, "[evil]:8000"));
  EXPECT_FALSE(is_allowed(rules, "192.168.1.7:8001"));
}

TEST(Hosts, AllowedHostsAreComparedIncludingTheirPort) {
  const HostRules rules{.names = {"localhost"}, .port = 8000, .exact = {"localhost:9000", "lab.example"}};
  EXPECT_TRUE(is_allowed(rules, "localhost:9000"));
  EXPECT_TRUE(is_allowed(rules, "Lab.example"));
  EXPECT_FALSE(is_allowed(rules, "lab.example:9000"));
}

TEST(Routes, AreThePageItsDataAndHealth) {
  EXPECT_EQ(ask("GET", "/").route, Route::page);
  EXPECT_EQ(ask("GET", "/?theme=dark").route, Route::page);
  EXPECT_EQ(ask("GET", "/data.json").route, Route::data);
  EXPECT_EQ(ask("HEAD", "/data.json?t=1").route, Route::data);
  EXPECT_EQ(ask("GET", "/healthz").route, Route::health);
  for (const auto* target : {"/index.html", "/data.json/", "//", "/./", "/data%2ejson", "/DATA.JSON", "/../etc/passwd",
                             "/%2e%2e/%2e%2e/etc/passwd", "/..%2fetc%2fpasswd", "/\\..\\etc", "/.study.json"}) {
    EXPECT_EQ(ask("GET", target).status, 404U) << target;
    EXPECT_FALSE(ask("GET", target).route) << target;
  }
}

TEST(Routes, OtherMethodsAreRejected) {
  for (const auto* method : {"POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PATCH", "get", "FOO", ""}) {
    EXPECT_EQ(ask(method, "/").status, 405U) << method;
  }
}

TEST(Routes, AbsoluteTargetsMustNameTheServer) {
  EXPECT_EQ(ask("GET", "http://localhost:8000/data.json").route, Route::data);
  EXPECT_EQ(ask("GET", "HTTP://127.0.0.1:8000").route, Route::page);
  EXPECT_EQ(ask("GET", "http://127.0.0.1:8000?x").route, Route::page);
  EXPECT_EQ(ask("GET", "http://evil.example/data.json").status, 421U);
  EXPECT_EQ(ask("GET", "http://localhost:8000@evil.example/").status, 421U);
  EXPECT_EQ(ask("GET", "http://localhost:8000/", "evil.example").status, 421U);
  EXPECT_EQ(ask("GET", "https://localhost:8000/").status, 400U);
  EXPECT_EQ(ask("GET", "file:///etc/passwd").status, 400U);
  EXPECT_EQ(ask("GET", "*").status, 400U);
  EXPECT_EQ(ask("GET", "").status, 400U);
}

TEST(Routes, NeedExactlyOneHost) {
  EXPECT_EQ(decide({.method = "GET", .target = "/", .hosts = {}}, loopback_rules()).status, 400U);
  EXPECT_EQ(
      decide({.method = "GET", .target = "/", .hosts = {"localhost:8000", "localhost:8000"}}, loopback_rules()).status,
      400U);
}

}  // namespace
}  // namespace lehi::serve
