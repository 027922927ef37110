"""Optimizers for neural networks that use the curvature of the loss.

    optimizer = lehi.LehiGn(model.parameters(), lr=1e-3)
    loss = lehi.cross_entropy(model(x), y, optimizer=optimizer)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()

docs/python.md is the guide; `python -m lehi` says what this installation has.
"""

from lehi._recipe import Recipe, preset_names
from lehi.automatic import AutoLoss, auto
from lehi.functional import (
    binary_cross_entropy_with_logits,
    cross_entropy,
    focal_loss,
    huber_loss,
    linear_cross_entropy,
    log_cosh_loss,
    mse_loss,
    poisson_nll_loss,
    squared_hinge_loss,
)
from lehi.losses import (
    BCEWithLogitsLoss,
    CrossEntropyLoss,
    Evaluation,
    FocalLoss,
    HuberLoss,
    LinearCrossEntropyLoss,
    LogCoshLoss,
    Loss,
    MSELoss,
    PoissonNLLLoss,
    Request,
    SquaredHingeLoss,
    probe_loss,
)
from lehi.optimizer import NonFiniteError, Optimizer, StepReport
from lehi.presets import (
    SGD,
    Adagrad,
    Adam,
    AdamSimplified,
    AdamW,
    AMSGrad,
    Lehi,
    Lehibrid,
    LehiGn,
    LehiKron,
    Lion,
    Muon,
    NAdam,
    RAdam,
    RMSprop,
    Soap,
    SophiaG,
)

__all__ = [
    "SGD",
    "AMSGrad",
    "Adagrad",
    "Adam",
    "AdamSimplified",
    "AdamW",
    "AutoLoss",
    "BCEWithLogitsLoss",
    "CrossEntropyLoss",
    "Evaluation",
    "FocalLoss",
    "HuberLoss",
    "Lehi",
    "LehiGn",
    "LehiKron",
    "Lehibrid",
    "LinearCrossEntropyLoss",
    "Lion",
    "LogCoshLoss",
    "Loss",
    "MSELoss",
    "Muon",
    "NAdam",
    "NonFiniteError",
    "Optimizer",
    "PoissonNLLLoss",
    "RAdam",
    "RMSprop",
    "Recipe",
    "Request",
    "Soap",
    "SophiaG",
    "SquaredHingeLoss",
    "StepReport",
    "auto",
    "binary_cross_entropy_with_logits",
    "cross_entropy",
    "focal_loss",
    "huber_loss",
    "linear_cross_entropy",
    "log_cosh_loss",
    "mse_loss",
    "poisson_nll_loss",
    "preset_names",
    "probe_loss",
    "squared_hinge_loss",
]
