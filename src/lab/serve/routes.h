// Decides how to answer a request from its head alone, without sockets or files. The routes are fixed: no part of a URL
// is ever used as a file path.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lehi::serve {

/// Lower-cases ASCII letters; other bytes are kept.
std::string lower_case(std::string_view text);

/// The host names that this server accepts. This prevents DNS rebinding: a page of another site, whose name is made to
/// resolve to this machine, sends that site's name in its Host header and is rejected.
struct HostRules {
  std::vector<std::string> names;  ///< in lower case; IPv6 addresses in brackets
  std::uint16_t port = 0;          ///< of all names; a Host header without a port means 80
  bool any_address = false;        ///< also accepts every IP address, which DNS cannot rebind
  std::vector<std::string> exact;  ///< further values of the Host header, for a forwarded port or a proxy
};

/// True if `host`, a Host header or the authority of an absolute request target, names this server.
bool is_allowed(const HostRules& rules, std::string_view host);

enum class Route : std::uint8_t { page, data, health };

struct RequestHead {
  std::string_view method;
  std::string_view target;
  std::vector<std::string_view> hosts;  ///< the values of all Host headers
};

/// A route, or an error status with a one-sentence message.
struct Decision {
  unsigned status = 200;
  std::optional<Route> route;
  std::string text;
};

Decision decide(const RequestHead& head, const HostRules& rules);

}  // namespace lehi::serve
