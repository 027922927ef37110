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
#include "runtime/libraries.h"

namespace lehi::cli {
namespace {

// "OpenMP", "native thread pool", ... as LibTorch reports it.
std::string parallel_backend() {
  const auto backend = runtime::config_value(at::get_parallel_info(), "ATen parallel backend");
  return backend.empty() ? "unknown" : backend;
}

std::string describe_blas(const runtime::Host& host, const runtime::Libraries& libraries) {
  std::string text = host.blas;
  if (host.blas == "mkl") text += " " + libraries.mkl;
  if (!host.blas_kernel.empty()) text += fmt::format(", {} kernel", host.blas_kernel);
  if (libraries.blas_threads > 0) text += fmt::format(", {} threads", libraries.blas_threads);
  return text;
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
      "Describe this machine (processor, LibTorch, threads, BLAS), measure matrix products and memory bandwidth, and warn "
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
  const auto libraries = runtime::loaded_libraries();
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
        {"torch_directory", libraries.directory},
        {"torch_instruction_set", libraries.instruction_set},
        {"torch_threads", host.torch_threads},
        {"parallel_backend", parallel_backend()},
        {"blas", host.blas},
        {"blas_kernel", host.blas_kernel},
        {"blas_threads", libraries.blas_threads},
        {"mkl", libraries.mkl},
        {"onednn", libraries.onednn},
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
  line("libtorch", fmt::format("{} in {}", host.torch_version, libraries.directory));
  line("", fmt::format("{} threads, {}, {} loops", host.torch_threads, parallel_backend(), libraries.instruction_set));
  line("blas", describe_blas(host, libraries));
  line("onednn", libraries.onednn.empty() ? "none" : libraries.onednn);
  line("sgemm",
       fmt::format("{:.1f} GFLOP/s on one thread, {:.1f} on all", speed.sgemm_one_thread, speed.sgemm_all_threads));
  line("bandwidth", fmt::format("{:.1f} GB/s copy, {:.1f} GB/s triad", speed.copy, speed.triad));
  for (const auto& sentence : sentences) line("warning", sentence);
  if (sentences.empty()) line("warnings", "none");
  return done;
}

}  // namespace lehi::cli
