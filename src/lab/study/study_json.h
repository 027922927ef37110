// A study and its runs as JSON: what study.json contains and --json prints.
#pragma once

#include <nlohmann/json.hpp>

#include "study/study.h"

namespace lehi::study {

nlohmann::ordered_json to_json(const StudyRun& run);
nlohmann::ordered_json to_json(const Study& study);

}  // namespace lehi::study
