// A client on plain sockets, which can send malformed requests, and a server on a thread.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include "serve/server.h"

namespace lehi::serve {

struct Response {
  int status = 0;
  std::string head;
  std::string body;

  /// The value of a header, or "" if it is missing. `name` is spelled as the server writes it.
  std::string header(const std::string& name) const {
    const auto at = head.find("\r\n" + name + ": ");
    if (at == std::string::npos) return "";
    const auto begin = at + name.size() + 4;
    return head.substr(begin, head.find("\r\n", begin) - begin);
  }
};

class Client {
 public:
  explicit Client(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    // If the server hangs, the test fails instead of blocking the suite.
    const timeval timeout{.tv_sec = 60, .tv_usec = 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      throw std::runtime_error("the server does not accept connections");
    }
  }
  Client(const Client&) = delete;
  Client(Client&&) = delete;
  Client& operator=(const Client&) = delete;
  Client& operator=(Client&&) = delete;
  ~Client() { ::close(socket_); }

  /// Returns false if the server has closed the connection.
  bool send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const auto sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  /// Shuts down the sending side.
  void finish_sending() const { ::shutdown(socket_, SHUT_WR); }

  /// One response, delimited by its Content-Length; status 0 if the server closes the connection first.
  Response receive(bool has_body = true) {
    auto end = pending_.find("\r\n\r\n");
    while (end == std::string::npos) {
      if (!more()) return {};
      end = pending_.find("\r\n\r\n");
    }
    Response response{.head = pending_.substr(0, end + 2)};
    response.status = std::atoi(response.head.substr(9, 3).c_str());
    pending_.erase(0, end + 4);
    const auto size = has_body ? std::stoul(response.header("Content-Length")) : 0UL;
    while (pending_.size() < size) {
      if (!more()) return {};
    }
    response.body = pending_.substr(0, size);
    pending_.erase(0, size);
    return response;
  }

  /// All bytes up to the end of the connection.
  std::string rest() {
    while (more()) {
    }
    return pending_;
  }

 private:
  bool more() {
    std::array<char, 65536> buffer{};
    const auto count = ::recv(socket_, buffer.data(), buffer.size(), 0);
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      ADD_FAILURE() << "the server has not responded for a minute";
    if (count <= 0) return false;
    pending_.append(buffer.data(), static_cast<std::size_t>(count));
    return true;
  }

  int socket_;
  std::string pending_;
};

/// A server on a thread of its own; the destructor stops it.
class RunningServer {
 public:
  explicit RunningServer(Content content, const Settings& settings = {}) : server_(std::move(content), settings) {
    thread_ = std::thread([this] { server_.run([this] { return stop_.load(); }); });
  }
  RunningServer(const RunningServer&) = delete;
  RunningServer(RunningServer&&) = delete;
  RunningServer& operator=(const RunningServer&) = delete;
  RunningServer& operator=(RunningServer&&) = delete;
  ~RunningServer() { stop(); }

  void stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  void request_stop() { stop_ = true; }  ///< without waiting

  std::uint16_t port() const { return server_.port(); }
  std::string host() const { return "127.0.0.1:" + std::to_string(port()); }
  const Server& server() const { return server_; }

  /// Sends a valid request on a new connection.
  Response get(const std::string& target, const std::string& method = "GET") const {
    Client client(port());
    client.send(method + " " + target + " HTTP/1.1\r\nHost: " + host() + "\r\nConnection: close\r\n\r\n");
    return client.receive(method != "HEAD");
  }
  /// Sends the bytes on a new connection.
  Response send(const std::string& bytes) const {
    Client client(port());
    client.send(bytes);
    return client.receive();
  }

 private:
  Server server_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

inline Content small_content() {
  return {.page = [] { return std::string("<!doctype html><p>page"); },
          .data = [] { return std::string("{\"runs\":[]}"); }};
}

}  // namespace lehi::serve
