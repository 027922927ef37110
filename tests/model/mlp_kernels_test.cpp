// The hand-written product and passes against torch's own, on sizes around every tile and block.
#include "model/mlp_kernels.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>

#include "support/support.h"

namespace lehi::model {
namespace {

using lehi::testing::relative_difference;
using lehi::testing::same_bits;

template <class T>
torch::Tensor product_of(const torch::Tensor& left, const torch::Tensor& right) {
  auto result = torch::full({left.size(0), right.size(1)}, std::nan(""), left.options());
  multiply<T>(left.size(0), right.size(1), left.size(1), {left.data_ptr<T>(), left.stride(0), left.stride(1)},
              {right.data_ptr<T>(), right.stride(0), right.stride(1)}, result.template data_ptr<T>(), right.size(1));
  return result;
}

template <class T>
void compare_products() {
  const auto dtype = c10::CppTypeToScalarType<T>::value;
  torch::manual_seed(1);
  for (const std::int64_t rows : {1, 3, 4, 13, 26}) {
    for (const std::int64_t columns : {1, 2, 7, 8, 9, 16, 24, 25, 32, 50, 72, 97}) {
      for (const std::int64_t inner : {1, 2, 5, 63, 64, 65, 1023, 1024, 1100}) {
        const auto left = torch::randn({rows, inner}, dtype);
        const auto right = torch::randn({inner, columns}, dtype);
        const auto left_columns = left.t().contiguous().t();  // the same numbers, column-major
        const auto right_columns = right.t().contiguous().t();
        const auto expected = left.to(torch::kFloat64).mm(right.to(torch::kFloat64));
        for (const auto& some_left : {left, left_columns}) {
          for (const auto& some_right : {right, right_columns}) {
            // Sums of up to 1,100 products: rounding grows with their square root.
            EXPECT_LE(relative_difference(product_of<T>(some_left, some_right), expected),
                      dtype == torch::kFloat64 ? 1e-13 : 1e-5)
                << rows << " x " << inner << " x " << columns;
          }
        }
      }
    }
  }
}

TEST(MlpKernels, ProductsAreTorchsInFloat32) { compare_products<float>(); }
TEST(MlpKernels, ProductsAreTorchsInFloat64) { compare_products<double>(); }

TEST(MlpKernels, AcceptNoRows) {
  const auto result = product_of<float>(torch::ones({0, 5}), torch::ones({5, 3}));
  EXPECT_EQ(result.numel(), 0);
}

template <class T>
void compare_active_products() {
  const auto dtype = c10::CppTypeToScalarType<T>::value;
  torch::manual_seed(3);
  for (const std::int64_t rows : {1, 7, 128, 129, 300}) {
    for (const std::int64_t units : {1, 5, 50}) {
      for (const std::int64_t columns : {1, 8, 31, 48, 50, 97, 784}) {
        const torch::Tensor activations = torch::relu(torch::randn({rows, units}, dtype));
        torch::Tensor deltas = torch::randn({rows, 2, units}, dtype);
        const torch::Tensor inputs = torch::randn({rows, columns}, dtype);
        torch::Tensor result = torch::full({2, units, columns}, std::nan(""), dtype);
        multiply_active<T>(rows, units, columns, columns, activations.data_ptr<T>(), deltas.data_ptr<T>(),
                           inputs.data_ptr<T>(), result.data_ptr<T>());
        deltas *= (activations > 0).unsqueeze(1);
        const torch::Tensor expected =
            torch::einsum("icj,in->cjn", {deltas.to(torch::kFloat64), inputs.to(torch::kFloat64)});
        EXPECT_LE((result - expected).abs().max().item<double>(), dtype == torch::kFloat64 ? 1e-12 : 1e-4)
            << rows << " rows, " << units << " units, " << columns << " columns";
      }
    }
  }
}

// Tolerances for sums of up to 300 products of size 1.
TEST(MlpKernels, ProductsOverActiveRowsAreTorchsInFloat32) { compare_active_products<float>(); }
TEST(MlpKernels, ProductsOverActiveRowsAreTorchsInFloat64) { compare_active_products<double>(); }

// Threads compute parts of a product: any rows, and columns from a multiple of column_unit on.
template <class T>
void compare_parts() {
  const auto dtype = c10::CppTypeToScalarType<T>::value;
  torch::manual_seed(4);
  for (const std::int64_t columns : {17, 50, 130}) {
    const torch::Tensor left = torch::randn({131, 29}, dtype);  // [inner, rows], as deltas are
    const torch::Tensor right = torch::randn({131, columns}, dtype);
    const torch::Tensor activations = torch::relu(torch::randn({131, 29}, dtype));
    const torch::Tensor deltas = torch::randn({131, 2, 29}, dtype);
    const torch::Tensor whole = product_of<T>(left.t(), right);
    torch::Tensor whole_active = torch::empty({2, 29, columns}, dtype);
    multiply_active<T>(131, 29, columns, columns, activations.data_ptr<T>(), deltas.data_ptr<T>(), right.data_ptr<T>(),
                       whole_active.data_ptr<T>());
    torch::Tensor parts = torch::full_like(whole, std::nan(""));
    torch::Tensor active_parts = torch::full_like(whole_active, std::nan(""));
    for (std::int64_t begin = 0; begin < columns; begin += column_unit) {
      const std::int64_t some = std::min(column_unit, columns - begin);
      multiply<T>(29, some, 131, {left.data_ptr<T>(), 1, 29}, {right.data_ptr<T>() + begin, columns, 1},
                  parts.data_ptr<T>() + begin, columns);
      multiply_active<T>(131, 29, some, columns, activations.data_ptr<T>(), deltas.data_ptr<T>(),
                         right.data_ptr<T>() + begin, active_parts.data_ptr<T>() + begin);
    }
    EXPECT_TRUE(same_bits(parts, whole)) << columns;
    EXPECT_TRUE(same_bits(active_parts, whole_active)) << columns;
    const torch::Tensor weight = torch::randn({columns, 131}, dtype);
    const torch::Tensor inputs = torch::randn({29, 131}, dtype);
    const torch::Tensor forward = product_of<T>(inputs, weight.t());
    for (std::int64_t row = 0; row < 29; row += 5) {
      const torch::Tensor some = inputs.slice(0, row, row + 5);
      EXPECT_TRUE(same_bits(product_of<T>(some, weight.t()), forward.slice(0, row, row + 5))) << columns;
    }
  }
}

TEST(MlpKernels, PartsOfAProductHaveTheBitsOfTheWholeInFloat32) { compare_parts<float>(); }
TEST(MlpKernels, PartsOfAProductHaveTheBitsOfTheWholeInFloat64) { compare_parts<double>(); }

TEST(MlpKernels, PassesAreTorchs) {
  torch::manual_seed(2);
  for (const std::int64_t rows : {1, 6, 131}) {
    for (const std::int64_t columns : {1, 7, 8, 50, 101}) {
      const auto values = torch::randn({rows, columns});
      const auto bias = torch::randn({columns});
      for (const bool relu : {false, true}) {
        auto result = values.clone();
        add_bias<float>(rows, columns, bias.data_ptr<float>(), relu, result.data_ptr<float>());
        EXPECT_TRUE(torch::equal(result, relu ? torch::relu(values + bias) : values + bias));
      }
      const auto active = torch::relu(values);
      const auto deltas = torch::randn({rows, 2, columns});
      auto masked = deltas.clone();
      mask<float>(rows, 2, columns, active.data_ptr<float>(), masked.data_ptr<float>());
      EXPECT_TRUE(torch::equal(masked, deltas * (active > 0).unsqueeze(1)));

      auto sums = torch::full({columns}, std::nan(""));
      column_sums<float>(rows, columns, values.data_ptr<float>(), sums.data_ptr<float>());
      // A sum of up to 131 numbers of size 1, in sequence.
      EXPECT_LE((sums - values.sum(0)).abs().max().item<double>(), 1e-4);
    }
  }
}

}  // namespace
}  // namespace lehi::model
