"""Models and batches that the tests share."""

from __future__ import annotations

import torch
from lehi import _operators
from torch import Tensor, nn

PATHS = ["plain", "operators"] if _operators.available else ["plain"]


def make_mlp(dtype: torch.dtype = torch.float64, outputs: int = 3, seed: int = 0) -> nn.Sequential:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, outputs)).to(dtype)


def make_batch(step: int, rows: int = 12, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(step)
    x = torch.randn(rows, 4, generator=generator, dtype=torch.float64).to(dtype)
    return x, torch.randint(0, 3, (rows,), generator=generator)


def weights_of(model: nn.Module) -> Tensor:
    return torch.cat([p.detach().reshape(-1) for p in model.parameters()])
