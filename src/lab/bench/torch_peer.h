// Training steps in plain PyTorch (bench/torch_steps.py), in a Python process that runs steps on request.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "bench/coprocess.h"

namespace lehi::bench {

/// Python has no torch or the script failed; what() is one sentence.
class NoTorch : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class TorchPeer {
 public:
  enum class Setup {
    installed,  ///< torch's default number of threads and BLAS kernel
    tuned,      ///< all cores and the BLAS kernel that lehi uses
  };

  /// Starts `python` with the source `script` for a model ("gpt2", "resnet" or "mnist") and waits until it is ready.
  /// Throws NoTorch.
  TorchPeer(const std::string& python, const std::string& script, const std::string& model, Setup setup);

  std::int64_t parameters() const { return parameters_; }

  /// Runs `steps` steps and returns the mean seconds of one, by Python's clock. Throws NoTorch if the process ends.
  double seconds_of_steps(int steps);

 private:
  std::string python_;
  Coprocess process_;
  std::int64_t parameters_ = 0;
};

}  // namespace lehi::bench
