#include "kernels/cross_entropy.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>
#include <vector>

#include "kernels/cross_entropy_wide.h"
#include "kernels/draws.h"
#include "kernels/vector_math.h"

namespace lehi::kernels {
namespace {

template <class T>
struct Rows : CrossEntropyBatch<T> {
  bool streaming = false;  // write u and v around the cache
};

// Outputs above this size do not fit into any cache: they are written around it.
constexpr std::int64_t cache_bytes = std::int64_t{1} << 25;

// Buffers of one thread: three rows of float64.
struct Scratch {
  explicit Scratch(std::int64_t classes)
      : memory(static_cast<std::size_t>(3 * classes)), f(memory.data()), work(f + classes), targets(work + classes) {}
  std::vector<double> memory;
  double* f;        // exp(p_i - p2), 0 for the largest class
  double* work;     // signs, then temporaries of a probe
  double* targets;  // a_i, where the target is not one class
};

struct RowResult {
  double loss = 0.0;
  double count = 0.0;
  bool finite = true;
};

// Softmax of a row, in the notation of the header. `second` is -1 in a row of one class.
struct Softmax {
  std::int64_t classes;
  std::int64_t top;
  std::int64_t second;
  double m;       // the largest logit
  double gap;     // p2 - m <= 0
  double g;       // exp(gap)
  double root_g;  // exp(gap / 2)
  double rest;    // F: sum of f without the two largest
  double b;       // B
  double z;       // Z
  double* f;

  double top_complement() const { return g * b / z; }  // 1 - s_top
};

template <class T>
LEHI_INLINE Softmax softmax_of(const T* p, std::int64_t classes, double* f) {
  const T lowest = std::numeric_limits<T>::lowest();
  const T m = lane_max(p, classes, lowest);
  const std::int64_t top = std::find(p, p + classes, m) - p;
  if (classes == 1) {
    f[0] = 0.0;
    return {1, 0, -1, static_cast<double>(m), 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, f};
  }
  const T p2 = std::max(lane_max(p, top, lowest), lane_max(p + top + 1, classes - top - 1, lowest));
  const T* found = std::find(p, p + top, p2);
  if (found == p + top) found = std::find(p + top + 1, p + classes, p2);
  const std::int64_t second = found - p;

  const double origin = p2;
  for (std::int64_t i = 0; i < classes; ++i) f[i] = exp_of_nonpositive(static_cast<double>(p[i]) - origin);
  f[top] = 0.0;
  f[second] = 0.0;
  const double rest = lane_sum(classes, [f](std::int64_t i) { return f[i]; });
  f[second] = 1.0;
  const double gap = origin - static_cast<double>(m);
  const double g = std::exp(gap);
  return {classes,
          top,
          second,
          static_cast<double>(m),
          gap,
          g,
          std::exp(0.5 * gap),
          rest,
          1.0 + rest,
          1.0 + g * (1.0 + rest),
          f};
}

// The target of a row: c = sum of a_i; c without the largest class (u_top needs it without cancellation); a of the
// largest class; the row's loss.
struct RowTarget {
  double c = 0.0;
  double c_without_top = 0.0;
  double a_top = 0.0;
  double loss = 0.0;
};

// One class y with weight c: u = c s, except for class y. u of the largest class is set in run_row().
template <class T>
LEHI_INLINE RowTarget hard_target(const Softmax& s, const T* p, std::int64_t y, double c, T* u) {
  const double factor = c * s.g / s.z;
  const double* f = s.f;
  for (std::int64_t i = 0; i < s.classes; ++i) u[i] = static_cast<T>(factor * f[i]);
  if (y != s.top) u[y] = static_cast<T>(factor * f[y] - c);
  return {c, y == s.top ? 0.0 : c, y == s.top ? c : 0.0, c * (s.m - static_cast<double>(p[y]) + std::log1p(s.g * s.b))};
}

// Any target, given as a[i].
template <class T>
LEHI_INLINE RowTarget soft_target(const Softmax& s, const T* p, const double* a, T* u) {
  const double before = lane_sum(s.top, [a](std::int64_t i) { return a[i]; });
  const double* after = a + s.top + 1;
  const double without_top = before + lane_sum(s.classes - s.top - 1, [after](std::int64_t i) { return after[i]; });
  const double c = without_top + a[s.top];
  const double factor = c * s.g / s.z;
  const double* f = s.f;
  const double m = s.m;
  for (std::int64_t i = 0; i < s.classes; ++i) u[i] = static_cast<T>(factor * f[i] - a[i]);
  const double distance = lane_sum(s.classes, [=](std::int64_t i) { return a[i] * (m - static_cast<double>(p[i])); });
  return {c, without_top, a[s.top], distance + c * std::log1p(s.g * s.b)};
}

template <class T>
LEHI_INLINE RowTarget target_of(const Rows<T>& rows, std::int64_t row, const Softmax& s, const T* p, double* a, T* u) {
  const double even = rows.label_smoothing / static_cast<double>(s.classes);
  const double kept = 1.0 - rows.label_smoothing;
  const double* w = rows.class_weights;
  if (rows.indices != nullptr) {
    const std::int64_t y = rows.indices[row];
    if (rows.label_smoothing == 0.0) return hard_target(s, p, y, w[y], u);
    for (std::int64_t i = 0; i < s.classes; ++i) a[i] = w[i] * even;
    a[y] = w[y] * (kept + even);
  } else {
    const T* y = rows.probabilities + row * s.classes;
    for (std::int64_t i = 0; i < s.classes; ++i) a[i] = w[i] * (kept * static_cast<double>(y[i]) + even);
  }
  return soft_target(s, p, a, u);
}

template <class T>
LEHI_INLINE void imitation(const Softmax& s, double factor, double* work, T* v) {
  double* f = s.f;
  const double g = s.g;
  const double z = s.z;
  const double root_b = std::sqrt(s.b);
  const double r2 = std::sqrt(1.0 / (z - g));
  const double b2 = r2 * (z - g);
  // The term of the two largest classes with each other. Then f of the second is cleared, so that the loops below sum
  // over the other classes only.
  const double top_and_second = s.rest * r2 * -std::expm1(s.gap) / (z * root_b * (b2 + root_b));
  f[s.second] = 0.0;
  const double third = lane_max(f, s.classes, 0.0);
  const double t = third > 0.0 ? std::sqrt(1.0 / (third * (z - g * third))) : 0.0;

  const double rest = s.rest;
  const double top_scale = 1.0 / (z * root_b);
  const double second_scale = r2 / z;
  const double spread = g * rest / z;
  std::array<double, lane_count> sum_d = {};
  std::array<double, lane_count> sum_top = {};
  std::array<double, lane_count> sum_second = {};
  const auto term = [&](std::int64_t i, std::size_t lane) __attribute__((always_inline)) {
    const double x = z - g * f[i];
    const double r = std::sqrt(f[i] / x);
    const double b = r * x;
    const double d = r - t * f[i];
    const double with_top = r * (1.0 + (rest - f[i])) * (1.0 - g * f[i]) * top_scale / (b + root_b);
    const double with_second = r * (1.0 - f[i]) * (1.0 + g * (rest - f[i])) * second_scale / (b + b2);
    sum_d[lane] += d;
    sum_top[lane] += with_top;
    sum_second[lane] += with_second;
    work[i] = with_top + g * with_second + spread * d;
  };
  std::int64_t i = 0;
  for (; i + lane_count <= s.classes; i += lane_count) {
    for (std::int64_t j = 0; j < lane_count; ++j) term(i + j, static_cast<std::size_t>(j));
  }
  for (; i < s.classes; ++i) term(i, 0);
  const auto total = [](const std::array<double, lane_count>& lanes) {
    double sum = 0.0;
    for (const double lane : lanes) sum += lane;
    return sum;
  };
  const double scale = factor * s.root_g;
  const double shared = g * total(sum_d) / z;
  for (std::int64_t k = 0; k < s.classes; ++k) v[k] = static_cast<T>(scale * (work[k] - shared * f[k]));
  v[s.top] = static_cast<T>(-scale * (top_and_second + total(sum_top)));
  v[s.second] = static_cast<T>(scale * (top_and_second - g * total(sum_second)));
}

template <class T>
LEHI_INLINE void diagonal(const Softmax& s, double factor, T* v) {
  const double* f = s.f;
  const double g = s.g;
  const double z = s.z;
  const double scale = factor * s.root_g / z;
  for (std::int64_t i = 0; i < s.classes; ++i) v[i] = static_cast<T>(scale * std::sqrt(f[i] * (z - g * f[i])));
  v[s.top] = static_cast<T>(scale * std::sqrt(s.b));
}

// `work` holds the signs.
template <class T>
LEHI_INLINE void gauss_newton(const Softmax& s, double factor, double* work, T* v) {
  const double* f = s.f;
  const double sign = work[s.top];
  for (std::int64_t i = 0; i < s.classes; ++i) work[i] *= std::sqrt(f[i]);
  const double mix = s.root_g * lane_sum(s.classes, [work](std::int64_t i) { return work[i]; });
  const double scale = factor / std::sqrt(s.z);
  const double own = scale * s.root_g;
  const double shared = scale * (sign + mix) * s.g / s.z;
  for (std::int64_t i = 0; i < s.classes; ++i) v[i] = static_cast<T>(own * work[i] - shared * f[i]);
  v[s.top] = static_cast<T>(scale * (sign * s.top_complement() - mix / s.z));
}

template <class T>
LEHI_INLINE void sampled_label(const Softmax& s, double factor, double uniform, T* v) {
  const double scale = factor * s.g / s.z;
  const double* f = s.f;
  for (std::int64_t i = 0; i < s.classes; ++i) v[i] = static_cast<T>(scale * f[i]);
  v[s.top] = static_cast<T>(factor / s.z);
  // The first class whose cumulative probability exceeds `uniform`. Rounding must not select a class of probability 0.
  double left = uniform * s.z;
  std::int64_t label = s.top;
  for (std::int64_t i = 0; i < s.classes; ++i) {
    left -= i == s.top ? 1.0 : s.g * f[i];
    if (left < 0.0) {
      label = i;
      break;
    }
  }
  v[label] = static_cast<T>(label == s.top ? -factor * s.top_complement() : scale * f[label] - factor);
}

template <class T>
LEHI_CLONES RowResult run_row(const Rows<T>& rows, std::int64_t row, const Draws& draws, Scratch& scratch) {
  const std::int64_t classes = rows.classes;
  const T* p = rows.logits + row * classes;
  T* u = rows.u + row * classes;
  T* v = rows.v == nullptr ? nullptr : rows.v + row * classes;
  if (!all_finite(p, classes)) return {0.0, 0.0, false};
  if (rows.indices != nullptr && rows.indices[row] == rows.ignore_index) {
    std::fill(u, u + classes, T{0});
    if (v != nullptr) std::fill(v, v + classes, T{0});
    return {};
  }
  const Softmax s = softmax_of(p, classes, scratch.f);
  const RowTarget target = target_of(rows, row, s, p, scratch.targets, u);
  // c s_top - a_top, in the form without cancellation.
  u[s.top] = static_cast<T>(s.g * s.b < 1.0 ? target.c_without_top - target.c * s.top_complement()
                                            : target.c / s.z - target.a_top);

  const double factor = rows.scale == Scale::mean ? target.c : std::sqrt(target.c);
  if (classes == 1) {
    if (v != nullptr) v[0] = T{0};
  } else if (rows.probe == Probe::imitation) {
    imitation(s, factor, scratch.work, v);
  } else if (rows.probe == Probe::diagonal) {
    diagonal(s, factor, v);
  } else if (rows.probe == Probe::gauss_newton) {
    draws.signs(row, classes, scratch.work);
    gauss_newton(s, factor, scratch.work, v);
  } else if (rows.probe == Probe::sampled_label) {
    sampled_label(s, factor, draws.uniform(row, 0), v);
  }
  return {target.loss, rows.indices != nullptr ? rows.class_weights[rows.indices[row]] : 1.0, true};
}

// A row that is_wide(), in float32; nothing when float32 is not precise enough.
std::optional<RowResult> run_wide_row(const Rows<float>& rows, std::int64_t row, const Draws& draws,
                                      std::vector<float>& scratch) {
  const std::int64_t y = rows.indices[row];
  const double c = rows.class_weights[y];
  WideRow wide;
  wide.logits = rows.logits + row * rows.classes;
  wide.classes = rows.classes;
  wide.target = y;
  wide.weight = c;
  wide.factor = rows.scale == Scale::mean ? c : std::sqrt(c);
  wide.u = rows.u + row * rows.classes;
  wide.v = rows.v == nullptr ? nullptr : rows.v + row * rows.classes;
  scratch.resize(static_cast<std::size_t>(rows.classes));
  wide.scratch = scratch.data();
  wide.streaming = rows.streaming;
  const WideResult result = cross_entropy_wide(wide, rows.probe, draws, row);
  if (!result.precise) return std::nullopt;
  return RowResult{result.loss, c, result.finite};
}

bool is_wide(const Rows<float>& rows, std::int64_t row) {
  if (rows.classes < wide_classes || rows.indices == nullptr || rows.label_smoothing != 0.0) return false;
  const std::int64_t y = rows.indices[row];
  return wide_probe(rows.probe) && y != rows.ignore_index && rows.class_weights[y] > 0.0;
}

template <class T>
CrossEntropyResult run(const CrossEntropyBatch<T>& batch, const ParallelFor& parallel) {
  Rows<T> rows{batch};
  std::vector<double> ones;
  if (rows.class_weights == nullptr) {
    ones.assign(static_cast<std::size_t>(rows.classes), 1.0);
    rows.class_weights = ones.data();
  }
  if (rows.probe == Probe::gradient) rows.v = nullptr;
  const std::int64_t outputs = rows.v == nullptr ? 1 : 2;
  const std::int64_t bytes = rows.rows * rows.classes * static_cast<std::int64_t>(sizeof(T));
  rows.streaming = can_stream() && bytes * outputs > cache_bytes;

  const Draws draws(rows.key);
  std::vector<RowResult> results(static_cast<std::size_t>(rows.rows));
  const std::int64_t grain = std::max<std::int64_t>(1, 4096 / rows.classes);
  parallel(rows.rows, grain, [&](std::int64_t begin, std::int64_t end) {
    std::optional<Scratch> scratch;
    std::vector<float> wide_scratch;
    for (std::int64_t row = begin; row < end; ++row) {
      std::optional<RowResult> result;
      if constexpr (std::is_same_v<T, float>) {
        if (is_wide(rows, row)) result = run_wide_row(rows, row, draws, wide_scratch);
      }
      if (!result) {
        if (!scratch) scratch.emplace(rows.classes);
        result = run_row(rows, row, draws, *scratch);
      }
      results[static_cast<std::size_t>(row)] = *result;
    }
    finish_streaming();
  });
  CrossEntropyResult total;
  for (const RowResult& result : results) {  // in order, so that the sum does not depend on the threads
    total.sum += result.loss;
    total.count += result.count;
    total.finite = total.finite && result.finite;
  }
  return total;
}

}  // namespace

CrossEntropyResult cross_entropy(const CrossEntropyBatch<float>& batch, const ParallelFor& parallel) {
  return run(batch, parallel);
}

CrossEntropyResult cross_entropy(const CrossEntropyBatch<double>& batch, const ParallelFor& parallel) {
  return run(batch, parallel);
}

}  // namespace lehi::kernels
