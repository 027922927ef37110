// `lehi doctor`: describes this machine, measures its speed and advises on settings that slow it down.
#pragma once

#include <iosfwd>

#include "cli/command.h"

namespace lehi::cli {

struct DoctorConfig {
  bool json = false;
};

DoctorConfig parse_doctor(const Arguments& arguments);
int run_doctor(const DoctorConfig& config, std::ostream& out, std::ostream& err);

}  // namespace lehi::cli
