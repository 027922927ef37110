#include "faults/soak_memory.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill is POSIX
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <iostream>
#include <thread>

#include "faults/stopwatch.h"
#include "train/scratch.h"

namespace lehi::faults {

namespace fs = std::filesystem;
using testing::slurp;

namespace {

double resident_megabytes(int process) {
  std::ifstream status(fmt::format("/proc/{}/statm", process));
  double size = 0;
  double resident = 0;
  status >> size >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1e6;
}

/// Sends a request and returns the number of bytes of the response.
std::size_t send_request(std::uint16_t port, const std::string& target) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::size_t bytes = 0;
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {  // NOLINT
    const auto request =
        fmt::format("GET {} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\n\r\n", target, port);
    if (::send(socket, request.data(), request.size(), MSG_NOSIGNAL) > 0) {
      std::array<char, 65536> buffer{};
      for (ssize_t size = 0; (size = ::recv(socket, buffer.data(), buffer.size(), 0)) > 0;) {
        bytes += static_cast<std::size_t>(size);
      }
    }
  }
  ::close(socket);
  return bytes;
}

}  // namespace

Memory memory_of_many_runs(const fs::path& folder, const cli::Arguments& words, double seconds) {
  const auto file = folder / "resident.txt";
  const auto out = folder / "again";
  forked([&] {
    std::ofstream series(file);
    std::ofstream nothing("/dev/null");
    const auto start = Clock::now();
    auto all = words;
    all.insert(all.end(), {"--out", out.string()});
    while (seconds_since(start) < seconds && interrupted == 0) {
      fs::remove_all(out);
      if (cli::run_program(all, nothing, nothing) != cli::done) return 1;
      series << resident_megabytes(::getpid()) << '\n' << std::flush;
    }
    return 0;
  });
  Memory memory{"one process, many runs", {}};
  std::ifstream series(file);
  for (double value = 0; series >> value;) memory.megabytes.push_back(value);
  return memory;
}

Memory memory_of_serving(Layer& layer, const fs::path& folder, const fs::path& study, double seconds) {
  Memory memory{"lehi serve, many requests", {}};
  if (study.empty()) return memory;
  const int process = layer.start_real({"serve", study.string(), "--port", "0"});
  const auto start = Clock::now();
  std::string url;
  while (seconds_since(start) < 30.0 && url.find('\n') == std::string::npos) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    url = slurp(folder / "out.txt");
  }
  const auto colon = url.rfind(':');
  const auto port = colon == std::string::npos ? 0 : std::atoi(url.c_str() + colon + 1);
  std::size_t bytes = 0;
  std::size_t requests = 0;
  while (port != 0 && seconds_since(start) < seconds && interrupted == 0) {
    for (int i = 0; i < 20; ++i, ++requests) {
      bytes += send_request(static_cast<std::uint16_t>(port), i % 2 == 0 ? "/" : "/data.json");
    }
    fs::last_write_time(study / "study.json", fs::file_time_type::clock::now());
    memory.megabytes.push_back(resident_megabytes(process));
  }
  ::kill(process, SIGTERM);
  layer.finish(process);
  std::cerr << fmt::format("soak: lehi serve answered {} requests with {:.1f} MB\n", requests,
                           static_cast<double>(bytes) / 1e6);
  if (bytes == 0) memory.megabytes.clear();
  return memory;
}

}  // namespace lehi::faults
