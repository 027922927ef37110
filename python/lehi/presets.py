"""The optimizers that have a name: a recipe with default numbers (those of torch.optim where torch has it).

Keywords beside those listed: parts of the recipe (lehi.Recipe), seed and non_finite (lehi.Optimizer).
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from lehi.optimizer import Optimizer, Params

Rate = float | Tensor
Betas = tuple[float | Tensor, float | Tensor]


class Lehi(Optimizer):
    """The paper's LEHI: momentum scaled by the pulled-back auxiliary gradient, at every step."""

    def __init__(
        self,
        params: Params,
        lr: Rate = 3e-3,
        betas: Betas = (0.9, 0.999),
        eps: float = 1e-2,
        weight_decay: float = 0.0,
        **settings: Any,
    ) -> None:
        super().__init__(params, "lehi", lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, **settings)


class Lehibrid(Optimizer):
    """LEHI alternating with the squared gradient."""

    def __init__(
        self,
        params: Params,
        lr: Rate = 3e-3,
        betas: Betas = (0.9, 0.999),
        eps: float = 1e-2,
        weight_decay: float = 0.0,
        **settings: Any,
    ) -> None:
        super().__init__(params, "lehibrid", lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, **settings)


class LehiGn(Optimizer):
    """Adam with a Gauss-Newton probe, at each of the first `dense` steps and then at every `every`-th; keeps Adam's rate
    and eps."""

    def __init__(
        self,
        params: Params,
        lr: Rate = 1e-3,
        betas: Betas = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        *,
        every: int = 10,
        dense: int = 200,
        **settings: Any,
    ) -> None:
        super().__init__(
            params,
            "lehi-gn",
            lr=lr,
            betas=betas,
            eps=eps,
            weight_decay=weight_decay,
            every=every,
            dense=dense,
            **settings,
        )


class SophiaG(Optimizer):
    """Sophia-G: clipped steps, curvature from sampled labels (Liu et al. 2024)."""

    def __init__(
        self,
        params: Params,
        lr: Rate = 1e-3,
        betas: Betas = (0.965, 0.99),
        rho: float = 0.05,
        eps: float = 1e-12,
        weight_decay: float = 0.2,
        *,
        every: int = 10,
        **settings: Any,
    ) -> None:
        super().__init__(
            params, "sophia-g", lr=lr, betas=betas, rho=rho, eps=eps, weight_decay=weight_decay, every=every, **settings
        )


class AdamSimplified(Optimizer):
    """The paper's Adam: eps inside the root, one bias correction."""

    def __init__(
        self,
        params: Params,
        lr: Rate = 1e-3,
        betas: Betas = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        **settings: Any,
    ) -> None:
        super().__init__(params, "adam-simplified", lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, **settings)


class Adam(Optimizer):
    """Adam (Kingma and Ba 2015), with coupled weight decay as in torch."""

    def __init__(
        self,
        params: Params,
        lr: Rate = 1e-3,
        betas: Betas = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        **settings: Any,
    ) -> None:
        super().__init__(params, "adam", lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, **settings)


class AdamW(Optimizer):
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019)."""

    def __init__(
        self,
        params: Params,
        lr: Rate = 1e-3,
        betas: Betas = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        **settings: Any,
    ) -> None:
        super().__init__(params, "adamw", lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, **settings)


class AMSGrad(Optimizer):
    """Adam with the largest second moment so far (Reddi et al. 2018)."""

    def __init__(
        self,
        params: Params,
        lr: Rate = 1e-3,
        betas: Betas = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        **settings: Any,
    ) -> None:
        super().__init__(params, "amsgrad", lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, **settings)


class NAdam(Optimizer):
    """Adam with Nesterov momentum (Dozat 2016)."""

    def __init__(
        self,
        params: Params,
        lr: Rate = 2e-3,
        betas: Betas = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum_decay: float = 4e-3,
        **settings: Any,
    ) -> None:
        super().__init__(
            params,
            "nadam",
            lr=lr,
            betas=betas,
            eps=eps,
            weight_decay=weight_decay,
            momentum_decay=momentum_decay,
            **settings,
        )


class RAdam(Optimizer):
    """Rectified Adam (Liu et al. 2020)."""

    def __init__(
        self,
        params: Params,
        lr: Rate = 1e-3,
        betas: Betas = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        **settings: Any,
    ) -> None:
        super().__init__(params, "radam", lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, **settings)


class Adagrad(Optimizer):
    """Adagrad (Duchi et al. 2011)."""

    def __init__(
        self,
        params: Params,
        lr: Rate = 1e-2,
        eps: float = 1e-10,
        weight_decay: float = 0.0,
        **settings: Any,
    ) -> None:
        super().__init__(params, "adagrad", lr=lr, eps=eps, weight_decay=weight_decay, **settings)


class RMSprop(Optimizer):
    """RMSprop (Tieleman and Hinton 2012)."""

    def __init__(
        self,
        params: Params,
        lr: Rate = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        **settings: Any,
    ) -> None:
        super().__init__(
            params, "rmsprop", lr=lr, alpha=alpha, eps=eps, weight_decay=weight_decay, momentum=momentum, **settings
        )


class SGD(Optimizer):
    """Stochastic gradient descent with momentum and Nesterov's variant."""

    def __init__(
        self,
        params: Params,
        lr: Rate = 1e-2,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        **settings: Any,
    ) -> None:
        super().__init__(
            params,
            "sgd",
            lr=lr,
            momentum=momentum,
            dampening=dampening,
            weight_decay=weight_decay,
            nesterov=nesterov,
            **settings,
        )


class Lion(Optimizer):
    """The sign of a momentum (Chen et al. 2023)."""

    def __init__(
        self,
        params: Params,
        lr: Rate = 1e-4,
        betas: Betas = (0.9, 0.99),
        weight_decay: float = 0.0,
        **settings: Any,
    ) -> None:
        super().__init__(params, "lion", lr=lr, betas=betas, weight_decay=weight_decay, **settings)


class Muon(Optimizer):
    """Orthogonal momentum for matrices, AdamW for the rest (Jordan et al. 2024; scaled as by Liu et al. 2025)."""

    def __init__(
        self,
        params: Params,
        lr: Rate = 1e-3,
        momentum: float = 0.95,
        nesterov: bool = True,
        weight_decay: float = 0.1,
        betas: Betas = (0.9, 0.95),
        eps: float = 1e-8,
        **settings: Any,
    ) -> None:
        super().__init__(
            params,
            "muon",
            lr=lr,
            momentum=momentum,
            nesterov=nesterov,
            weight_decay=weight_decay,
            betas=betas,
            eps=eps,
            **settings,
        )


class Soap(Optimizer):
    """Adam in the eigenbases of Shampoo's factors (Vyas et al. 2025)."""

    def __init__(
        self,
        params: Params,
        lr: Rate = 3e-3,
        betas: Betas = (0.95, 0.95),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        beta3: float = 0.95,
        *,
        basis_every: int = 10,
        **settings: Any,
    ) -> None:
        super().__init__(
            params,
            "soap",
            lr=lr,
            betas=betas,
            eps=eps,
            weight_decay=weight_decay,
            beta3=beta3,
            basis_every=basis_every,
            **settings,
        )


class LehiKron(Optimizer):
    """Adam in the eigenbases of Kronecker factors, in square blocks and renewed often."""

    def __init__(
        self,
        params: Params,
        lr: Rate = 3e-3,
        betas: Betas = (0.9, 0.99),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        beta3: float = 0.95,
        *,
        basis_every: int = 3,
        **settings: Any,
    ) -> None:
        super().__init__(
            params,
            "lehi-kron",
            lr=lr,
            betas=betas,
            eps=eps,
            weight_decay=weight_decay,
            beta3=beta3,
            basis_every=basis_every,
            **settings,
        )
