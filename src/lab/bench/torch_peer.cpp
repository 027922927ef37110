#include "bench/torch_peer.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <cstdlib>

#include "lehi/runtime.h"

namespace lehi::bench {
namespace {

Coprocess::Environment environment_of(TorchPeer::Setup setup) {
  const auto host = runtime::describe_host();
  Coprocess::Environment changes;
  // base::prepare() may have set these for this process; Python starts without them.
  for (const char* name : {"OPENBLAS_CORETYPE", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "LEHI_RESTARTED"}) {
    changes[name] = std::nullopt;
  }
  if (setup == TorchPeer::Setup::installed) return changes;
  changes["OMP_NUM_THREADS"] = std::to_string(host.cores);
  std::string kernel = host.blas_kernel;
  for (char& letter : kernel) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  if (!kernel.empty()) changes["OPENBLAS_CORETYPE"] = kernel;
  return changes;
}

std::string threads_of(TorchPeer::Setup setup) {
  return setup == TorchPeer::Setup::installed ? "0" : std::to_string(runtime::describe_host().cores);
}

}  // namespace

TorchPeer::TorchPeer(const std::string& python, const std::string& script, const std::string& model, Setup setup)
    : python_(python), process_(python, {"-c", script, model, threads_of(setup)}, environment_of(setup)) {
  const auto line = process_.read_line();
  constexpr std::string_view ready = "ready ";
  if (!line || !line->starts_with(ready)) {
    const std::string reason = process_.last_error();
    throw NoTorch(fmt::format("{} could not train with torch: {}", python,
                              !reason.empty() ? reason : line.value_or("it ended without an error message")));
  }
  std::from_chars(line->data() + ready.size(), line->data() + line->size(), parameters_);
}

double TorchPeer::seconds_of_steps(int steps) {
  process_.send(std::to_string(steps));
  const auto line = process_.read_line();
  const double seconds = line ? std::strtod(line->c_str(), nullptr) : 0.0;
  if (!(seconds > 0.0)) {
    const std::string reason = line ? "it answered '" + *line + "'" : process_.last_error();
    throw NoTorch(fmt::format("{} stopped in the middle of its steps: {}", python_, reason));
  }
  return seconds / steps;
}

}  // namespace lehi::bench
