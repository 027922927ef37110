// The update of many parameters with the same coefficients as one parallel loop over all of their weights.
#include <algorithm>
#include <cmath>
#include <string_view>

#include "kernels/update.h"
#include "operators.h"
#include "runtime/message.h"

namespace lehi::python {
namespace {

using kernels::Feed;
using kernels::Form;
using kernels::UpdateCoefficients;

// As in kernels/update.cpp: fewer weights are not worth another thread.
constexpr std::int64_t grain = 1 << 15;

struct Coefficients {
  UpdateCoefficients kernel;
  double coupled_decay = 0.0;  // g <- g_factor g + coupled_decay w
};

std::uint8_t choice(std::string_view name, double value, double count) {
  if (!(value >= 0.0 && value < count && value == std::floor(value))) {
    throw_invalid_argument("update: values has the {} {}; expected 0 to {}", name, value, count - 1);
  }
  return static_cast<std::uint8_t>(value);
}

Coefficients coefficients_from(const Floats& values) {
  constexpr std::size_t expected = 14;
  if (values.size() != expected) {
    throw_invalid_argument("update: values has {} entries; expected {}", values.size(), expected);
  }
  UpdateCoefficients c;
  c.form = static_cast<Form>(choice("form", values[0], 6));
  c.feed = static_cast<Feed>(choice("feed", values[1], 5));
  c.g_factor = values[2];
  c.s_factor = values[3];
  c.v_decay = values[4];
  c.v_gain = values[5];
  c.v_scale = values[6];
  c.m_decay = values[7];
  c.m_gain = values[8];
  c.m_rate = values[9];
  c.g_rate = values[10];
  c.w_decay = values[11];
  c.eps = values[12];
  return {c, values[13]};
}

bool reads_s(const UpdateCoefficients& c) { return c.feed != Feed::nothing && c.feed != Feed::gradient; }

bool reads_v(const UpdateCoefficients& c) {
  return c.form != Form::sign && (c.form != Form::linear || c.feed != Feed::nothing);
}

bool reads_m(const UpdateCoefficients& c) {
  return c.form == Form::root_sum || c.form == Form::clipped || c.form == Form::quotient;
}

// No gaps and no overlap: any order of the dimensions in memory.
bool is_dense(const Tensor& tensor) {
  const Ints sizes = sizes_of(tensor);
  const Ints strides = strides_of(tensor);
  std::vector<std::pair<std::int64_t, std::int64_t>> dimensions;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) return true;
    if (sizes[i] > 1) dimensions.emplace_back(strides[i], sizes[i]);
  }
  std::sort(dimensions.begin(), dimensions.end());
  std::int64_t expected = 1;
  for (const auto& [stride, size] : dimensions) {
    if (stride != expected) return false;
    expected *= size;
  }
  return true;
}

// Weights with one layout: what the kernel takes.
class Parameters {
 public:
  Parameters(const Tensors& w, const Tensors& g, const Tensors& s, const Tensors& m, const Tensors& v,
             const Tensors& v_max, const UpdateCoefficients& c)
      : w_(w), g_(g), s_(s), m_(m), v_(v), v_max_(v_max) {
    for (std::size_t i = 0; i < w.size(); ++i) {
      if (!has_kernel_type(w[i]) || !is_dense(w[i])) {
        throw_invalid_argument(
            "update: w[{}] is {} of shape {} and strides {}; expected float32 or float64 without gaps "
            "or overlap",
            i, text_of(w[i].scalar_type()), text_of(sizes_of(w[i])), text_of(strides_of(w[i])));
      }
      if (w[i].scalar_type() != w[0].scalar_type()) {
        throw_invalid_argument("update: w[{}] is {} and w[0] is {}; expected one dtype", i, text_of(w[i].scalar_type()),
                               text_of(w[0].scalar_type()));
      }
    }
    check_list("g", g, true);
    check_list("s", s, reads_s(c));
    check_list("m", m, reads_m(c));
    check_list("v", v, reads_v(c));
    check_list("v_max", v_max, false);
    ends_.reserve(w.size());
    std::int64_t end = 0;
    for (const Tensor& tensor : w) ends_.push_back(end += tensor.numel());
  }

  bool empty() const { return w_.empty(); }
  bool are_float32() const { return is_float32(w_[0]); }

  template <class T>
  void update(const Coefficients& c) const {
    std::vector<kernels::UpdateArrays<T>> arrays;
    for (std::size_t i = 0; i < w_.size(); ++i) {
      arrays.push_back({.w = write<T>(w_[i]),
                        .g = read<T>(g_[i]),
                        .s = reads_s(c.kernel) ? read<T>(s_[i]) : nullptr,
                        .m = m_.empty() ? nullptr : write<T>(m_[i]),
                        .v = v_.empty() ? nullptr : write<T>(v_[i]),
                        .v_max = v_max_.empty() ? nullptr : write<T>(v_max_[i]),
                        .size = w_[i].numel()});
    }
    const auto range = [&](std::int64_t begin, std::int64_t end) {
      auto i = static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), begin) - ends_.begin());
      for (; begin < end; ++i) {
        const std::int64_t start = ends_[i] - arrays[i].size;
        const std::int64_t stop = std::min(end, ends_[i]);
        update_part(arrays[i], begin - start, stop - start, c);
        begin = stop;
      }
    };
    torch_threads()(ends_.back(), grain, range);
  }

 private:
  void check_list(std::string_view name, const Tensors& list, bool needed) const {
    if (list.empty() && !needed) return;
    if (list.size() != w_.size()) {
      throw_invalid_argument("update: {} has {} tensors and w has {}", name, list.size(), w_.size());
    }
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (list[i].scalar_type() == w_[i].scalar_type() && sizes_of(list[i]) == sizes_of(w_[i]) &&
          strides_of(list[i]) == strides_of(w_[i])) {
        continue;
      }
      const auto kind = [](const Tensor& tensor) {
        return fmt::format("{} of shape {} and strides {}", text_of(tensor.scalar_type()), text_of(sizes_of(tensor)),
                           text_of(strides_of(tensor)));
      };
      throw_invalid_argument("update: {}[{}] is {}, but w[{}] is {}", name, i, kind(list[i]), i, kind(w_[i]));
    }
  }

  template <class T>
  static kernels::UpdateArrays<T> part_of(const kernels::UpdateArrays<T>& a, std::int64_t begin, std::int64_t end) {
    const auto from = [begin](auto* pointer) { return pointer == nullptr ? nullptr : pointer + begin; };
    return {.w = from(a.w),
            .g = from(a.g),
            .s = from(a.s),
            .m = from(a.m),
            .v = from(a.v),
            .v_max = from(a.v_max),
            .size = end - begin};
  }

  // Weights [begin, end) of a parameter, on this thread.
  template <class T>
  static void update_part(const kernels::UpdateArrays<T>& a, std::int64_t begin, std::int64_t end,
                          const Coefficients& c) {
    if (c.coupled_decay == 0.0) return kernels::update(part_of(a, begin, end), c.kernel);
    constexpr std::int64_t block = 2048;
    std::vector<T> decayed(static_cast<std::size_t>(std::min(block, end - begin)));
    UpdateCoefficients scalars = c.kernel;
    scalars.g_factor = 1.0;
    for (; begin < end; begin += block) {
      kernels::UpdateArrays<T> part = part_of(a, begin, std::min(end, begin + block));
      for (std::int64_t i = 0; i < part.size; ++i) {
        decayed[static_cast<std::size_t>(i)] =
            static_cast<T>(c.kernel.g_factor) * part.g[i] + static_cast<T>(c.coupled_decay) * part.w[i];
      }
      part.g = decayed.data();
      kernels::update(part, scalars);
    }
  }

  const Tensors& w_;
  const Tensors& g_;
  const Tensors& s_;
  const Tensors& m_;
  const Tensors& v_;
  const Tensors& v_max_;
  std::vector<std::int64_t> ends_;  // of each parameter in the loop over all weights
};

}  // namespace

void update(Tensors w, Tensors g, Tensors s, Tensors m, Tensors v, Tensors v_max, Floats values) {
  const Coefficients c = coefficients_from(values);
  const Parameters parameters(w, g, s, m, v, v_max, c.kernel);
  if (parameters.empty()) return;
  if (parameters.are_float32()) {
    parameters.update<float>(c);
  } else {
    parameters.update<double>(c);
  }
}

}  // namespace lehi::python
