// LibTorch as it is loaded, and the libraries that compute for it: what `lehi doctor` shows.
#pragma once

#include <string>
#include <string_view>

namespace lehi::runtime {

struct Libraries {
  std::string directory;        ///< of the loaded libtorch_cpu
  std::string instruction_set;  ///< of LibTorch's own loops, as it names them: "AVX2", "AVX512", ...
  std::string onednn;           ///< version; "" where LibTorch has none
  std::string mkl;              ///< version; "" where LibTorch has none
  int blas_threads = 0;         ///< of OpenBLAS or MKL; 0: not stated
};

Libraries loaded_libraries();

/// The value of "label: value" or "label value" in the text that at::show_config() returns, up to the end of the line.
std::string config_value(std::string_view text, std::string_view label);

/// The first number with dots in it, as in "oneAPI ... Version 2024.2-Product Build" or "MKL-DNN v3.12.0"; "" if none.
std::string version_in(std::string_view text);

}  // namespace lehi::runtime
