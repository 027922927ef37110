// The report as one HTML file that needs no network: the page that web/ builds with a JSON document inside. web/DATA.md
// describes the document.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "report/study_report.h"

namespace lehi::report {

/// With `live`, the page asks the server for newer data; for `lehi serve`.
nlohmann::ordered_json page_data(const Studies& studies, const ReportRequest& request, bool live = false);

/// The document as JSON that is safe inside an HTML script element: every "<" is escaped, invalid UTF-8 is replaced.
std::string page_json(const nlohmann::ordered_json& data);

/// Throws std::logic_error if the program was built without the page.
std::string page_html(const nlohmann::ordered_json& data);

}  // namespace lehi::report
