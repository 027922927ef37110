// What `lehi serve` makes of requests: the decision alone, and a connection with the real parser.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <charconv>

#include "harness.h"
#include "serve/routes.h"
#include "serve/session.h"
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

// A server without a network: a pair of sockets, and the loop run by hand.
class Connection {
 public:
  Connection() : cache_(context_, {page, data}, std::chrono::hours(1)) {}

  /// Everything that is sent back until the server closes.
  std::string answers_to(std::string_view sent) {
    std::array<int, 2> ends{};
    require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0, "no sockets");
    require(::send(ends[0], sent.data(), sent.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(sent.size()), "no room");
    ::shutdown(ends[0], SHUT_WR);
    boost::asio::ip::tcp::socket socket(context_);
    socket.assign(boost::asio::ip::tcp::v4(), ends[1]);
    auto shared = std::make_shared<serve::Shared>(serve::Shared{.cache = cache_, .hosts = own_rules(), .limits = {}});
    std::make_shared<serve::Session>(std::move(socket), shared)->begin();
    context_.restart();
    context_.run();
    require(shared->sessions.empty(), "a connection stayed open");
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

// One answer off the front, as RFC 9112 frames it; `head_only` where the request was HEAD, which the status can't tell.
void take_answer(std::string_view& answers) {
  constexpr std::string_view version = "HTTP/1.1 ";
  require(answers.starts_with(version), "an answer does not begin with its version");
  unsigned status = 0;
  std::from_chars(answers.data() + version.size(), answers.data() + answers.size(), status);
  require(is_known_status(status), "an answer has the status " + std::to_string(status));
  const auto end = answers.find("\r\n\r\n");
  require(end != std::string_view::npos, "an answer's head has no end");
  const auto head = answers.substr(0, end + 2);
  for (const char* header : {"X-Content-Type-Options: nosniff", "Content-Security-Policy: frame-ancestors 'none'",
                             "X-Frame-Options: DENY", "Cache-Control: no-store"}) {
    require(head.find(header) != std::string_view::npos, std::string("an answer lacks ") + header);
  }
  constexpr std::string_view length = "Content-Length: ";
  const auto at = head.find(length);
  require(at != std::string_view::npos, "an answer has no length");
  std::size_t bytes = 0;
  std::from_chars(head.data() + at + length.size(), head.data() + head.size(), bytes);
  answers.remove_prefix(end + 4);
  if (answers.starts_with(version) || answers.empty()) return;  // to HEAD
  require(bytes <= answers.size(), "an answer is shorter than its length says");
  answers.remove_prefix(bytes);
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
  require((decision.status == 200) == decision.route.has_value(), "a route exactly where the status is 200");
  if (decision.route) {
    require(head.method == "GET" || head.method == "HEAD", "another method was let in");
    auto host = serve::lower_case(head.hosts.at(0));
    for (const char* name : {"localhost:", "127.0.0.1:", "[::1]:"}) {  // zeros in front of a port are no other port
      const std::string_view start(name);
      while (host.starts_with(start) && host.substr(start.size()).starts_with('0')) host.erase(start.size(), 1);
    }
    const bool known = host == "localhost:8000" || host == "127.0.0.1:8000" || host == "[::1]:8000";
    require(known || host == "proxy:443", "another host was let in");
  } else {
    require(decision.text.ends_with('\n') && sentence_fault(decision.text.substr(0, decision.text.size() - 1)).empty(),
            "a refusal is no sentence");
  }
}

void fuzz_http(std::string_view input) {
  static Connection connection;
  const auto answers = connection.answers_to(input.substr(0, 16384));
  std::string_view left = answers;
  while (!left.empty()) take_answer(left);
}

}  // namespace lehi::fuzz
