// Differences between LibTorch 1.13 (Debian's) and LibTorch 2.x; tested with 1.13 and 2.13.
#pragma once

#include <c10/util/Exception.h>
#include <torch/optim/optimizer.h>
#include <torch/version.h>

#include <functional>
#include <string>
#include <type_traits>
#include <utility>

namespace lehi::compat {
#if TORCH_VERSION_MAJOR >= 2
inline void* state_key(const torch::Tensor& parameter) { return parameter.unsafeGetTensorImpl(); }
#else
using StateKey = std::decay_t<decltype(std::declval<torch::optim::Optimizer&>().state())>::key_type;
/// The key of torch::optim::Optimizer::state(): the tensor's address, a string in LibTorch 1.13, a pointer in 2.x.
template <class Key = StateKey>
Key state_key(const torch::Tensor& parameter) {
  if constexpr (std::is_same_v<Key, std::string>) {
    return c10::guts::to_string(parameter.unsafeGetTensorImpl());
  } else {
    return parameter.unsafeGetTensorImpl();
  }
}
#endif
#if TORCH_VERSION_MAJOR >= 2
namespace torch_warnings = c10::WarningUtils;
#else
namespace torch_warnings = c10::Warning;
#endif

/// While it exists, LibTorch's warnings of this thread go to `handle` instead of LibTorch's log.
class WarningListener final : private c10::WarningHandler {
 public:
  explicit WarningListener(std::function<void(const std::string& message)> handle)
      : handle_(std::move(handle)), previous_(torch_warnings::get_warning_handler()) {
    torch_warnings::set_warning_handler(this);
  }
  WarningListener(const WarningListener&) = delete;
  WarningListener& operator=(const WarningListener&) = delete;
  WarningListener(WarningListener&&) = delete;
  WarningListener& operator=(WarningListener&&) = delete;
  ~WarningListener() override { torch_warnings::set_warning_handler(previous_); }

 private:
#if TORCH_VERSION_MAJOR >= 2
  void process(const c10::Warning& warning) override { handle_(warning.msg()); }
#else
  void process(const c10::SourceLocation& /*where*/, const std::string& message, const bool /*verbatim*/) override {
    handle_(message);
  }
#endif

  std::function<void(const std::string&)> handle_;
  c10::WarningHandler* previous_;
};

}  // namespace lehi::compat
