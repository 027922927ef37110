#include "cli/help.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace lehi::cli {
namespace {

constexpr std::size_t line_width = 100;
constexpr std::size_t text_column = 28;

using OptionList = std::vector<const CLI::Option*>;

// The first word of a text that is not empty; "[default: x]" is not divided after its colon.
std::string_view next_word(std::string_view text) {
  const auto end = text.find(' ');
  if (text.substr(0, end) != "[default:") return text.substr(0, end);
  return text.substr(0, text.find(' ', end + 1));
}

// Appends the words of `text` to `out`, whose current line is `column` characters long. Further lines are indented.
void append_wrapped(std::string& out, std::string_view text, std::size_t column, std::size_t indent) {
  bool first = true;
  while (!text.empty()) {
    const auto word = next_word(text);
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (!first && column + 1 + word.size() > line_width) {
      out += '\n' + std::string(indent, ' ');
      column = indent;
      first = true;
    }
    if (!first) out += ' ';
    out += word;
    column += word.size() + (first ? 0 : 1);
    first = false;
  }
  out += '\n';
}

bool takes_several(const CLI::Option& option) {
  return option.get_expected_max() >= CLI::detail::expected_max_vector_size;
}

// "TASK", "[TASK]", "DIR...".
std::string usage_of(const CLI::Option& positional) {
  const auto name = positional.get_name(true, false) + (takes_several(positional) ? "..." : "");
  return positional.get_required() ? name : "[" + name + "]";
}

// "-h, --help", "--epochs N". CLI11 appends what its validators check to the placeholder, after a colon.
std::string left_column(const CLI::Option& option) {
  if (option.get_positional()) return option.get_name(true, false);
  auto names = option.get_name(false, true);
  if (const auto comma = names.find(','); comma != std::string::npos) names.insert(comma + 1, " ");
  if (option.get_type_size() == 0) return names;
  const auto type = option.get_type_name();
  return names + " " + type.substr(0, type.find(':'));
}

std::string right_column(const CLI::Option& option, bool is_help) {
  if (is_help) return "print this help and exit";
  auto text = option.get_description();
  if (option.nonpositional() && option.get_required()) text += " (required)";
  if (!option.get_default_str().empty()) text += " [default: " + option.get_default_str() + "]";
  return text;
}

// The help flag comes last.
void append_options(std::string& out, const std::string& title, OptionList options, const CLI::Option* help_flag) {
  if (options.empty()) return;
  std::stable_partition(options.begin(), options.end(), [&](const auto* option) { return option != help_flag; });
  out += "\n" + title + ":\n";
  for (const auto* option : options) {
    auto line = "  " + left_column(*option);
    if (line.size() + 2 > text_column) {
      out += line + "\n";
      line.clear();
    }
    line.resize(text_column, ' ');
    out += line;
    append_wrapped(out, right_column(*option, option == help_flag), text_column, text_column);
  }
}

}  // namespace

std::string help_text(const CLI::App& app) {
  std::string out;
  append_wrapped(out, app.get_description(), 0, 0);

  const auto positionals = app.get_options([](const CLI::Option* option) { return option->get_positional(); });
  out += "\nUsage: " + app.get_name() + " [OPTIONS]";
  for (const auto* positional : positionals) out += " " + usage_of(*positional);
  out += "\n";
  append_options(out, "Arguments", positionals, nullptr);

  auto groups = app.get_groups();
  std::stable_partition(groups.begin(), groups.end(), [](const auto& group) { return group != "Options"; });
  for (const auto& group : groups) {
    if (group.empty()) continue;  // hidden options
    const auto options = app.get_options(
        [&group](const CLI::Option* option) { return option->get_group() == group && option->nonpositional(); });
    append_options(out, group, options, app.get_help_ptr());
  }
  if (!app.get_footer().empty()) out += "\n" + app.get_footer() + "\n";
  return out;
}

}  // namespace lehi::cli
