// What the server shows, made at most once in a while however many ask for it, on a thread of its own: a large study
// takes a second to read, and the connections must not wait for it.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "serve/server.h"

namespace lehi::serve {

/// One document, or why there is none.
struct Made {
  std::shared_ptr<const std::string> text;
  bool failed = false;
};

/// Lives and is called on the thread of `context`.
class ContentCache {
 public:
  using Use = std::function<void(const Made&)>;
  ContentCache(boost::asio::io_context& context, Content content, std::chrono::milliseconds fresh);

  void page(Use use) { get(entries_[0], std::move(use)); }
  void data(Use use) { get(entries_[1], std::move(use)); }

  /// Waits for what is being made.
  void join() { worker_.join(); }

 private:
  struct Entry {
    std::function<std::string()> make;
    Made made;
    std::chrono::steady_clock::time_point until;  ///< `made` is shown up to then
    std::vector<Use> waiting;
  };
  void get(Entry& entry, Use use);
  void finish(Entry& entry, Made made);

  boost::asio::io_context& context_;
  std::chrono::milliseconds fresh_;
  std::array<Entry, 2> entries_;
  boost::asio::thread_pool worker_{1};
};

}  // namespace lehi::serve
