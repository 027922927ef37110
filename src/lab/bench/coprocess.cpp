#include "bench/coprocess.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>

namespace lehi::bench {
namespace {

std::vector<std::string> changed_environment(const Coprocess::Environment& changes) {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string variable = *entry;
    if (!changes.contains(variable.substr(0, variable.find('=')))) entries.push_back(variable);
  }
  for (const auto& [name, value] : changes) {
    if (value) entries.push_back(name + "=" + *value);
  }
  return entries;
}

// A null-terminated array for execvp().
std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (auto& string : strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

// The child after fork(). Makes only async-signal-safe calls.
[[noreturn]] void run_child(const char* program, char** arguments, char** variables, int socket, int errors,
                            pid_t parent) {
  constexpr int cannot_start = 127;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(cannot_start);
  ::dup2(socket, STDIN_FILENO);
  ::dup2(socket, STDOUT_FILENO);
  ::dup2(errors, STDERR_FILENO);
  environ = variables;
  ::execvp(program, arguments);
  const char* reason = ::strerrordesc_np(errno);
  for (const char* text : {"cannot start ", program, ": ", reason == nullptr ? "?" : reason, "\n"}) {
    if (::write(STDERR_FILENO, text, std::strlen(text)) < 0) break;
  }
  ::_exit(cannot_start);
}

}  // namespace

Coprocess::Coprocess(const std::string& program, std::vector<std::string> arguments, const Environment& changes) {
  auto entries = changed_environment(changes);
  arguments.insert(arguments.begin(), program);
  auto argument_pointers = pointers_to(arguments);
  auto variable_pointers = pointers_to(entries);
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw std::system_error(errno, std::generic_category(), "socketpair");
  }
  errors_ = ::memfd_create("lehi-errors", MFD_CLOEXEC);
  const pid_t parent = ::getpid();
  process_ = ::fork();
  if (process_ == 0) {
    run_child(program.c_str(), argument_pointers.data(), variable_pointers.data(), ends[1], errors_, parent);
  }
  const int error = errno;
  ::close(ends[1]);
  socket_ = ends[0];
  if (process_ < 0) throw std::system_error(error, std::generic_category(), "fork");
}

Coprocess::~Coprocess() {
  ::close(socket_);
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
  if (errors_ >= 0) ::close(errors_);
}

void Coprocess::send(std::string_view line) {
  const std::string message = std::string(line) + "\n";
  // A few bytes into an empty buffer are sent at once. No SIGPIPE if the process has ended.
  if (::send(socket_, message.data(), message.size(), MSG_NOSIGNAL) < 0 && errno != EPIPE && errno != ECONNRESET) {
    throw std::system_error(errno, std::generic_category(), "send");
  }
}

std::optional<std::string> Coprocess::read_line() {
  while (true) {
    if (const auto end = rest_.find('\n'); end != std::string::npos) {
      std::string line = rest_.substr(0, end);
      rest_.erase(0, end + 1);
      return line;
    }
    std::array<char, 4096> buffer{};
    const auto size = ::recv(socket_, buffer.data(), buffer.size(), 0);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return {};
    rest_.append(buffer.data(), static_cast<std::size_t>(size));
  }
}

std::string Coprocess::last_error() const {
  std::string text;
  std::array<char, 4096> buffer{};
  while (true) {
    const auto size = ::pread(errors_, buffer.data(), buffer.size(), static_cast<off_t>(text.size()));
    if (size <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(size));
  }
  while (!text.empty() && text.back() == '\n') text.pop_back();
  const auto begin = text.rfind('\n');
  return begin == std::string::npos ? text : text.substr(begin + 1);
}

}  // namespace lehi::bench
