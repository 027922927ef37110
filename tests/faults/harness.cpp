#include "faults/harness.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigaction is POSIX
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <stdexcept>

namespace lehi::faults {
namespace fs = std::filesystem;
namespace {

constexpr unsigned seconds_of_a_process = 1500;  // one that hangs is killed by SIGALRM, and the test fails
constexpr std::array<std::string_view, kinds> kind_names = {"none", "enospc", "eio",  "short_write",
                                                            "full", "broken", "kill", "kill_inside"};

std::string read_whole(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

std::size_t threads() {
  const fs::directory_iterator tasks("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

/// Does what exec does: closes descriptors and resets signal handlers.
void reset_like_exec() {
  std::vector<int> descriptors;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    descriptors.push_back(std::stoi(entry.path().filename().string()));
  }
  for (const int descriptor : descriptors) {
    const int flags = ::fcntl(descriptor, F_GETFD);
    if (flags >= 0 && (flags & FD_CLOEXEC) != 0) ::syscall(SYS_close, descriptor);
  }
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;
  for (const int number : {SIGINT, SIGTERM}) ::sigaction(number, &usual, nullptr);
}

[[noreturn]] void exit_now(int code) {
  std::cout.flush();
  std::cerr.flush();
  ::_exit(code);
}

void run_as_program(char** arguments) {
  reset_like_exec();
  cli::Arguments words;
  for (char** argument = arguments + 1; *argument != nullptr; ++argument) words.emplace_back(*argument);
  exit_now(cli::run_program(words, std::cout, std::cerr));
}

int code_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status); }

/// Waits for the process and then for its orphaned children, which this process inherits. Returns its exit code.
int wait_for_all(int process) {
  int code = 0;
  for (;;) {
    int status = 0;
    const auto ended = ::waitpid(-1, &status, 0);
    if (ended < 0 && errno == EINTR) continue;
    if (ended < 0) return code;
    if (ended == process) code = code_of(status);
  }
}

int fork_here() {
  if (threads() != 1) throw std::runtime_error("a process with threads cannot be forked safely; set OMP_NUM_THREADS=1");
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  std::cout.flush();
  std::fflush(nullptr);
  const int process = ::fork();
  if (process < 0) throw std::runtime_error("fork failed");
  if (process == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::alarm(seconds_of_a_process);
  }
  return process;
}

}  // namespace

std::string_view name_of(Kind kind) { return kind_names.at(static_cast<std::size_t>(kind)); }

std::string text_of(const Fault& fault) { return fmt::format("{} at operation {}", name_of(fault.kind), fault.at); }

std::vector<std::string> Ended::complaints() const {
  std::vector<std::string> lines;
  std::istringstream stream(err);
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("lehi: cannot")) lines.push_back(line);
  }
  return lines;
}

Layer::Layer(fs::path scratch, const fs::path& directory) : scratch_(std::move(scratch)) {
  const auto file = scratch_ / "control";
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0 || ::ftruncate(descriptor, sizeof(Control)) != 0)
    throw std::runtime_error("cannot create the control file");
  void* place = ::mmap(nullptr, sizeof(Control), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  ::close(descriptor);
  if (place == MAP_FAILED) throw std::runtime_error("cannot map the control file");
  control_ = static_cast<Control*>(place);  // zeros: no operations counted, no fault
  const auto name = directory.string();
  if (name.size() >= sizeof control_->directory) throw std::runtime_error("the directory's name is too long");
  std::memcpy(control_->directory, name.c_str(), name.size() + 1);
}

Layer::~Layer() { ::munmap(control_, sizeof(Control)); }

void Layer::arm(const Fault& fault) {
  control_->count = 0;
  control_->struck = 0;
  control_->trace_size = 0;
  control_->kind = fault.kind;
  control_->at = fault.at;
}

void Layer::redirect() const {
  for (const auto& [file, descriptor] : {std::pair(out(), STDOUT_FILENO), std::pair(err(), STDERR_FILENO)}) {
    const int opened = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
    ::dup2(opened, descriptor);
    ::close(opened);
  }
}

int Layer::start_work(const std::function<int()>& work, const Fault& fault) {
  arm(fault);
  const int process = fork_here();
  if (process != 0) return process;
  redirect();
  cli::install_terminate_handler();
  for (const int number : {SIGINT, SIGTERM}) ::signal(number, SIG_DFL);
  set_exec_hook(&run_as_program);
  attach(control_);
  exit_now(work());
}

int Layer::start(const cli::Arguments& arguments, const Fault& fault) {
  return start_work([&] { return cli::run_program(arguments, std::cout, std::cerr); }, fault);
}

Ended Layer::run_work(const std::function<int()>& work, const Fault& fault) { return finish(start_work(work, fault)); }

Ended Layer::run(const cli::Arguments& arguments, const Fault& fault) { return finish(start(arguments, fault)); }

int Layer::start_real(const cli::Arguments& arguments, const Fault& fault) {
  arm(fault);
  const int process = fork_here();
  if (process != 0) return process;
  redirect();
  ::setenv("LD_PRELOAD", LEHI_FAULTS_LIBRARY, 1);
  ::setenv("LEHI_FAULTS", (scratch_ / "control").c_str(), 1);
  auto words = arguments;
  words.insert(words.begin(), LEHI_PROGRAM);
  std::vector<char*> pointers;
  for (auto& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::execv(LEHI_PROGRAM, pointers.data());
  ::_exit(127);
}

Ended Layer::run_real(const cli::Arguments& arguments, const Fault& fault) {
  return finish(start_real(arguments, fault));
}

Ended Layer::finish(int process) {
  Ended ended;
  ended.code = wait_for_all(process);
  ended.out = read_whole(out());
  ended.err = read_whole(err());
  ended.operations = control_->count;
  ended.struck = control_->struck > 0;
  return ended;
}

std::vector<std::string> Layer::traced() const {
  const auto size = std::min<std::size_t>(static_cast<std::size_t>(control_->trace_size), Control::trace_bytes);
  std::istringstream stream(std::string(control_->trace, size));
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

int forked(const std::function<int()>& work) {
  const int process = fork_here();
  if (process == 0) exit_now(work());
  return wait_for_all(process);
}

}  // namespace lehi::faults
