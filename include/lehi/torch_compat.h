// What differs between the LibTorch that is tested (1.13, Debian's) and LibTorch 2.x, in one place.
// 2.x should compile; it is untested until a machine with it has run the tests.
#pragma once

#include <c10/util/Exception.h>
#include <torch/optim/optimizer.h>
#include <torch/version.h>

#include <functional>
#include <string>
#include <type_traits>
#include <utility>

namespace lehi::compat {

/// The key of torch::optim::Optimizer::state(): the tensor's address, as text up to LibTorch 2.0, as a pointer since.
using StateKey = std::decay_t<decltype(std::declval<torch::optim::Optimizer&>().state())>::key_type;

template <class Key = StateKey>
Key state_key(const torch::Tensor& parameter) {
  if constexpr (std::is_same_v<Key, std::string>) {
    return c10::guts::to_string(parameter.unsafeGetTensorImpl());
  } else {
    return parameter.unsafeGetTensorImpl();
  }
}

#if TORCH_VERSION_MAJOR >= 2
namespace torch_warnings = c10::WarningUtils;
#else
namespace torch_warnings = c10::Warning;
#endif

/// While it lives, hears the warnings of this thread instead of LibTorch's log.
class WarningListener final : private c10::WarningHandler {
 public:
  explicit WarningListener(std::function<void(const std::string& message)> hear)
      : hear_(std::move(hear)), previous_(torch_warnings::get_warning_handler()) {
    torch_warnings::set_warning_handler(this);
  }
  WarningListener(const WarningListener&) = delete;
  WarningListener& operator=(const WarningListener&) = delete;
  ~WarningListener() override { torch_warnings::set_warning_handler(previous_); }

 private:
#if TORCH_VERSION_MAJOR >= 2
  void process(const c10::Warning& warning) override { hear_(warning.msg()); }
#else
  void process(const c10::SourceLocation& /*where*/, const std::string& message, const bool /*verbatim*/) override {
    hear_(message);
  }
#endif

  std::function<void(const std::string&)> hear_;
  c10::WarningHandler* previous_;
};

}  // namespace lehi::compat
