// Training steps in plain PyTorch (bench/torch_steps.py), in a Python process that answers when it is asked.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "bench/coprocess.h"

namespace lehi::bench {

/// A Python without torch, or a script that failed: one sentence.
class NoTorch : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class TorchPeer {
 public:
  enum class Setup {
    installed,  ///< as Debian's python3-torch comes: its own threads and BLAS kernel
    tuned,      ///< all cores, and the BLAS kernel that lehi uses
  };

  /// Starts `python` on `script`, its text, for a model ("gpt2", "resnet", "mnist") and waits until it is ready.
  /// Throws NoTorch.
  TorchPeer(const std::string& python, const std::string& script, const std::string& model, Setup setup);

  std::int64_t parameters() const { return parameters_; }

  /// Seconds of one of so many steps, by its own clock. Throws NoTorch when it ends instead.
  double seconds_of_steps(int steps);

 private:
  std::string python_;
  Coprocess process_;
  std::int64_t parameters_ = 0;
};

}  // namespace lehi::bench
