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

std::shared_ptr<const std::string> shared_string(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

constexpr auto plain = "text/plain; charset=utf-8";

// The current time as "Sun, 06 Nov 1994 08:49:37 GMT".
std::string http_date() {
  const std::time_t now = std::time(nullptr);
  std::tm fields{};
  ::gmtime_r(&now, &fields);
  std::array<char, 40> text{};
  std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &fields);
  return text.data();
}

// The status for a request head that could not be read; 0 if the client has closed the connection.
unsigned status_of(beast::error_code error) {
  if (error == http::error::end_of_stream || error == http::error::partial_message) return 0;
  if (error == beast::error::timeout) return 0;  // the stream is closed by then
  if (error == http::error::header_limit || error == http::error::buffer_overflow) return 431;
  if (error == http::error::bad_version) return 505;
  if (error.category() == make_error_code(http::error::bad_method).category()) return 400;
  return 0;
}

}  // namespace

Connection::Connection(boost::asio::ip::tcp::socket socket, std::shared_ptr<ServerState> server)
    : stream_(std::move(socket)), server_(std::move(server)), buffer_(server_->limits.head_bytes) {
  server_->connections.insert(this);
}

Connection::~Connection() {
  server_->connections.erase(this);
  server_->on_close();
}

void Connection::stop() {
  keep_alive_ = false;
  if (reading_) close();
}

void Connection::close() {
  beast::error_code ignored;
  stream_.socket().shutdown(boost::asio::ip::tcp::socket::shutdown_both, ignored);
  stream_.close();
}

void Connection::read() {
  parser_.emplace();
  parser_->header_limit(server_->limits.head_bytes);
  // Any size is allowed, since bodies are not read. (Boost 1.74 mishandles boost::none here.)
  parser_->body_limit(std::numeric_limits<std::uint64_t>::max());
  reading_ = true;
  stream_.expires_after(server_->limits.request);  // for the whole head; single bytes do not extend it
  http::async_read_header(stream_, buffer_, *parser_,
                          [self = shared_from_this()](beast::error_code error, std::size_t) {
                            self->reading_ = false;
                            self->on_read(error);
                          });
}

void Connection::on_read(beast::error_code error) {
  keep_alive_ = false;
  head_only_ = false;
  stream_.expires_after(server_->limits.response);
  if (error) {
    unread_ = true;
    const auto status = status_of(error);
    if (status == 0) return;  // without further handlers the connection is destroyed
    return respond(status,
                   shared_string(status == 431 ? "The request line and headers are too large.\n"
                                               : "The request is not valid HTTP.\n"),
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
  // Idle connections must not use up the limit.
  const bool crowded = server_->connections.size() > server_->limits.connections * 3 / 4;
  keep_alive_ = request.keep_alive() && !has_body && !crowded && !server_->stopping;
  const auto decision = decide(head, server_->hosts);
  if (decision.status == 200 && has_body)
    return respond(413, shared_string("Requests with a body are not supported.\n"), plain);
  if (!decision.route) return respond(decision.status, shared_string(decision.text), plain);
  if (*decision.route == Route::health) return respond(200, shared_string("ok\n"), plain);
  const bool page = *decision.route == Route::page;
  auto send = [self = shared_from_this(), page](const Document& document) {
    if (document.failed) return self->respond(500, document.text, plain);
    self->respond(200, document.text, page ? "text/html; charset=utf-8" : "application/json; charset=utf-8");
  };
  page ? server_->cache.page(std::move(send)) : server_->cache.data(std::move(send));
}

void Connection::respond(unsigned status, std::shared_ptr<const std::string> body, const char* type) {
  if (!stream_.socket().is_open()) return;
  keep_alive_ = keep_alive_ && !server_->stopping;
  body_ = std::move(body);
  auto& response = response_.emplace();
  response.version(11);
  response.result(status);
  response.set(http::field::date, http_date());
  response.set(http::field::content_type, type);
  response.set(http::field::cache_control, "no-store");
  response.set("X-Content-Type-Options", "nosniff");
  response.set("Referrer-Policy", "no-referrer");
  // The rest of the policy is in the page; frame-ancestors works only in a header.
  response.set("Content-Security-Policy", "frame-ancestors 'none'");
  response.set("X-Frame-Options", "DENY");
  response.set("Cross-Origin-Resource-Policy", "same-origin");
  response.set("Cross-Origin-Opener-Policy", "same-origin");
  if (status == 405) response.set(http::field::allow, "GET, HEAD");
  response.keep_alive(keep_alive_);
  response.content_length(body_->size());
  if (!head_only_) response.body() = Body::value_type(body_->data(), body_->size());
  http::async_write(stream_, *response_,
                    [self = shared_from_this()](beast::error_code error, std::size_t) { self->on_written(error); });
}

void Connection::on_written(beast::error_code error) {
  if (error) return;
  if (keep_alive_ && !server_->stopping) return read();
  finish();
}

void Connection::finish() {
  beast::error_code ignored;
  stream_.socket().shutdown(boost::asio::ip::tcp::socket::shutdown_send, ignored);
  // Closing with unread bytes of the client would reset the connection, and the response could be lost.
  if (!unread_ && buffer_.size() == 0 && stream_.socket().available(ignored) == 0) return close();
  stream_.expires_after(std::min(server_->limits.grace, std::chrono::milliseconds(1000)));
  reading_ = true;
  drain();
}

void Connection::drain() {
  constexpr std::size_t max_drained = 1 << 18;
  if (server_->stopping || drained_ > max_drained) return close();
  stream_.async_read_some(boost::asio::buffer(drain_buffer_),
                          [self = shared_from_this()](beast::error_code error, std::size_t n) {
                            self->drained_ += n;
                            if (!error) self->drain();
                          });
}

}  // namespace lehi::serve
