// Another program that answers line by line.
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
  /// Variables that it sees other than this process does; nothing: it does not see them.
  using Environment = std::map<std::string, std::optional<std::string>>;

  /// `program` is a path or a name to be found in PATH. One that can't be started ends at once, with a message.
  Coprocess(const std::string& program, std::vector<std::string> arguments, const Environment& changes = {});
  Coprocess(const Coprocess&) = delete;
  Coprocess& operator=(const Coprocess&) = delete;
  ~Coprocess();  ///< ends it

  /// One line to its standard input; one that has ended does not hear it.
  void send(std::string_view line);

  /// Waits for the next line of its standard output; nothing when it has ended.
  std::optional<std::string> read_line();

  /// The last line that it wrote to standard error so far; "" without one.
  std::string last_error() const;

 private:
  pid_t process_ = -1;
  int talk_ = -1;    // a socket: its standard input and output
  int errors_ = -1;  // a file in memory: its standard error
  std::string rest_;
};

}  // namespace lehi::bench
