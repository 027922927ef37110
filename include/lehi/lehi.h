// lehi: curvature-aware optimizers for LibTorch. Include this, or only what you need. Not included: lehi/bound.h, the
// published convergence bound.
#pragma once

#include "lehi/automatic.h"             // any loss function, differentiated for you
#include "lehi/cross_entropy.h"         // softmax cross-entropy
#include "lehi/curvature.h"             // exact Gauss-Newton diagonals of small networks
#include "lehi/error.h"                 // NonFiniteError
#include "lehi/linear_cross_entropy.h"  // the same with the last linear layer, in chunks
#include "lehi/losses.h"                // mse, bce, huber, log-cosh, poisson, squared hinge, focal
#include "lehi/presets.h"               // Lehi, Lehibrid, LehiGn, Adam, AdamW, SophiaG, ...
#include "lehi/runtime.h"               // threads and BLAS kernel
#include "lehi/version.h"
