// A network of the test's own. c10d's store and the launchers listen on every device; here there is none but loopback.
#pragma once

#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace lehi::testing {

/// From now on this thread, and the processes that it starts, have the loopback device only, where that is allowed;
/// elsewhere it says so and changes nothing.
inline void leave_the_network() {
  static const bool done = [] {
    if (::unshare(CLONE_NEWNET) != 0) return false;
    const int socket = ::socket(AF_INET, SOCK_DGRAM, 0);
    ifreq request{};
    std::strncpy(request.ifr_name, "lo", IFNAMSIZ - 1);
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    const bool up = ::ioctl(socket, SIOCSIFFLAGS, &request) == 0;
    ::close(socket);
    return up;
  }();
  if (!done) std::puts("no network of its own is allowed here: the ranks' store listens on every device");
}

}  // namespace lehi::testing
