#include "serve/content.h"

#include <fmt/format.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <exception>
#include <utility>

namespace lehi::serve {

ContentCache::ContentCache(boost::asio::io_context& context, Content content, std::chrono::milliseconds max_age)
    : context_(context), max_age_(max_age) {
  entries_[0].generate = std::move(content.page);
  entries_[1].generate = std::move(content.data);
}

void ContentCache::get(Entry& entry, Callback callback) {
  if (entry.document.text && std::chrono::steady_clock::now() < entry.expires) return callback(entry.document);
  entry.waiting.push_back(std::move(callback));
  if (entry.waiting.size() > 1) return;  // it is being generated
  // The guard keeps the event loop of `context_` running until the document is ready.
  boost::asio::post(worker_, [this, &entry, guard = boost::asio::make_work_guard(context_)] {
    Document document;
    try {
      document.text = std::make_shared<const std::string>(entry.generate());
    } catch (const std::exception& error) {
      document.failed = true;
      document.text =
          std::make_shared<const std::string>(fmt::format("Cannot generate the report: {}\n", error.what()));
    }
    boost::asio::post(context_, [this, &entry, document] { finish(entry, document); });
  });
}

void ContentCache::finish(Entry& entry, Document document) {
  entry.document = std::move(document);
  entry.expires = std::chrono::steady_clock::now() + max_age_;
  for (const auto& callback : std::exchange(entry.waiting, {})) callback(entry.document);
}

}  // namespace lehi::serve
