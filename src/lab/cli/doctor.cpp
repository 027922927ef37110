#include "cli/doctor.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/measure.h"
#include "base/startup.h"
#include "cli/arguments.h"
#include "cli/table.h"
#include "lehi/runtime.h"
#include "lehi/version.h"

namespace lehi::cli {
namespace {

// "OpenMP", "native thread pool", ... as LibTorch reports it.
std::string parallel_backend() {
  constexpr std::string_view label = "ATen parallel backend: ";
  const auto info = at::get_parallel_info();
  const auto begin = info.find(label);
  if (begin == std::string::npos) return "unknown";
  const auto value = begin + label.size();
  return info.substr(value, info.find('\n', value) - value);
}

std::vector<std::string> warnings(const runtime::Host& host) {
  std::vector<std::string> sentences;
  const auto kernel = base::plan_kernel(host, base::kernel_settings());
  if (!kernel.warning.empty()) sentences.push_back(kernel.warning);
  if (host.torch_threads < host.cores) {
    sentences.push_back(fmt::format("LibTorch uses {} of {} cores: unset OMP_NUM_THREADS, or set it to {}.",
                                    host.torch_threads, host.cores, host.cores));
  }
  if (host.torch_threads > host.cores) {
    sentences.push_back(
        fmt::format("LibTorch uses {} threads on {} cores, which slows every step: set OMP_NUM_THREADS to {} or less.",
                    host.torch_threads, host.cores, host.cores));
  }
  return sentences;
}

}  // namespace

DoctorConfig parse_doctor(const Arguments& arguments) {
  DoctorConfig config;
  CLI::App app(
      "Describe this machine (processor, threads, BLAS kernel), measure matrix products and memory bandwidth, and warn "
      "about settings that slow it down. Takes a few seconds.",
      "lehi doctor");
  app.add_flag("--json", config.json, "print one JSON document");
  app.footer(
      "Examples:\n"
      "  lehi doctor\n"
      "  lehi doctor --json");
  parse_arguments(app, arguments);
  return config;
}

int run_doctor(const DoctorConfig& config, std::ostream& out, std::ostream& err) {
  const auto host = runtime::describe_host();
  const bool show_progress = is_terminal(err);
  const auto speed = base::measure_speed([&](std::string_view what) {
    if (show_progress) err << "measuring: " << what << '\n' << std::flush;
  });
  const auto sentences = warnings(host);
  if (config.json) {
    const nlohmann::ordered_json document = {
        {"schema", 1},
        {"lehi_version", LEHI_VERSION},
        {"cpu", host.cpu},
        {"vector_units", host.vector_units},
        {"cores", host.cores},
        {"memory_bytes", host.memory_bytes},
        {"torch_version", host.torch_version},
        {"torch_threads", host.torch_threads},
        {"parallel_backend", parallel_backend()},
        {"blas", host.blas},
        {"blas_kernel", host.blas_kernel},
        {"sgemm_gflops", {{"one_thread", speed.sgemm_one_thread}, {"all_threads", speed.sgemm_all_threads}}},
        {"memory_gb_per_second", {{"copy", speed.copy}, {"triad", speed.triad}}},
        {"warnings", sentences},
    };
    out << document.dump(2) << '\n';
    return done;
  }
  const auto line = [&out](std::string_view what, const std::string& value) {
    out << fmt::format("{:<10} {}\n", what, value);
  };
  line("cpu", fmt::format("{} ({})", host.cpu, host.vector_units));
  line("cores", std::to_string(host.cores));
  line("memory", fmt::format("{:.1f} GiB", static_cast<double>(host.memory_bytes) / (1 << 30)));
  line("libtorch", fmt::format("{}, {} threads, {}", host.torch_version, host.torch_threads, parallel_backend()));
  line("blas", host.blas_kernel.empty() ? host.blas : fmt::format("{}, {} kernel", host.blas, host.blas_kernel));
  line("sgemm",
       fmt::format("{:.1f} GFLOP/s on one thread, {:.1f} on all", speed.sgemm_one_thread, speed.sgemm_all_threads));
  line("bandwidth", fmt::format("{:.1f} GB/s copy, {:.1f} GB/s triad", speed.copy, speed.triad));
  for (const auto& sentence : sentences) line("warning", sentence);
  if (sentences.empty()) line("warnings", "none");
  return done;
}

}  // namespace lehi::cli
