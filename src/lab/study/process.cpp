#include "study/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <system_error>
#include <utility>

#include "distributed/environment.h"

namespace lehi::study {
namespace {

std::array<int, 2> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return ends;
}

struct ChildSetup {
  const char* program;
  char** arguments;
  char** environment;
  int out;
  int err;
  int lock;
  pid_t parent;
};

// Runs between fork and exec: makes only async-signal-safe calls.
[[noreturn]] void exec_child(const ChildSetup& setup) {
  constexpr int cannot_start = 127;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != setup.parent) ::_exit(cannot_start);  // the parent ended before prctl()
  ::setpgid(0, 0);
  for (const int number : {SIGINT, SIGTERM}) ::signal(number, SIG_DFL);
  const int input = ::open("/dev/null", O_RDONLY);
  ::dup2(input, STDIN_FILENO);
  ::dup2(setup.out, STDOUT_FILENO);
  ::dup2(setup.err, STDERR_FILENO);
  if (setup.lock >= 0) ::fcntl(setup.lock, F_SETFD, 0);
  ::execve(setup.program, setup.arguments, setup.environment);
  const char* reason = ::strerrordesc_np(errno);
  for (const char* text : {"cannot start ", setup.program, ": ", reason == nullptr ? "?" : reason, "\n"}) {
    if (::write(STDERR_FILENO, text, std::strlen(text)) < 0) break;
  }
  ::_exit(cannot_start);
}

std::vector<char*> null_terminated(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (auto& string : strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Child::Child(const std::string& program, std::vector<std::string> arguments, std::vector<std::string> environment,
             int lock) {
  auto pointers = null_terminated(arguments);
  auto variables = null_terminated(environment);
  const auto out = make_pipe();
  const auto err = make_pipe();
  const ChildSetup setup{.program = program.c_str(),
                         .arguments = pointers.data(),
                         .environment = variables.data(),
                         .out = out[1],
                         .err = err[1],
                         .lock = lock,
                         .parent = ::getpid()};
  process_ = ::fork();  // NOLINT(cppcoreguidelines-prefer-member-initializer): after the pipes
  if (process_ == 0) exec_child(setup);
  const int error = errno;
  ::close(out[1]);
  ::close(err[1]);
  out_.descriptor = out[0];
  err_.descriptor = err[0];
  if (process_ < 0) throw std::system_error(error, std::generic_category(), "a run can't be started: fork");
  ::setpgid(process_, process_);  // here too: a signal may be sent before the child runs
}

Child::Child(Child&& other) noexcept
    : process_(std::exchange(other.process_, -1)),
      out_(std::exchange(other.out_, Stream{})),
      err_(std::exchange(other.err_, Stream{})) {}

Child::~Child() {
  if (process_ > 0) {
    ::kill(-process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  for (const auto* stream : {&out_, &err_}) {
    if (stream->descriptor >= 0) ::close(stream->descriptor);
  }
}

void Child::Stream::read(const Lines& lines) {
  constexpr std::size_t longest_line = 1 << 16;  // longer lines are neither progress nor messages
  std::array<char, 4096> buffer{};
  while (descriptor >= 0) {
    const auto size = ::read(descriptor, buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return;  // no output at the moment
    if (size == 0) return close(lines);
    rest.append(buffer.data(), static_cast<std::size_t>(size));
    std::size_t begin = 0;
    for (auto end = rest.find('\n'); end != std::string::npos; end = rest.find('\n', begin)) {
      lines(std::string_view(rest).substr(begin, end - begin));
      begin = end + 1;
    }
    rest.erase(0, begin);
    if (rest.size() > longest_line) rest.clear();
  }
}

void Child::Stream::close(const Lines& lines) {
  if (!rest.empty()) lines(rest);
  rest.clear();
  ::close(std::exchange(descriptor, -1));
}

void Child::read(const Lines& out, const Lines& err) {
  out_.read(out);
  err_.read(err);
}

std::optional<int> Child::ended() {
  if (process_ <= 0) return {};
  int status = 0;
  const auto found = ::waitpid(process_, &status, WNOHANG);
  if (found != process_) return {};
  process_ = -1;
  return status;
}

void Child::send(int signal) const {
  if (process_ > 0) ::kill(process_, signal);
}

std::string find_command(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream directories(path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : path);
  for (std::string directory; std::getline(directories, directory, ':');) {
    auto candidate = std::filesystem::path(directory.empty() ? "." : directory) / name;
    std::error_code ignored;
    if (std::filesystem::is_regular_file(candidate, ignored) && ::access(candidate.c_str(), X_OK) == 0)
      return candidate;
  }
  return "";
}

CommandOutput run_command(std::vector<std::string> arguments) {
  const auto program = find_command(arguments.front());
  Child child(program.empty() ? arguments.front() : program, std::move(arguments), distributed::whole_environment(),
              -1);
  CommandOutput output;
  std::optional<int> status;
  while (!status) {
    std::array<pollfd, 2> descriptors = {{{child.out(), POLLIN, 0}, {child.err(), POLLIN, 0}}};
    constexpr int milliseconds = 20;  // short: it may close its output before it ends
    ::poll(descriptors.data(), descriptors.size(), milliseconds);
    status = child.ended();
    child.read([&](std::string_view line) { (output.out += line) += '\n'; },
               [&](std::string_view line) { (output.err += line) += '\n'; });
  }
  output.code = WIFEXITED(*status) ? WEXITSTATUS(*status) : 1;
  return output;
}

}  // namespace lehi::study
