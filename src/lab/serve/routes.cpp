#include "serve/routes.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>

namespace lehi::serve {
namespace {

bool is_address(const std::string& host) {
  in_addr four{};
  in6_addr six{};
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    return ::inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &six) == 1;
  }
  return ::inet_pton(AF_INET, host.c_str(), &four) == 1;
}

Decision reject(unsigned status, std::string text) {
  return {.status = status, .route = {}, .text = std::move(text) + "\n"};
}

constexpr std::string_view scheme = "http://";

}  // namespace

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (auto& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

bool is_allowed(const HostRules& rules, std::string_view host) {
  const auto whole = lower_case(host);
  if (std::find(rules.exact.begin(), rules.exact.end(), whole) != rules.exact.end()) return true;
  const auto colon = whole.rfind(':');
  const auto bracket = whole.rfind(']');
  const bool has_port = colon != std::string::npos && (bracket == std::string::npos || colon > bracket);
  const auto name = has_port ? whole.substr(0, colon) : whole;
  std::uint16_t port = 80;
  if (has_port) {
    const auto* end = whole.data() + whole.size();
    const auto [stop, error] = std::from_chars(whole.data() + colon + 1, end, port);
    if (error != std::errc() || stop != end) return false;
  }
  if (port != rules.port) return false;
  return std::find(rules.names.begin(), rules.names.end(), name) != rules.names.end() ||
         (rules.any_address && is_address(name));
}

Decision decide(const RequestHead& head, const HostRules& rules) {
  if (head.hosts.size() != 1) {
    return reject(400, fmt::format("The request has {} Host headers, expected one.", head.hosts.size()));
  }
  auto path = head.target;
  auto authority = head.hosts[0];
  if (lower_case(path.substr(0, scheme.size())) == scheme) {  // the absolute form, as sent to proxies
    path.remove_prefix(scheme.size());
    const auto end = std::min(path.find_first_of("/?"), path.size());
    authority = path.substr(0, end);
    path.remove_prefix(end);
    if (path.empty() || path[0] == '?') path = "/";
  }
  if (!is_allowed(rules, head.hosts[0]) || !is_allowed(rules, authority)) {
    return reject(421, "This host name is not allowed; see --allow-host of `lehi serve`.");
  }
  if (head.method != "GET" && head.method != "HEAD") return reject(405, "Only GET and HEAD are supported.");
  if (path.empty() || path[0] != '/') return reject(400, "The request target must be a path that begins with /.");
  path = path.substr(0, path.find('?'));
  if (path == "/") return {.route = Route::page};
  if (path == "/data.json") return {.route = Route::data};
  if (path == "/healthz") return {.route = Route::health};
  return reject(404, "Not found; the paths are /, /data.json and /healthz.");
}

}  // namespace lehi::serve
