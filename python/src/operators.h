// The functions behind torch.ops.lehi.*, in the order of ../OPERATORS.md, which explains them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tensors.h"

namespace lehi::python {

using Ints = std::vector<std::int64_t>;
using Floats = std::vector<double>;
using Tensors = std::vector<Tensor>;

// plan_operators.cpp
std::string presets();
std::string check_recipe(std::string recipe, Floats numbers);
std::string recipe_difference(std::string saved, std::string recipe);
Ints plan_of_step(std::string recipe, std::int64_t step);
Floats coefficients_of_step(std::string recipe, Floats numbers, std::int64_t schedule_step, std::int64_t step,
                            std::int64_t steps_covered, double momentum_product, double count);
double factor_of_probe(std::string scale, double weight, double count);
Ints matrix_blocks(std::string recipe, std::int64_t rows, std::int64_t columns, bool convolution, double predictions,
                   std::int64_t largest_side);
std::string loop_level();

// update_operator.cpp
void update(Tensors w, Tensors g, Tensors s, Tensors m, Tensors v, Tensors v_max, Floats values);

// loss_operators.cpp
Tensors cross_entropy(Tensor logits, Tensor target, std::optional<Tensor> weight, double label_smoothing,
                      std::int64_t ignore_index, std::string probe, std::string scale, Ints key);
Tensors elementwise(std::string loss, Floats options, Tensor predictions, Tensor target, std::string probe, Ints key);
Tensor elementwise_second(std::string loss, Floats options, Tensor predictions, Tensor target);

// number_operators.cpp
Tensor draws(std::string kind, std::int64_t rows, std::int64_t outputs, Ints key);
Tensor norms(Tensors tensors);
Tensor within(Tensors tensors, double limit);

}  // namespace lehi::python
