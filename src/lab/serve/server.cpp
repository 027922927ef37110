#include "serve/server.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <utility>

#include "serve/connection.h"
#include "serve/content.h"
#include "serve/routes.h"

namespace lehi::serve {
namespace asio = boost::asio;
using boost::asio::ip::tcp;
namespace {

constexpr auto poll_interval = std::chrono::milliseconds(50);

tcp::endpoint resolve_host(asio::io_context& context, const std::string& host, std::uint16_t port) {
  boost::system::error_code error;
  const auto literal = asio::ip::make_address(host, error);
  if (!error) return {literal, port};
  tcp::resolver resolver(context);
  const auto found = resolver.resolve(host, std::to_string(port), tcp::resolver::passive, error);
  if (error || found.empty()) {
    throw ServeError(fmt::format("--host: '{}' is not an address or name of this machine: {}", host, error.message()));
  }
  for (const auto& entry : found) {
    if (entry.endpoint().address().is_v4()) return entry.endpoint();
  }
  return found.begin()->endpoint();
}

std::string host_of(const asio::ip::address& address) {
  return address.is_v6() ? fmt::format("[{}]", address.to_string()) : address.to_string();
}

HostRules host_rules(const tcp::endpoint& bound, const Settings& settings) {
  HostRules rules{.names = {"localhost", "127.0.0.1", "[::1]", host_of(bound.address())}, .port = bound.port()};
  const auto add = [](std::vector<std::string>& to, const std::string& text) { to.push_back(lower_case(text)); };
  for (const auto& host : settings.allow_hosts) add(rules.exact, host);
  if (bound.address().is_loopback()) return rules;
  add(rules.names, settings.host);
  rules.any_address = bound.address().is_unspecified();
  std::array<char, 256> name{};
  if (rules.any_address && ::gethostname(name.data(), name.size() - 1) == 0) add(rules.names, name.data());
  return rules;
}

}  // namespace

class Server::Implementation {
 public:
  Implementation(Content content, const Settings& settings)
      : acceptor_(open(settings)),
        cache_(context_, std::move(content), settings.limits.max_age),
        state_(std::make_shared<ServerState>(ServerState{
            .cache = cache_, .hosts = host_rules(acceptor_.local_endpoint(), settings), .limits = settings.limits})) {
    state_->on_close = [this] { accept(); };
  }

  ~Implementation() {
    state_->on_close = [] {};
    cache_.join();
  }
  Implementation(const Implementation&) = delete;
  Implementation(Implementation&&) = delete;
  Implementation& operator=(const Implementation&) = delete;
  Implementation& operator=(Implementation&&) = delete;

  tcp::endpoint endpoint() const { return acceptor_.local_endpoint(); }

  void run(const std::function<bool()>& stop) {
    accept();
    poll(stop);
    context_.run();
  }

 private:
  tcp::acceptor open(const Settings& settings) {
    const auto wanted = resolve_host(context_, settings.host, settings.port);
    try {
      tcp::acceptor acceptor(context_);
      acceptor.open(wanted.protocol());
      acceptor.set_option(tcp::acceptor::reuse_address(true));
      acceptor.bind(wanted);
      acceptor.listen();
      return acceptor;
    } catch (const boost::system::system_error& error) {
      throw ServeError(fmt::format("cannot listen on {}:{}: {}; choose another --port or --host",
                                   host_of(wanted.address()), wanted.port(), error.code().message()));
    }
  }

  void accept() {
    if (accepting_ || state_->stopping || state_->connections.size() >= state_->limits.connections) return;
    accepting_ = true;
    acceptor_.async_accept([this](boost::system::error_code error, tcp::socket socket) {
      accepting_ = false;
      if (state_->stopping) return;
      if (!error) {
        std::make_shared<Connection>(std::move(socket), state_)->start();
        return accept();
      }
      // Probably out of file descriptors: try again when some connections may have ended.
      retry_timer_.expires_after(std::chrono::milliseconds(100));
      retry_timer_.async_wait([this](boost::system::error_code) { accept(); });
    });
  }

  void poll(const std::function<bool()>& stop) {
    poll_timer_.expires_after(poll_interval);
    poll_timer_.async_wait([this, &stop](boost::system::error_code) {
      if (stop()) return shut_down();
      poll(stop);
    });
  }

  void shut_down() {
    state_->stopping = true;
    boost::system::error_code ignored;
    acceptor_.cancel(ignored);
    for (auto* connection : open_connections()) connection->stop();
    await_connections(std::chrono::steady_clock::now() + state_->limits.grace);
  }

  // A copy, since stopping a connection may remove it from the set.
  std::vector<Connection*> open_connections() const { return {state_->connections.begin(), state_->connections.end()}; }

  void await_connections(std::chrono::steady_clock::time_point until) {
    if (state_->connections.empty()) return;
    if (std::chrono::steady_clock::now() >= until) {
      for (auto* connection : open_connections()) connection->close();
      return;
    }
    poll_timer_.expires_after(poll_interval);
    poll_timer_.async_wait([this, until](boost::system::error_code) { await_connections(until); });
  }

  asio::io_context context_{1};
  tcp::acceptor acceptor_;
  asio::steady_timer poll_timer_{context_};
  asio::steady_timer retry_timer_{context_};
  ContentCache cache_;
  std::shared_ptr<ServerState> state_;  ///< shared with the connections: the event loop may destroy some after us
  bool accepting_ = false;
};

Server::Server(Content content, const Settings& settings)
    : implementation_(std::make_unique<Implementation>(std::move(content), settings)) {}

Server::~Server() = default;

std::uint16_t Server::port() const { return implementation_->endpoint().port(); }

std::string Server::url() const {
  const auto address = implementation_->endpoint().address();
  const auto host = address.is_unspecified() ? std::string("127.0.0.1") : host_of(address);
  return fmt::format("http://{}:{}/", host, port());
}

bool Server::is_loopback() const { return implementation_->endpoint().address().is_loopback(); }

void Server::run(const std::function<bool()>& stop) { implementation_->run(stop); }

}  // namespace lehi::serve
