// One connection of a client: requests one after another, each read, decided and answered within its time.
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

/// What all connections of a server share. On the loop's thread only.
struct Shared {
  ContentCache& cache;
  HostRules hosts;
  Limits limits;
  bool stopping = false;
  std::set<Connection*> connections = {};  ///< that are open
  std::function<void()> ended = [] {};     ///< a place is free again
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(boost::asio::ip::tcp::socket socket, std::shared_ptr<Shared> shared);
  Connection(const Connection&) = delete;
  Connection(Connection&&) = delete;
  Connection& operator=(const Connection&) = delete;
  Connection& operator=(Connection&&) = delete;
  ~Connection();

  void begin() { read(); }

  /// An idle connection is closed; an answer under way may end.
  void stop();
  void close();

 private:
  using Body = boost::beast::http::span_body<const char>;

  void read();
  void on_read(boost::beast::error_code error);
  void answer(unsigned status, std::shared_ptr<const std::string> text, const char* type);
  void on_written(boost::beast::error_code error);
  void finish();
  void linger();

  boost::beast::tcp_stream stream_;
  std::shared_ptr<Shared> shared_;
  boost::beast::flat_buffer buffer_;
  /// With a body that is read piece by piece, of which no piece is ever asked for.
  std::optional<boost::beast::http::request_parser<boost::beast::http::buffer_body>> parser_;
  std::optional<boost::beast::http::response<Body>> response_;
  std::shared_ptr<const std::string> text_;  ///< what the response's body points to
  bool reading_ = false;
  bool head_only_ = false;
  bool unread_ = false;        ///< the client may have sent more than was read
  bool keep_ = false;          ///< more requests may follow the answer
  std::size_t discarded_ = 0;  ///< bytes read after the last answer
  std::array<char, 4096> waste_{};
};

}  // namespace lehi::serve
