"""Two spirals: AdamW and LehiGn from the same start, and a figure of both (needs matplotlib; without it, numbers only).

    python examples/python/spiral.py [spiral.svg]

Expected: both near 95 % accuracy.
"""

from __future__ import annotations

import math
import sys

import lehi
import torch
from torch import Tensor, nn


def spirals(points: int) -> tuple[Tensor, Tensor]:
    angle = 1.5 + 2.5 * math.pi * torch.rand(points).sqrt()
    arm = torch.randint(0, 2, (points,))
    turned = angle + math.pi * arm
    x = torch.stack([angle * turned.cos(), angle * turned.sin()], 1) / 5
    return x + 0.05 * torch.randn_like(x), arm.to(torch.float32)


def make_model() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1), nn.Flatten(0))


def train(name: str, x: Tensor, y: Tensor, steps: int = 600) -> tuple[nn.Sequential, list[float]]:
    model = make_model()
    optimizer = lehi.Optimizer(model.parameters(), name, lr=3e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    losses = []
    generator = torch.Generator().manual_seed(0)
    for _ in range(steps):
        rows = torch.randint(0, len(x), (128,), generator=generator)
        loss = lehi.binary_cross_entropy_with_logits(model(x[rows]), y[rows], optimizer=optimizer)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
    return model, losses


def accuracy(model: nn.Module, x: Tensor, y: Tensor) -> float:
    with torch.no_grad():
        return ((model(x) > 0) == (y > 0.5)).to(torch.float32).mean().item()


def draw(file: str, runs: dict[str, list[float]], model: nn.Module, x: Tensor, y: Tensor) -> None:
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4))
    for name, losses in runs.items():
        smooth = torch.tensor(losses).unfold(0, 20, 1).mean(1)
        left.plot(smooth, label=name)
    left.set(xlabel="step", ylabel="training loss, mean of 20 steps", yscale="log")
    left.legend()
    side = torch.linspace(-2.2, 2.2, 200)
    grid = torch.cartesian_prod(side, side)
    with torch.no_grad():
        height = model(grid).view(200, 200).T.sigmoid()
    right.contourf(side, side, height, 20, cmap="PRGn", alpha=0.6)
    right.scatter(x[:, 0], x[:, 1], c=y, s=4, cmap="PRGn", edgecolors="none")
    right.set(title="lehi-gn", aspect="equal")
    figure.tight_layout()
    figure.savefig(file)
    print(f"wrote {file}")


def main() -> None:
    torch.manual_seed(1)
    x, y = spirals(1000)
    test_x, test_y = spirals(1000)
    runs: dict[str, list[float]] = {}
    for name in ("adamw", "lehi-gn"):
        model, runs[name] = train(name, x, y)
        last = sum(runs[name][-50:]) / 50
        print(f"{name:8} loss {last:.4f}, test accuracy {100 * accuracy(model, test_x, test_y):.1f} %")
    if len(sys.argv) > 1:
        draw(sys.argv[1], runs, model, x, y)


if __name__ == "__main__":
    main()
