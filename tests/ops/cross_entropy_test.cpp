// The cross-entropy kernel against its plain ATen version, and the same bits for any threads and micro-batches.
#include "ops/cross_entropy.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "kernels/cross_entropy_wide.h"
#include "support/support.h"

namespace lehi::ops {
namespace {

using kernels::CrossEntropyResult;
using kernels::wide_classes;
using kernels::wide_probe;
using testing::relative_difference;
using testing::same_bits;

struct CrossEntropyOutput {
  CrossEntropyResult result;
  torch::Tensor gradient, probe;
};

CrossEntropyOutput run(const CrossEntropyTask& task, bool plain = false) {
  CrossEntropyOutput r;
  r.gradient = torch::full_like(task.logits, 77.0);
  r.probe = torch::full_like(task.logits, 77.0);
  r.result = (plain ? cross_entropy_plain : cross_entropy)(task, r.gradient, r.probe);
  return r;
}

CrossEntropyTask task_of(std::int64_t rows, std::int64_t classes, torch::Dtype dtype, bool indices, bool weights,
                         double smoothing) {
  CrossEntropyTask task;
  task.logits = 4.0 * torch::randn({rows, classes}, dtype);
  if (indices) {
    task.targets = torch::randint(classes, {rows}, torch::kInt64);
    if (rows > 2) task.targets[rows / 2] = task.ignore_index;
  } else {
    task.targets = torch::softmax(torch::randn({rows, classes}, dtype), -1);
  }
  if (weights) task.class_weights = torch::rand({classes}, torch::kFloat64) + 0.1;
  task.label_smoothing = smoothing;
  task.key = {4, 5, 6, 7};
  return task;
}

// Relative error of the loss: that of float64 sums of thousands of terms, except in rows computed by
// cross_entropy_wide.h. There the terms h^2 of Z are squares of float32 numbers with a rounding error of 5e-8 each
// (root mean square; of h^2 1e-7), so that log Z is off by 1e-7 / sqrt(K) when K classes have most of the probability:
// 1e-8 for K = 100, beside a loss of 5 to 15. Computing the terms in
// float64 would cost 1 ns per exponential, two thirds of the whole time of such a row.
double value_tolerance(const CrossEntropyTask& task) {
  const bool wide = task.logits.scalar_type() == torch::kFloat32 && task.logits.size(1) >= wide_classes &&
                    task.has_indices() && task.label_smoothing == 0.0 && wide_probe(task.probe);
  return wide ? 2e-9 : 1e-13;
}

TEST(CrossEntropyKernel, AgreesWithThePlainVersion) {
  torch::manual_seed(1);
  for (const auto dtype : {torch::kFloat64, torch::kFloat32}) {
    // float64: a few units in the last place of exp, in sums of thousands of terms; float32: one rounding at the end.
    const double tolerance = dtype == torch::kFloat64 ? 1e-13 : 1e-7;
    for (const auto& [rows, classes] :
         std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1}, {5, 2}, {7, 3}, {33, 10}, {4, 129}, {3, 5003}}) {
      for (int variant = 0; variant < 8; ++variant) {
        CrossEntropyTask task =
            task_of(rows, classes, dtype, (variant & 1) != 0, (variant & 2) != 0, (variant & 4) != 0 ? 0.1 : 0.0);
        for (const Probe probe : all_probes()) {
          for (const Scale scale : {Scale::sqrt_n, Scale::mean}) {
            task.probe = probe;
            task.scale = scale;
            const CrossEntropyOutput fast = run(task);
            const CrossEntropyOutput plain = run(task, true);
            const std::string where = std::string(name(probe)) + " " + std::to_string(rows) + "x" +
                                      std::to_string(classes) + " variant " + std::to_string(variant);
            EXPECT_NEAR(fast.result.sum, plain.result.sum, value_tolerance(task) * std::abs(plain.result.sum)) << where;
            EXPECT_NEAR(fast.result.count, plain.result.count, 1e-14 * plain.result.count) << where;
            EXPECT_LE(relative_difference(fast.gradient, plain.gradient), tolerance) << where;
            if (probe != Probe::gradient) {
              EXPECT_LE(relative_difference(fast.probe, plain.probe), tolerance) << where;
            }
          }
        }
      }
    }
  }
}

// Rows of all kinds at once: ties, dominating classes, gaps beyond the range of exp.
TEST(CrossEntropyKernel, AgreesWithThePlainVersionOnHardRows) {
  const double data[][4] = {{0, 0, 0, 0},       {5, 5, 1, 1},      {1, 5, 5, 5},          {1e4, -1e4, 0, 1},
                            {-1e4, -1e4, 0, 0}, {700, 0, -700, 1}, {1e4, 1e4, 1e4, -1e4}, {30, 29.999, -30, -31}};
  CrossEntropyTask task;
  task.logits = torch::empty({8, 4}, torch::kFloat64);
  std::copy(&data[0][0], &data[0][0] + 32, task.logits.data_ptr<double>());
  task.targets = torch::tensor({0, 1, 2, 3, 0, 1, 2, 3}, torch::kInt64);
  for (const Probe probe : all_probes()) {
    task.probe = probe;
    const CrossEntropyOutput fast = run(task);
    const CrossEntropyOutput plain = run(task, true);
    EXPECT_TRUE(torch::isfinite(fast.gradient).all().item<bool>());
    EXPECT_TRUE(torch::isfinite(fast.probe).all().item<bool>());
    for (std::int64_t row = 0; row < 8; ++row) {
      EXPECT_LE(relative_difference(fast.gradient[row], plain.gradient[row]), 1e-14) << "row " << row;
      EXPECT_LE(relative_difference(fast.probe[row], plain.probe[row]), 1e-14) << name(probe) << " row " << row;
    }
  }
}

TEST(CrossEntropyKernel, SameBitsWhateverTheThreads) {
  torch::manual_seed(2);
  const int threads = at::get_num_threads();
  CrossEntropyTask task = task_of(1013, 37, torch::kFloat32, true, true, 0.1);
  for (const Probe probe : all_probes()) {
    task.probe = probe;
    at::set_num_threads(1);
    const CrossEntropyOutput one = run(task);
    at::set_num_threads(3);
    const CrossEntropyOutput three = run(task);
    EXPECT_EQ(one.result.sum, three.result.sum);
    EXPECT_EQ(one.result.count, three.result.count);
    EXPECT_TRUE(same_bits(one.gradient, three.gradient));
    EXPECT_TRUE(same_bits(one.probe, three.probe)) << name(probe);
  }
  at::set_num_threads(threads);
}

TEST(CrossEntropyKernel, MicroBatchesGiveTheSameBits) {
  torch::manual_seed(3);
  CrossEntropyTask whole = task_of(23, 141, torch::kFloat32, true, false, 0.0);
  for (const Probe probe : all_probes()) {
    whole.probe = probe;
    const CrossEntropyOutput all = run(whole);
    for (const auto& [begin, end] : std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 9}, {9, 10}, {10, 23}}) {
      CrossEntropyTask part = whole;
      part.logits = whole.logits.slice(0, begin, end);
      part.targets = whole.targets.slice(0, begin, end);
      part.key.first_row += static_cast<std::uint64_t>(begin);
      const CrossEntropyOutput some = run(part);
      EXPECT_TRUE(same_bits(some.gradient, all.gradient.slice(0, begin, end)));
      EXPECT_TRUE(same_bits(some.probe, all.probe.slice(0, begin, end))) << name(probe);
    }
  }
}

// The difference of two rows of v relative to the second; with random signs, which may cancel, relative to its expected
// size.
double probe_difference(const CrossEntropyTask& task, std::int64_t row, const torch::Tensor& found,
                        const torch::Tensor& expected) {
  double size = expected[row].norm().item<double>();
  if (task.probe == Probe::gauss_newton) {
    CrossEntropyTask diagonal = task;
    diagonal.probe = Probe::diagonal;
    size = std::max(size, run(diagonal, true).probe[row].to(torch::kFloat64).norm().item<double>());
  }
  const double difference = (found[row].to(torch::kFloat64) - expected[row]).norm().item<double>();
  return difference < 2e-30 ? 0.0 : difference / size;
}

// Rows computed by cross_entropy_wide.h and rows that need float64: logits from nearly equal to far apart, row lengths
// around wide_classes. Four units in the last place of float32 for a row's u and v: at a spread of 0.35
// the imitation probe subtracts two numbers of six times its size, each rounded to half a unit.
TEST(CrossEntropyKernel, LongFloat32RowsArePreciseRowByRow) {
  torch::manual_seed(5);
  for (const std::int64_t classes :
       {wide_classes - 1, wide_classes, wide_classes + 1, std::int64_t{5003}, std::int64_t{50257}}) {
    for (const double spread : {1e-6, 1e-3, 0.03, 0.2, 0.35, 0.5, 1.0, 3.0, 10.0, 100.0}) {
      CrossEntropyTask task = task_of(4, classes, torch::kFloat32, true, true, 0.0);
      task.logits *= spread / 4.0;
      task.logits[1] += 100.0;  // with the smallest spread most of these are equal
      task.targets[2] = 0;
      task.targets[3] = task.logits[3].argmax();
      task.logits[3][classes / 2] = task.logits[3].max() - 1e-4;  // nearly a tie of the two largest
      for (const Probe probe : all_probes()) {
        task.probe = probe;
        const CrossEntropyOutput fast = run(task);
        const CrossEntropyOutput plain = run(task, true);
        EXPECT_NEAR(fast.result.sum, plain.result.sum, value_tolerance(task) * std::abs(plain.result.sum));
        for (std::int64_t row = 0; row < 4; ++row) {
          const std::string where = std::string(name(probe)) + ", " + std::to_string(classes) + " classes, spread " +
                                    std::to_string(spread) + ", row " + std::to_string(row);
          EXPECT_LE(relative_difference(fast.gradient[row], plain.gradient[row]), 4.8e-7) << where;
          if (probe == Probe::gradient) continue;
          EXPECT_LE(probe_difference(task, row, fast.probe, plain.probe), 4.8e-7) << where;
        }
      }
    }
  }
}

// Ties among the three largest, in all places, and gaps beyond the range of float32's exponential.
TEST(CrossEntropyKernel, LongFloat32RowsWithTiesAndGaps) {
  const std::vector<std::array<double, 3>> largest = {
      {5, 5, 5},    {5, 5, 4},   {5, 4, 4},     {5, 4.99, 4.98}, {90, 5, 4},           {95, 94, 4},
      {95, 94, 93}, {1e4, 0, 0}, {1e4, 1e4, 0}, {1e4, 1e4, 1e4}, {3e38, -3e38, -3e38}, {3e38, 3e38, 0}};
  constexpr std::int64_t classes = 1030;
  const std::vector<std::array<std::int64_t, 3>> places = {
      {0, 1, 2}, {1029, 1028, 1027}, {1023, 0, 1029}, {500, 501, 16}};
  for (const auto& values : largest) {
    for (const auto& place : places) {
      for (const double others : {values[2] - 1.0, values[2] - 40.0}) {
        CrossEntropyTask task;
        task.logits = torch::full({3, classes}, others, torch::kFloat32);
        for (std::size_t i = 0; i < 3; ++i) task.logits.select(1, place[i]).fill_(values[i]);
        task.targets = torch::tensor({place[0], place[1], std::int64_t{700}}, torch::kInt64);
        for (const Probe probe : {Probe::gradient, Probe::imitation, Probe::diagonal, Probe::gauss_newton}) {
          task.probe = probe;
          const CrossEntropyOutput fast = run(task);
          const CrossEntropyOutput plain = run(task, true);
          for (std::int64_t row = 0; row < 3; ++row) {
            const std::string where = std::string(name(probe)) + " " + ::testing::PrintToString(values) + " at " +
                                      ::testing::PrintToString(place) + " row " + std::to_string(row);
            EXPECT_LE(relative_difference(fast.gradient[row], plain.gradient[row]), 4.8e-7) << where;
            if (probe == Probe::gradient) continue;
            EXPECT_TRUE(torch::isfinite(fast.probe[row]).all().item<bool>()) << where;
            EXPECT_LE(probe_difference(task, row, fast.probe, plain.probe), 4.8e-7) << where;
          }
        }
      }
    }
  }
}

// Outputs above 32 MB are written with streaming stores, in blocks that begin at a cache line and so anywhere in a row.
// An entry must have the same bits in a vector and in the scalar remainder.
TEST(CrossEntropyKernel, LongRowsHaveTheSameBitsInSmallAndLargeBatchesAndOnAnyThreads) {
  torch::manual_seed(6);
  const int threads = at::get_num_threads();
  CrossEntropyTask whole = task_of(90, 50257, torch::kFloat32, true, false, 0.0);
  for (const Probe probe : {Probe::gradient, Probe::imitation, Probe::gauss_newton}) {
    whole.probe = probe;
    at::set_num_threads(2);
    const CrossEntropyOutput all = run(whole);
    at::set_num_threads(3);
    const CrossEntropyOutput by_three = run(whole);
    at::set_num_threads(1);
    EXPECT_EQ(all.result.sum, by_three.result.sum);
    EXPECT_TRUE(same_bits(all.gradient, by_three.gradient));
    EXPECT_TRUE(same_bits(all.probe, by_three.probe));
    for (const std::int64_t begin : {0, 31, 80}) {
      CrossEntropyTask part = whole;
      part.logits = whole.logits.slice(0, begin, begin + 10);
      part.targets = whole.targets.slice(0, begin, begin + 10);
      part.key.first_row += static_cast<std::uint64_t>(begin);
      const CrossEntropyOutput some = run(part);
      EXPECT_TRUE(same_bits(some.gradient, all.gradient.slice(0, begin, begin + 10)));
      if (probe == Probe::gradient) continue;
      EXPECT_TRUE(same_bits(some.probe, all.probe.slice(0, begin, begin + 10))) << name(probe);
    }
  }
  at::set_num_threads(threads);
}

TEST(CrossEntropyKernel, LongRowsReportNonFiniteLogits) {
  torch::manual_seed(7);
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity()}) {
    for (const std::int64_t place : {0, 15, 16, 511, 1029}) {
      CrossEntropyTask task = task_of(2, 1030, torch::kFloat32, true, false, 0.0);
      EXPECT_TRUE(run(task).result.finite);
      task.logits[1][place] = bad;
      EXPECT_FALSE(run(task).result.finite) << place;
    }
  }
}

// A view that starts one element into its storage is not aligned to a vector.
TEST(CrossEntropyKernel, ReadsMisalignedViews) {
  torch::manual_seed(4);
  for (const std::int64_t classes : {std::int64_t{50}, wide_classes + 6}) {
    CrossEntropyTask task = task_of(3, classes, torch::kFloat32, true, false, 0.0);
    task.probe = Probe::imitation;
    const CrossEntropyOutput aligned = run(task);
    const auto storage = torch::empty({3 * classes + 1}, torch::kFloat32);
    const auto view = storage.slice(0, 1).view({3, classes});
    view.copy_(task.logits);
    task.logits = view;
    const CrossEntropyOutput misaligned = run(task);
    EXPECT_TRUE(same_bits(aligned.gradient, misaligned.gradient)) << classes;
    EXPECT_TRUE(same_bits(aligned.probe, misaligned.probe)) << classes;
  }
}

TEST(CrossEntropyKernel, ReportsNonFiniteLogits) {
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                           -std::numeric_limits<double>::infinity()}) {
    for (const bool plain : {false, true}) {
      CrossEntropyTask task = task_of(5, 3, torch::kFloat64, true, false, 0.0);
      EXPECT_TRUE(run(task, plain).result.finite);
      task.logits[4][2] = bad;
      EXPECT_FALSE(run(task, plain).result.finite);
    }
  }
}

}  // namespace
}  // namespace lehi::ops
