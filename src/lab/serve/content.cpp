#include "serve/content.h"

#include <fmt/format.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <exception>
#include <utility>

namespace lehi::serve {

ContentCache::ContentCache(boost::asio::io_context& context, Content content, std::chrono::milliseconds fresh)
    : context_(context), fresh_(fresh) {
  entries_[0].make = std::move(content.page);
  entries_[1].make = std::move(content.data);
}

void ContentCache::get(Entry& entry, Use use) {
  if (entry.made.text && std::chrono::steady_clock::now() < entry.until) return use(entry.made);
  entry.waiting.push_back(std::move(use));
  if (entry.waiting.size() > 1) return;  // it is being made
  // The guard keeps the connections' loop alive until it has the answer.
  boost::asio::post(worker_, [this, &entry, guard = boost::asio::make_work_guard(context_)] {
    Made made;
    try {
      made.text = std::make_shared<const std::string>(entry.make());
    } catch (const std::exception& error) {
      made.failed = true;
      made.text = std::make_shared<const std::string>(fmt::format("The report could not be made: {}\n", error.what()));
    }
    boost::asio::post(context_, [this, &entry, made] { finish(entry, made); });
  });
}

void ContentCache::finish(Entry& entry, Made made) {
  entry.made = std::move(made);
  entry.until = std::chrono::steady_clock::now() + fresh_;
  for (const auto& use : std::exchange(entry.waiting, {})) use(entry.made);
}

}  // namespace lehi::serve
