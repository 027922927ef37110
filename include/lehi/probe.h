// Probes: which second vector v is pulled back through the network to learn the scale of each weight, s = J^T v.
//
//   gradient       v = u = dl/dp                          what Adam squares; costs no second pull-back
//   imitation      v = dz/dp, z the auxiliary loss        the LEHI paper; its square imitates d2l/dp2
//   diagonal       v_i = sqrt(|d2l/dp_i^2|)               the paper's derivation, cross terms dropped
//   gauss-newton   v = L r, L L^T = d2l/dp2, r_i = +-1    E[v v^T] = d2l/dp2 exactly, row by row
//   sampled-label  v = dl/dp at a label drawn from p      Sophia-G (Liu et al. 2024); E[v v^T] is the Fisher matrix
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace lehi {

enum class Probe : std::uint8_t { gradient, imitation, diagonal, gauss_newton, sampled_label };

/// How the pulled-back probe is scaled over the N rows (or total class weight N) that the loss averages.
///   sqrt_n  v / sqrt(N): for random-sign probes E[s^2] is the Gauss-Newton diagonal of the mean loss (the paper)
///   mean    v / N: for those probes E[s^2] estimates the noise variance of g, so Adam's learning rates carry over
/// Row weights (class weights, term weights) enter v as sqrt(weight) with sqrt_n and as weight with mean, so that the
/// meaning of s^2 stated above survives them.
enum class Scale : std::uint8_t { sqrt_n, mean };

/// Names the random numbers of one evaluation. The draw for (row, class) depends on nothing but this key, the row's
/// global index first_row + row, and the class: micro-batches, chunks, threads and ranks do not change it.
struct RandomKey {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  std::uint64_t first_row = 0;  ///< global index of this evaluation's first row within the step
  std::uint32_t stream = 0;     ///< which loss term of the step; below 65,536
};

/// What to compute beside value and gradient. With the default, `gradient`, no second vector is made.
struct ProbeRequest {
  Probe probe = Probe::gradient;
  Scale scale = Scale::sqrt_n;
  RandomKey key = {};
};

/// "imitation", "gauss-newton", ...; the names of the command line and of saved files.
std::string_view name(Probe probe);
std::string_view name(Scale scale);

/// The inverse of name(); throws std::invalid_argument listing the known names.
Probe probe_from_name(std::string_view name);
Scale scale_from_name(std::string_view name);

/// All probes, in the order of the enumeration.
const std::vector<Probe>& all_probes();

/// True when v depends on RandomKey.
bool is_random(Probe probe);

}  // namespace lehi
