// A small web server for one page and its data, meant for users of the same machine. It has fixed routes, supports GET
// and HEAD only, and never opens a file named by a URL. Two functions supply what it shows.
//
//   GET /           the page
//   GET /data.json  the page's data
//   GET /healthz    "ok"
//
// The limits below bound what a client can use: large request heads are rejected, slow clients are disconnected, and
// connections above the limit wait.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace lehi::serve {

/// Both are called on one thread. If one throws, the response has status 500 and the message of the exception.
struct Content {
  std::function<std::string()> page;
  std::function<std::string()> data;
};

struct Limits {
  std::size_t connections = 256;    ///< further ones wait until one ends
  std::uint32_t head_bytes = 8192;  ///< of request line and headers together
  std::chrono::milliseconds request{
      10000};  ///< from the connection's start, or the last response, to the end of a head
  std::chrono::milliseconds response{60000};  ///< to generate a response and to send it
  std::chrono::milliseconds max_age{1000};    ///< a document is generated again when it is older
  std::chrono::milliseconds grace{2000};      ///< for the responses under way when the server stops
};

struct Settings {
  std::string host = "127.0.0.1";        ///< an address or name of this machine; 0.0.0.0 or :: for all addresses
  std::uint16_t port = 0;                ///< 0: any free port
  std::vector<std::string> allow_hosts;  ///< further values of the Host header, HOST:PORT
  Limits limits = {};
};

/// The server cannot listen on the address.
class ServeError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Server {
 public:
  /// Binds and listens, so that clients can connect. Throws ServeError.
  Server(Content content, const Settings& settings);
  Server(const Server&) = delete;
  Server(Server&&) = delete;
  Server& operator=(const Server&) = delete;
  Server& operator=(Server&&) = delete;
  ~Server();

  std::uint16_t port() const;
  std::string url() const;   ///< "http://127.0.0.1:8000/"
  bool is_loopback() const;  ///< other machines cannot reach the server

  /// Serves until `stop`, called 20 times a second, returns true. Then closes idle connections, and gives responses
  /// under way the time `limits.grace`. May be called once.
  void run(const std::function<bool()>& stop);

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace lehi::serve
