// Isolates a test from the network: c10d's store and the launchers listen on all interfaces.
#pragma once

#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace lehi::testing {

/// Leaves only the loopback interface to this thread and the processes that it starts. If the system does not allow
/// that, prints a note and changes nothing.
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
  if (!done) std::puts("can't create a network namespace: the ranks' store will listen on all interfaces");
}

}  // namespace lehi::testing
