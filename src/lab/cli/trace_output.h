// What `lehi trace` prints.
#pragma once

#include <iosfwd>
#include <vector>

#include "cli/trace_path.h"

namespace lehi::cli {

/// One path: about a dozen of its points and a closing sentence.
void print_trace(const Problem& problem, const TracePath& path, std::ostream& out);

/// Several paths: the last point of each, one row per optimizer.
void print_traces(const Problem& problem, const std::vector<TracePath>& paths, std::ostream& out);

/// The same as one JSON document with all points.
void print_trace_json(const Problem& problem, const TracePath& path, std::ostream& out);
void print_traces_json(const Problem& problem, const std::vector<TracePath>& paths, std::ostream& out);

void print_problems(bool json, std::ostream& out);

}  // namespace lehi::cli
