// Caches the documents that the server shows. They are generated on a thread of their own, since reading a large study
// takes a second and other connections must not wait for it.
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

/// A generated document, or the error message if generating it failed.
struct Document {
  std::shared_ptr<const std::string> text;
  bool failed = false;
};

/// Generates each document at most once in `max_age`, however many requests ask for it. Must be used on the thread of
/// `context` only; callbacks run there.
class ContentCache {
 public:
  using Callback = std::function<void(const Document&)>;
  ContentCache(boost::asio::io_context& context, Content content, std::chrono::milliseconds max_age);

  void page(Callback callback) { get(entries_[0], std::move(callback)); }
  void data(Callback callback) { get(entries_[1], std::move(callback)); }

  /// Waits until no document is being generated.
  void join() { worker_.join(); }

 private:
  struct Entry {
    std::function<std::string()> generate;
    Document document;
    std::chrono::steady_clock::time_point expires;  ///< of `document`
    std::vector<Callback> waiting;
  };
  void get(Entry& entry, Callback callback);
  void finish(Entry& entry, Document document);

  boost::asio::io_context& context_;
  std::chrono::milliseconds max_age_;
  std::array<Entry, 2> entries_;
  boost::asio::thread_pool worker_{1};
};

}  // namespace lehi::serve
