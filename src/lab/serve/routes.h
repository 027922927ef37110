// What a request is answered with, decided from its head alone. Pure: no socket, no file. Routes are fixed, so that no
// path ever comes from a URL.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lehi::serve {

/// ASCII letters only.
std::string lower_case(std::string_view text);

/// Whom this server answers to. A page of another site whose name is made to resolve to this machine (DNS rebinding)
/// sends that site's name as Host, and is refused.
struct HostRules {
  std::vector<std::string> names;  ///< in lower case, an IPv6 address in brackets
  std::uint16_t port = 0;          ///< of all names; a Host without a port means 80
  bool any_address = false;        ///< also every IP address: there is no name to rebind in it
  std::vector<std::string> exact;  ///< host:port as a whole, of a forwarded port or a proxy
};

/// True when a Host header or the authority of an absolute request target names this server.
bool is_allowed(const HostRules& rules, std::string_view host);

enum class Route : std::uint8_t { page, data, health };

struct RequestHead {
  std::string_view method;
  std::string_view target;
  std::vector<std::string_view> hosts;  ///< of all Host headers
};

/// A route, or a status other than 200 with one sentence.
struct Decision {
  unsigned status = 200;
  std::optional<Route> route;
  std::string text;
};

Decision decide(const RequestHead& head, const HostRules& rules);

}  // namespace lehi::serve
