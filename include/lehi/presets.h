// The optimizers by name. Each is lehi::Optimizer with a preset's recipe; see lehi/recipe.h for the parts.
//
//   name             probe           schedule             accumulator       rule              scale    follows
//   Lehi             imitation       every step           running sum       adam-simplified   sqrt-n   the paper
//   Lehibrid         imitation       alternating with g   running sum       adam-simplified   sqrt-n   the paper
//   LehiGn           gauss-newton    every 10, dense 200  ema, max with g^2 adam              mean     ours
//   AdamSimplified   gradient        every step           running sum       adam-simplified            the paper
//   Adam, AdamW      gradient        every step           ema               adam                       torch::optim
//   Amsgrad          gradient        every step           ema, maximum      adam                       torch.optim
//   Nadam, Radam     gradient        every step           ema               nadam, radam               torch.optim
//   Adagrad          gradient        every step           plain sum         rmsprop                    torch::optim
//   Rmsprop          gradient        every step           ema               rmsprop                    torch::optim
//   Sgd              gradient        every step           (none)            sgd                        torch::optim
//   SophiaG          sampled-label   every 10             ema per refresh   sophia            mean     its authors
//   Lion             gradient        every step           (none)            lion                       its authors
//   Muon             gradient        every step           ema               adam                       its authors
//   Soap             gradient        every step           ema               adam                       its authors
//   LehiKron         gradient        every step           ema               adam                       ours
//
// Muon takes matrices by the shape `orthogonal`, Soap and LehiKron by `kronecker`; all others are diagonal.
//
// Weight decay is that of the optimizer followed: Adam, Amsgrad, Nadam, Radam, Adagrad, Rmsprop and Sgd add it to g
// (Decay::coupled), the others subtract it from the weights (Decay::decoupled). The options' decay() changes that.
#pragma once

#include <utility>

#include "lehi/optimizer.h"

namespace lehi {

template <Preset P>
class PresetOptimizer final : public Optimizer {
 public:
  /// Parameters are what Optimizer's constructors take: a list, named ones, or groups.
  template <class Parameters>
  explicit PresetOptimizer(Parameters parameters, const PresetOptions<P>& options = {})
      : Optimizer(std::move(parameters), Options(options)) {}
};

using Lehi = PresetOptimizer<Preset::lehi>;
using LehiOptions = PresetOptions<Preset::lehi>;
using Lehibrid = PresetOptimizer<Preset::lehibrid>;
using LehibridOptions = PresetOptions<Preset::lehibrid>;
using LehiGn = PresetOptimizer<Preset::lehi_gn>;
using LehiGnOptions = PresetOptions<Preset::lehi_gn>;
using AdamSimplified = PresetOptimizer<Preset::adam_simplified>;
using AdamSimplifiedOptions = PresetOptions<Preset::adam_simplified>;
using Adam = PresetOptimizer<Preset::adam>;
using AdamOptions = PresetOptions<Preset::adam>;
using AdamW = PresetOptimizer<Preset::adamw>;
using AdamWOptions = PresetOptions<Preset::adamw>;
using Amsgrad = PresetOptimizer<Preset::amsgrad>;
using AmsgradOptions = PresetOptions<Preset::amsgrad>;
using Nadam = PresetOptimizer<Preset::nadam>;
using NadamOptions = PresetOptions<Preset::nadam>;
using Radam = PresetOptimizer<Preset::radam>;
using RadamOptions = PresetOptions<Preset::radam>;
using Adagrad = PresetOptimizer<Preset::adagrad>;
using AdagradOptions = PresetOptions<Preset::adagrad>;
using Rmsprop = PresetOptimizer<Preset::rmsprop>;
using RmspropOptions = PresetOptions<Preset::rmsprop>;
using Sgd = PresetOptimizer<Preset::sgd>;
using SgdOptions = PresetOptions<Preset::sgd>;
using SophiaG = PresetOptimizer<Preset::sophia_g>;
using SophiaGOptions = PresetOptions<Preset::sophia_g>;
using Lion = PresetOptimizer<Preset::lion>;
using LionOptions = PresetOptions<Preset::lion>;
using Muon = PresetOptimizer<Preset::muon>;
using MuonOptions = PresetOptions<Preset::muon>;
using Soap = PresetOptimizer<Preset::soap>;
using SoapOptions = PresetOptions<Preset::soap>;
using LehiKron = PresetOptimizer<Preset::lehi_kron>;
using LehiKronOptions = PresetOptions<Preset::lehi_kron>;

}  // namespace lehi
