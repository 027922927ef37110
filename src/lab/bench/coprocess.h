// A child process that exchanges lines with this process.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lehi::bench {

class Coprocess {
 public:
  /// Changes to the environment: a variable's new value, or nothing to remove it.
  using Environment = std::map<std::string, std::optional<std::string>>;

  /// `program` is a path or a name in PATH. If it cannot be started, read_line() returns nothing and last_error() says
  /// why.
  Coprocess(const std::string& program, std::vector<std::string> arguments, const Environment& changes = {});
  Coprocess(const Coprocess&) = delete;
  Coprocess(Coprocess&&) = delete;
  Coprocess& operator=(const Coprocess&) = delete;
  Coprocess& operator=(Coprocess&&) = delete;
  ~Coprocess();  ///< kills the process

  /// Writes one line to its standard input. Does nothing if it has ended.
  void send(std::string_view line);

  /// Waits for the next line of its standard output. Returns nothing if it has ended.
  std::optional<std::string> read_line();

  /// The last line of its standard error so far, or "".
  std::string last_error() const;

 private:
  pid_t process_ = -1;
  int socket_ = -1;   ///< connected to its standard input and output
  int errors_ = -1;   ///< a file in memory: its standard error
  std::string rest_;  ///< received, but not yet returned
};

}  // namespace lehi::bench
