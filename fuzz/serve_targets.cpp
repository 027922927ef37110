// How `lehi serve` handles requests: the routing decision alone, and a connection with the HTTP parser.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <charconv>

#include "harness.h"
#include "serve/connection.h"
#include "serve/routes.h"
#include "targets.h"

namespace lehi::fuzz {
namespace {

const serve::HostRules& own_rules() {
  static const serve::HostRules rules{
      .names = {"localhost", "127.0.0.1", "[::1]"}, .port = 8000, .any_address = false, .exact = {"proxy:443"}};
  return rules;
}

bool is_known_status(unsigned status) {
  constexpr std::array<unsigned, 8> known = {200, 400, 404, 405, 413, 421, 431, 505};
  return std::find(known.begin(), known.end(), status) != known.end();
}

// A connection over a socket pair; the event loop is run by hand.
class LocalServer {
 public:
  LocalServer() : cache_(context_, {page, data}, std::chrono::hours(1)) {}

  /// Sends `sent` and returns all responses.
  std::string responses_to(std::string_view sent) {
    std::array<int, 2> ends{};
    require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0, "no sockets");
    require(::send(ends[0], sent.data(), sent.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(sent.size()), "no room");
    ::shutdown(ends[0], SHUT_WR);
    boost::asio::ip::tcp::socket socket(context_);
    socket.assign(boost::asio::ip::tcp::v4(), ends[1]);
    auto state =
        std::make_shared<serve::ServerState>(serve::ServerState{.cache = cache_, .hosts = own_rules(), .limits = {}});
    std::make_shared<serve::Connection>(std::move(socket), state)->start();
    context_.restart();
    context_.run();
    require(state->connections.empty(), "a connection stayed open");
    std::string received;
    std::array<char, 65536> buffer{};
    for (ssize_t count = 0; (count = ::recv(ends[0], buffer.data(), buffer.size(), 0)) > 0;) {
      received.append(buffer.data(), static_cast<std::size_t>(count));
    }
    ::close(ends[0]);
    return received;
  }

 private:
  static std::string page() { return "<p>page</p>"; }
  static std::string data() { return "{}"; }

  boost::asio::io_context context_{1};
  serve::ContentCache cache_;
};

// Removes the first response, framed as in RFC 9112, and checks it. The response to HEAD has no body.
void take_response(std::string_view& responses) {
  constexpr std::string_view version = "HTTP/1.1 ";
  require(responses.starts_with(version), "a response does not begin with its version");
  unsigned status = 0;
  std::from_chars(responses.data() + version.size(), responses.data() + responses.size(), status);
  require(is_known_status(status), "a response has the status " + std::to_string(status));
  const auto end = responses.find("\r\n\r\n");
  require(end != std::string_view::npos, "a response's head has no end");
  const auto head = responses.substr(0, end + 2);
  for (const char* header : {"X-Content-Type-Options: nosniff", "Content-Security-Policy: frame-ancestors 'none'",
                             "X-Frame-Options: DENY", "Cache-Control: no-store"}) {
    require(head.find(header) != std::string_view::npos, std::string("a response lacks ") + header);
  }
  constexpr std::string_view length = "Content-Length: ";
  const auto at = head.find(length);
  require(at != std::string_view::npos, "a response has no length");
  std::size_t bytes = 0;
  std::from_chars(head.data() + at + length.size(), head.data() + head.size(), bytes);
  responses.remove_prefix(end + 4);
  if (responses.starts_with(version) || responses.empty()) return;  // the response to HEAD
  require(bytes <= responses.size(), "a response is shorter than its length");
  responses.remove_prefix(bytes);
}

}  // namespace

void fuzz_routes(std::string_view input) {
  std::vector<std::string_view> lines;
  for (std::size_t begin = 0; begin <= input.size();) {
    const auto end = std::min(input.find('\n', begin), input.size());
    lines.push_back(input.substr(begin, end - begin));
    begin = end + 1;
  }
  serve::RequestHead head{.method = lines[0], .target = lines.size() > 1 ? lines[1] : "", .hosts = {}};
  if (lines.size() > 2) head.hosts.assign(lines.begin() + 2, lines.end());
  const auto decision = serve::decide(head, own_rules());
  require(is_known_status(decision.status), "an unknown status");
  require((decision.status == 200) == decision.route.has_value(),
          "a route without status 200, or status 200 without a route");
  if (decision.route) {
    require(head.method == "GET" || head.method == "HEAD", "another method was accepted");
    auto host = serve::lower_case(head.hosts.at(0));
    for (const char* name : {"localhost:", "127.0.0.1:", "[::1]:"}) {  // leading zeros do not change the port
      const std::string_view start(name);
      while (host.starts_with(start) && host.substr(start.size()).starts_with('0')) host.erase(start.size(), 1);
    }
    const bool known = host == "localhost:8000" || host == "127.0.0.1:8000" || host == "[::1]:8000";
    require(known || host == "proxy:443", "another host was accepted");
  } else {
    require(decision.text.ends_with('\n') && sentence_fault(decision.text.substr(0, decision.text.size() - 1)).empty(),
            "a rejection is not a sentence");
  }
}

void fuzz_http(std::string_view input) {
  static LocalServer server;
  const auto responses = server.responses_to(input.substr(0, 16384));
  std::string_view left = responses;
  while (!left.empty()) take_response(left);
}

}  // namespace lehi::fuzz
