// Property tests with RapidCheck. A case is made of values from draw(). A failing case is reduced to a minimal one
// before it is reported.
//
// The seed is fixed, so that every run tests the same cases. To test others, set LEHI_PROPERTY_SEED=7 (any number), and
// LEHI_PROPERTY_CASES=20 for twenty times as many.
#pragma once

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <torch/types.h>

#include <cstdlib>
#include <functional>
#include <limits>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

namespace lehi::testing {

inline std::uint64_t property_setting(const char* name, std::uint64_t default_value) {
  const char* text = std::getenv(name);
  return text == nullptr ? default_value : std::strtoull(text, nullptr, 10);
}

/// A listener without output.
struct SilentListener final : rc::detail::TestListener {
  void onTestCaseFinished(const rc::detail::CaseDescription&) override {}
  void onShrinkTried(const rc::detail::CaseDescription&, bool) override {}
  void onTestFinished(const rc::detail::TestMetadata&, const rc::detail::TestResult&) override {}
};

/// Tests `property` on this many random cases. It returns what is wrong, or "". An exception is a failure, too.
inline void expect_always(int cases, const std::function<std::string()>& property) {
  rc::detail::TestParams parameters;
  parameters.seed = property_setting("LEHI_PROPERTY_SEED", 8);
  parameters.maxSuccess = cases * static_cast<int>(property_setting("LEHI_PROPERTY_CASES", 1));
  SilentListener listener;
  const auto result = rc::detail::checkTestable(
      [&] {
        const std::string error = property();
        if (!error.empty()) RC_FAIL(error);
      },
      rc::detail::TestMetadata(), parameters, listener, std::unordered_map<std::string, rc::detail::Reproduce>());
  if (result.is<rc::detail::SuccessResult>()) return;
  std::ostringstream text;
  rc::detail::printResultMessage(result, text);
  ADD_FAILURE() << "with LEHI_PROPERTY_SEED=" << parameters.seed << ":\n" << text.str();
}

/// A random integer from `low` to `high`, both included. Reducing a case makes it smaller.
inline std::int64_t draw(const std::string& name, std::int64_t low, std::int64_t high) {
  return *rc::gen::resize(100, rc::gen::inRange(low, high + 1)).as(name);
}

/// One of `choices`. Reducing a case moves it to the front.
template <class T>
T draw_one(const std::string& name, const std::vector<T>& choices) {
  return choices[static_cast<std::size_t>(draw(name, 0, static_cast<std::int64_t>(choices.size()) - 1))];
}

/// The distribution of the entries of a random tensor, from ordinary to extreme.
enum class Entries : std::uint8_t { normal, zeros, ties, wide, steep, subnormal, tiny, huge, mixed };

/// Those without magnitudes that overflow or underflow in some computations.
inline const std::vector<Entries> tame_entries = {Entries::normal, Entries::zeros, Entries::ties, Entries::wide};
inline const std::vector<Entries> all_entries = {Entries::normal, Entries::zeros, Entries::ties,
                                                 Entries::wide,   Entries::steep, Entries::subnormal,
                                                 Entries::tiny,   Entries::huge,  Entries::mixed};

/// `largest`: the largest absolute value for Entries::huge and Entries::mixed.
inline torch::Tensor random_entries(Entries kind, at::IntArrayRef sizes, torch::Dtype dtype, double largest) {
  const auto options = torch::TensorOptions(torch::kFloat64);
  const bool narrow = dtype != torch::kFloat64;
  const double least = narrow ? std::numeric_limits<float>::min() : std::numeric_limits<double>::min();
  const auto normal = [&] { return torch::randn(sizes, options); };
  const auto scaled = [&](double low, double high) {  // by powers of ten
    return normal() * torch::pow(10.0, low + (high - low) * torch::rand(sizes, options));
  };
  switch (kind) {
    case Entries::normal:
      return normal().to(dtype);
    case Entries::zeros:
      return torch::zeros(sizes, dtype);
    case Entries::ties:
      return torch::round(normal()).to(dtype);
    case Entries::wide:
      return scaled(-3, 3).to(dtype);
    case Entries::steep:
      return (1000.0 * normal()).to(dtype);
    case Entries::subnormal:
      return (least * torch::rand(sizes, options)).to(dtype);
    case Entries::tiny:
      return (normal() * least * 100.0).to(dtype);
    case Entries::huge:
      return (normal().clamp(-1.0, 1.0) * largest).to(dtype);
    case Entries::mixed: {
      const auto which = torch::randint(0, 3, sizes, torch::kInt64);
      const auto extreme = torch::where(which == 0, normal(), normal() * least);
      return torch::where(which == 2, normal().clamp(-1.0, 1.0) * largest, extreme).to(dtype);
    }
  }
  throw std::logic_error("unknown entries");
}

enum class Layout : std::uint8_t { contiguous, misaligned, transposed, sliced, expanded };
inline const std::vector<Layout> all_layouts = {Layout::contiguous, Layout::misaligned, Layout::transposed,
                                                Layout::sliced, Layout::expanded};

/// The same entries with another memory layout. An expanded tensor has the first row's entries in all rows.
inline torch::Tensor laid_out(const torch::Tensor& tensor, Layout layout) {
  const auto sizes = tensor.sizes().vec();
  switch (layout) {
    case Layout::contiguous:
      return tensor;
    case Layout::misaligned: {
      const auto memory = torch::zeros({tensor.numel() + 1}, tensor.options());
      const auto view = memory.narrow(0, 1, tensor.numel()).view(sizes);
      view.copy_(tensor);
      return view;
    }
    case Layout::transposed:
      return tensor.dim() < 2 ? tensor : tensor.transpose(0, -1).contiguous().transpose(0, -1);
    case Layout::sliced: {
      auto wider = sizes;
      wider.back() *= 2;
      const auto memory = torch::full(wider, 3.0, tensor.options());
      const auto view = memory.slice(-1, 0, wider.back(), 2);
      view.copy_(tensor);
      return view;
    }
    case Layout::expanded:
      return sizes.front() == 0 ? tensor : tensor.narrow(0, 0, 1).expand(sizes);
  }
  throw std::logic_error("unknown layout");
}

}  // namespace lehi::testing
