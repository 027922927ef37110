// A section of the report page as JSON; web/DATA.md describes the format.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>

#include "report/section.h"

namespace lehi::report {

/// The `number`-th section, counted from 1, with at most `max_evaluations` evaluations of each run.
nlohmann::ordered_json section_json(const Section& section, std::size_t number, std::size_t max_evaluations);

}  // namespace lehi::report
