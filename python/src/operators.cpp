// Registers the operators on torch's stable ABI.
#include "operators.h"

#include <torch/csrc/stable/library.h>

namespace python = lehi::python;

STABLE_TORCH_LIBRARY(lehi, library) {
  library.def("presets() -> str");
  library.def("check(str recipe, float[] numbers) -> str");
  library.def("difference(str saved, str recipe) -> str");
  library.def("plan_step(str recipe, int step) -> int[]");
  library.def(
      "coefficients(str recipe, float[] numbers, int schedule_step, int step, int steps_covered, float "
      "momentum_product, float count) -> float[]");
  library.def("probe_factor(str scale, float weight, float count) -> float");
  library.def(
      "matrix_blocks(str recipe, int rows, int columns, bool convolution, float predictions, int largest_side) -> "
      "int[]");
  library.def("loop_level() -> str");
  library.def("draws(str kind, int rows, int outputs, int[] key) -> Tensor");
  library.def(
      "update(Tensor(a!)[] w, Tensor[] g, Tensor[] s, Tensor(b!)[] m, Tensor(c!)[] v, Tensor(d!)[] v_max, float[] "
      "values) -> ()");
  library.def(
      "cross_entropy(Tensor logits, Tensor target, Tensor? weight, float label_smoothing, int ignore_index, str probe, "
      "str scale, int[] key) -> Tensor[]");
  library.def(
      "elementwise(str loss, float[] options, Tensor predictions, Tensor target, str probe, int[] key) -> Tensor[]");
  library.def("elementwise_second(str loss, float[] options, Tensor predictions, Tensor target) -> Tensor");
  library.def("norms(Tensor[] tensors) -> Tensor");
  library.def("within(Tensor[] tensors, float limit) -> Tensor");
}

// Those that take no tensors.
STABLE_TORCH_LIBRARY_IMPL(lehi, CompositeExplicitAutograd, library) {
  library.impl("presets", TORCH_BOX(&python::presets));
  library.impl("check", TORCH_BOX(&python::check_recipe));
  library.impl("difference", TORCH_BOX(&python::recipe_difference));
  library.impl("plan_step", TORCH_BOX(&python::plan_of_step));
  library.impl("coefficients", TORCH_BOX(&python::coefficients_of_step));
  library.impl("probe_factor", TORCH_BOX(&python::factor_of_probe));
  library.impl("matrix_blocks", TORCH_BOX(&python::matrix_blocks));
  library.impl("loop_level", TORCH_BOX(&python::loop_level));
  library.impl("draws", TORCH_BOX(&python::draws));
}

STABLE_TORCH_LIBRARY_IMPL(lehi, CPU, library) {
  library.impl("update", TORCH_BOX(&python::update));
  library.impl("cross_entropy", TORCH_BOX(&python::cross_entropy));
  library.impl("elementwise", TORCH_BOX(&python::elementwise));
  library.impl("elementwise_second", TORCH_BOX(&python::elementwise_second));
  library.impl("norms", TORCH_BOX(&python::norms));
  library.impl("within", TORCH_BOX(&python::within));
}
