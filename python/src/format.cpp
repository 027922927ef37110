#include <fmt/format.h>

namespace fmt::detail {

std::string format_all(std::string_view text, const std::vector<Argument>& arguments) {
  std::string result;
  std::size_t next = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c != '{' && c != '}') {
      result += c;
      continue;
    }
    if (i + 1 < text.size() && text[i + 1] == c) {  // "{{" and "}}"
      result += c;
      ++i;
      continue;
    }
    const std::size_t end = text.find('}', i);
    std::string_view how = text.substr(i + 1, end - i - 1);
    if (c == '}' || end == std::string_view::npos || next == arguments.size() || (!how.empty() && how[0] != ':')) {
      throw std::logic_error("format: '" + std::string(text) + "' does not fit its arguments");
    }
    if (!how.empty()) how.remove_prefix(1);
    result += arguments[next].text(arguments[next].value, how);
    ++next;
    i = end;
  }
  return result;
}

}  // namespace fmt::detail
