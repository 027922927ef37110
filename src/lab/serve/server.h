// A small web server for one page and its data, for people on the same machine: fixed routes, GET and HEAD only,
// nothing read from the disk by name. It knows nothing of reports; what it shows comes from two functions.
//
//   GET /           the page
//   GET /data.json  the page's data
//   GET /healthz    "ok"
//
// Every limit below is kept: heads that are too large, clients that are too slow in asking or in reading, and more
// connections than allowed (those wait) cost no more than their share.
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

/// Called on one thread, never both at once. What they throw is answered with status 500 and its sentence.
struct Content {
  std::function<std::string()> page;
  std::function<std::string()> data;
};

struct Limits {
  std::size_t connections = 256;             ///< more wait until one ends
  std::uint32_t head_bytes = 8192;           ///< of request line and headers together
  std::chrono::milliseconds request{10000};  ///< from a connection's begin, or its last answer, to the end of a head
  std::chrono::milliseconds answer{60000};   ///< until an answer is made and taken
  std::chrono::milliseconds fresh{1000};     ///< a document is not made anew before it is so old
  std::chrono::milliseconds grace{2000};     ///< for answers under way when the server is told to stop
};

struct Settings {
  std::string host = "127.0.0.1";        ///< an address or a name of this machine; 0.0.0.0 and :: are all of them
  std::uint16_t port = 0;                ///< 0: any that is free
  std::vector<std::string> allow_hosts;  ///< HOST:PORT as browsers send it, beside the server's own names
  Limits limits = {};
};

/// The address can't be had: one sentence.
class ServeError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Server {
 public:
  /// Binds and listens; clients may connect from now on. Throws ServeError.
  Server(Content content, const Settings& settings);
  Server(const Server&) = delete;
  Server(Server&&) = delete;
  Server& operator=(const Server&) = delete;
  Server& operator=(Server&&) = delete;
  ~Server();

  std::uint16_t port() const;
  std::string url() const;   ///< "http://127.0.0.1:8000/"
  bool is_loopback() const;  ///< no other machine can reach it

  /// Serves until `stop` is true, asked a few times a second. Then nothing is accepted any more, idle connections are
  /// closed, and answers under way may end. Once only.
  void run(const std::function<bool()>& stop);

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace lehi::serve
