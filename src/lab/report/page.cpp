#include "report/page.h"

#include <algorithm>
#include <stdexcept>

#include "report/page_section.h"
#include "train/embedded.h"
#include "train/run_record.h"

namespace lehi::report {

using nlohmann::ordered_json;

namespace {

constexpr std::size_t max_page_evaluations = 60'000;  // of all runs: keeps a page with nine columns below 8 MB

}  // namespace

ordered_json page_data(const Studies& studies, const ReportRequest& request, bool live) {
  const auto sections = sections_of(studies.read);
  std::size_t runs = 0;
  for (const auto& section : sections) runs += section.runs.size();
  const auto max_evaluations = std::clamp<std::size_t>(max_page_evaluations / std::max<std::size_t>(runs, 1), 20, 1000);
  auto list = ordered_json::array();
  for (std::size_t i = 0; i < sections.size(); ++i) list.push_back(section_json(sections[i], i + 1, max_evaluations));
  return {{"schema", 1},
          {"title", request.title},
          {"lehi_version", LEHI_VERSION},
          {"written", train::utc_now()},
          {"live", live},
          {"commands", commands_of(studies, request)},
          {"problems", studies.problems},
          {"sections", list}};
}

std::string page_json(const ordered_json& data) {
  const auto text = data.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

std::string page_html(const ordered_json& data) {
  constexpr std::string_view placeholder = "LEHI_REPORT_DATA";
  const auto page = train::embedded_text("web/dist/report.html").value_or("");
  const auto at = page.find(placeholder);
  if (at == std::string_view::npos) throw std::logic_error("the program was built without its report page");
  std::string html(page.substr(0, at));
  html += page_json(data);
  html += page.substr(at + placeholder.size());
  return html;
}

}  // namespace lehi::report
