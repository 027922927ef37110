// The report as one HTML file that needs no network, made of the page that web/ builds and one JSON document, which
// web/DATA.md describes.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "report/study_report.h"

namespace lehi::report {

/// `live`: for `lehi serve`, whose page asks for newer data.
nlohmann::ordered_json page_data(const Studies& studies, const ReportRequest& request, bool live = false);

/// The document as text that can't end the script it stands in, whatever it holds.
std::string page_json(const nlohmann::ordered_json& data);

std::string page_html(const nlohmann::ordered_json& data);

}  // namespace lehi::report
