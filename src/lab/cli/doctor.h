// `lehi doctor`: what this machine gives, measured, and what to do where it could give more.
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
