// The names of probes and scales.
#include "lehi/probe.h"

#include "runtime/names.h"

namespace lehi {
namespace {

const NameTable<Probe>& probes() {
  static const NameTable<Probe> table = {{Probe::gradient, "gradient"},
                                         {Probe::imitation, "imitation"},
                                         {Probe::diagonal, "diagonal"},
                                         {Probe::gauss_newton, "gauss-newton"},
                                         {Probe::sampled_label, "sampled-label"}};
  return table;
}

const NameTable<Scale>& scales() {
  static const NameTable<Scale> table = {{Scale::sqrt_n, "sqrt-n"}, {Scale::mean, "mean"}};
  return table;
}

}  // namespace

std::string_view name(Probe probe) { return name_in(probes(), probe); }
std::string_view name(Scale scale) { return name_in(scales(), scale); }
Probe probe_from_name(std::string_view name) { return value_in(probes(), name, "probe"); }
Scale scale_from_name(std::string_view name) { return value_in(scales(), name, "scale"); }

const std::vector<Probe>& all_probes() {
  static const std::vector<Probe> all = [] {
    std::vector<Probe> values;
    for (const auto& [value, text] : probes()) values.push_back(value);
    return values;
  }();
  return all;
}

bool is_random(Probe probe) { return probe == Probe::gauss_newton || probe == Probe::sampled_label; }

}  // namespace lehi
