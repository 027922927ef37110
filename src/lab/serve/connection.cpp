#include "serve/connection.h"

#include <algorithm>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <ctime>
#include <limits>
#include <utility>

namespace lehi::serve {
namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace {

std::shared_ptr<const std::string> shared_text(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

constexpr auto plain = "text/plain; charset=utf-8";

/// "Sun, 06 Nov 1994 08:49:37 GMT"
std::string http_date() {
  const std::time_t now = std::time(nullptr);
  std::tm fields{};
  ::gmtime_r(&now, &fields);
  std::array<char, 40> text{};
  std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &fields);
  return text.data();
}

// The status for a head that could not be read, or 0 where nobody is left to hear it.
unsigned status_of(beast::error_code error) {
  if (error == http::error::end_of_stream || error == http::error::partial_message) return 0;
  if (error == beast::error::timeout) return 0;  // the stream is closed by then
  if (error == http::error::header_limit || error == http::error::buffer_overflow) return 431;
  if (error == http::error::bad_version) return 505;
  if (error.category() == make_error_code(http::error::bad_method).category()) return 400;
  return 0;
}

}  // namespace

Connection::Connection(boost::asio::ip::tcp::socket socket, std::shared_ptr<Shared> shared)
    : stream_(std::move(socket)), shared_(std::move(shared)), buffer_(shared_->limits.head_bytes) {
  shared_->connections.insert(this);
}

Connection::~Connection() {
  shared_->connections.erase(this);
  shared_->ended();
}

void Connection::stop() {
  keep_ = false;
  if (reading_) close();
}

void Connection::close() {
  beast::error_code ignored;
  stream_.socket().shutdown(boost::asio::ip::tcp::socket::shutdown_both, ignored);
  stream_.close();
}

void Connection::read() {
  parser_.emplace();
  parser_->header_limit(shared_->limits.head_bytes);
  // Bodies are not read, whatever their size. (Boost 1.74 takes boost::none for less than any.)
  parser_->body_limit(std::numeric_limits<std::uint64_t>::max());
  reading_ = true;
  stream_.expires_after(shared_->limits.request);  // for the whole head: a byte now and then does not extend it
  http::async_read_header(stream_, buffer_, *parser_,
                          [self = shared_from_this()](beast::error_code error, std::size_t) {
                            self->reading_ = false;
                            self->on_read(error);
                          });
}

void Connection::on_read(beast::error_code error) {
  keep_ = false;
  head_only_ = false;
  stream_.expires_after(shared_->limits.answer);
  if (error) {
    unread_ = true;
    const auto status = status_of(error);
    if (status == 0) return;  // the connection ends with its last handler
    return answer(status, shared_text(status == 431 ? "The request's head is too large.\n" : "That is no request.\n"),
                  plain);
  }
  const auto& request = parser_->get();
  const auto view = [](beast::string_view text) { return std::string_view(text.data(), text.size()); };
  RequestHead head{.method = view(request.method_string()), .target = view(request.target())};
  const auto [first, last] = request.equal_range(http::field::host);
  for (auto field = first; field != last; ++field) head.hosts.push_back(view(field->value()));
  head_only_ = request.method() == http::verb::head;
  const bool has_body = !parser_->is_done();
  unread_ = has_body;
  const bool crowded =
      shared_->connections.size() > shared_->limits.connections * 3 / 4;  // idle ones must not fill it up
  keep_ = request.keep_alive() && !has_body && !crowded && !shared_->stopping;
  const auto decision = decide(head, shared_->hosts);
  if (decision.status == 200 && has_body) return answer(413, shared_text("A request may have no body.\n"), plain);
  if (!decision.route) return answer(decision.status, shared_text(decision.text), plain);
  if (*decision.route == Route::health) return answer(200, shared_text("ok\n"), plain);
  const bool page = *decision.route == Route::page;
  auto use = [self = shared_from_this(), page](const Made& made) {
    if (made.failed) return self->answer(500, made.text, plain);
    self->answer(200, made.text, page ? "text/html; charset=utf-8" : "application/json; charset=utf-8");
  };
  page ? shared_->cache.page(std::move(use)) : shared_->cache.data(std::move(use));
}

void Connection::answer(unsigned status, std::shared_ptr<const std::string> text, const char* type) {
  if (!stream_.socket().is_open()) return;
  keep_ = keep_ && !shared_->stopping;
  text_ = std::move(text);
  auto& response = response_.emplace();
  response.version(11);
  response.result(status);
  response.set(http::field::date, http_date());
  response.set(http::field::content_type, type);
  response.set(http::field::cache_control, "no-store");
  response.set("X-Content-Type-Options", "nosniff");
  response.set("Referrer-Policy", "no-referrer");
  // The page's own policy is in the page; this much a page can't say of itself.
  response.set("Content-Security-Policy", "frame-ancestors 'none'");
  response.set("X-Frame-Options", "DENY");
  response.set("Cross-Origin-Resource-Policy", "same-origin");
  response.set("Cross-Origin-Opener-Policy", "same-origin");
  if (status == 405) response.set(http::field::allow, "GET, HEAD");
  response.keep_alive(keep_);
  response.content_length(text_->size());
  if (!head_only_) response.body() = Body::value_type(text_->data(), text_->size());
  http::async_write(stream_, *response_,
                    [self = shared_from_this()](beast::error_code error, std::size_t) { self->on_written(error); });
}

void Connection::on_written(beast::error_code error) {
  if (error) return;
  if (keep_ && !shared_->stopping) return read();
  finish();
}

void Connection::finish() {
  beast::error_code ignored;
  stream_.socket().shutdown(boost::asio::ip::tcp::socket::shutdown_send, ignored);
  // Closing while bytes of the client are unread would reset the connection, and the answer with it.
  if (!unread_ && buffer_.size() == 0 && stream_.socket().available(ignored) == 0) return close();
  stream_.expires_after(std::min(shared_->limits.grace, std::chrono::milliseconds(1000)));
  reading_ = true;
  linger();
}

void Connection::linger() {
  constexpr std::size_t enough = 1 << 18;
  if (shared_->stopping || discarded_ > enough) return close();
  stream_.async_read_some(boost::asio::buffer(waste_),
                          [self = shared_from_this()](beast::error_code error, std::size_t n) {
                            self->discarded_ += n;
                            if (!error) self->linger();
                          });
}

}  // namespace lehi::serve
