// One client connection: reads requests and answers them one after another, each within its time limit.
#pragma once

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/span_body.hpp>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "serve/content.h"
#include "serve/routes.h"

namespace lehi::serve {

class Connection;

/// State shared by the connections of a server. Used on the event loop's thread only.
struct ServerState {
  ContentCache& cache;
  HostRules hosts;
  Limits limits;
  bool stopping = false;
  std::set<Connection*> connections = {};  ///< the open ones
  std::function<void()> on_close = [] {};  ///< called when a connection has ended
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(boost::asio::ip::tcp::socket socket, std::shared_ptr<ServerState> server);
  Connection(const Connection&) = delete;
  Connection(Connection&&) = delete;
  Connection& operator=(const Connection&) = delete;
  Connection& operator=(Connection&&) = delete;
  ~Connection();

  void start() { read(); }

  /// Closes the connection if it is idle; otherwise after the response under way.
  void stop();
  void close();

 private:
  using Body = boost::beast::http::span_body<const char>;

  void read();
  void on_read(boost::beast::error_code error);
  void respond(unsigned status, std::shared_ptr<const std::string> body, const char* type);
  void on_written(boost::beast::error_code error);
  void finish();
  void drain();

  boost::beast::tcp_stream stream_;
  std::shared_ptr<ServerState> server_;
  boost::beast::flat_buffer buffer_;
  /// Request bodies are never read: buffer_body reads only what it is asked for.
  std::optional<boost::beast::http::request_parser<boost::beast::http::buffer_body>> parser_;
  std::optional<boost::beast::http::response<Body>> response_;
  std::shared_ptr<const std::string> body_;  ///< of the response, which only points to it
  bool reading_ = false;                     ///< waits for a request, or for the client to close
  bool head_only_ = false;                   ///< the request is HEAD
  bool unread_ = false;                      ///< the client may have sent more than was read
  bool keep_alive_ = false;                  ///< more requests may follow the response
  std::size_t drained_ = 0;                  ///< bytes read after the last response
  std::array<char, 4096> drain_buffer_{};
};

}  // namespace lehi::serve
