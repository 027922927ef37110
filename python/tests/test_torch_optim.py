"""The presets that torch.optim has follow it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lehi
import pytest
import torch
from models import PATHS, make_batch, make_mlp, weights_of

Make = Callable[[Any], torch.optim.Optimizer]

PAIRS: dict[str, tuple[Make, Make]] = {
    "adam": (lambda p: lehi.Adam(p, 3e-3), lambda p: torch.optim.Adam(p, 3e-3)),
    "adam with decay": (
        lambda p: lehi.Adam(p, 3e-3, (0.8, 0.95), 1e-6, 0.1),
        lambda p: torch.optim.Adam(p, 3e-3, (0.8, 0.95), 1e-6, 0.1),
    ),
    "adamw": (lambda p: lehi.AdamW(p), lambda p: torch.optim.AdamW(p)),
    "amsgrad": (
        lambda p: lehi.AMSGrad(p, weight_decay=0.1),
        lambda p: torch.optim.Adam(p, amsgrad=True, weight_decay=0.1),
    ),
    "nadam": (lambda p: lehi.NAdam(p, weight_decay=0.1), lambda p: torch.optim.NAdam(p, weight_decay=0.1)),
    "radam": (lambda p: lehi.RAdam(p, weight_decay=0.1), lambda p: torch.optim.RAdam(p, weight_decay=0.1)),
    "adagrad": (lambda p: lehi.Adagrad(p, weight_decay=0.1), lambda p: torch.optim.Adagrad(p, weight_decay=0.1)),
    "rmsprop": (lambda p: lehi.RMSprop(p), lambda p: torch.optim.RMSprop(p)),
    "rmsprop with momentum": (
        lambda p: lehi.RMSprop(p, 1e-3, 0.9, 1e-6, 0.1, 0.5),
        lambda p: torch.optim.RMSprop(p, 1e-3, 0.9, 1e-6, 0.1, 0.5),
    ),
    "sgd": (lambda p: lehi.SGD(p), lambda p: torch.optim.SGD(p, 1e-2)),
    "sgd with momentum": (
        lambda p: lehi.SGD(p, 1e-2, 0.9, 0.3, 0.1),
        lambda p: torch.optim.SGD(p, 1e-2, 0.9, 0.3, 0.1),
    ),
    "sgd with nesterov": (
        lambda p: lehi.SGD(p, 1e-2, 0.9, nesterov=True),
        lambda p: torch.optim.SGD(p, 1e-2, 0.9, nesterov=True),
    ),
}


CASES = [(p, d) for p in PATHS for d in (torch.float64, torch.float32) if d == torch.float64 or p == PATHS[-1]]


@pytest.mark.parametrize(("path", "dtype"), CASES, ids=str, indirect=["path"])
@pytest.mark.parametrize("name", PAIRS)
def test_follows_torch_for_200_steps(path: str, name: str, dtype: torch.dtype) -> None:
    models = [make_mlp(dtype), make_mlp(dtype)]
    optimizers = [make(model.parameters()) for make, model in zip(PAIRS[name], models, strict=True)]
    for step in range(200):
        x, y = make_batch(step, dtype=dtype)
        for model, optimizer in zip(models, optimizers, strict=True):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
    tolerance = 1e-11 if dtype == torch.float64 else 2e-4
    if name == "nadam" and dtype == torch.float64:
        tolerance = 1e-8  # torch keeps the product of NAdam's momenta in float32
    torch.testing.assert_close(weights_of(models[0]), weights_of(models[1]), rtol=tolerance, atol=tolerance)
    assert (weights_of(models[0]) - weights_of(make_mlp(dtype))).abs().max() > 0.01


def test_closure_is_called_with_gradients_and_its_value_returned() -> None:
    model = make_mlp()
    optimizer = lehi.AdamW(model.parameters())
    x, y = make_batch(0)

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        return loss

    before = weights_of(model)
    with torch.no_grad():
        value = optimizer.step(closure)
    assert value.item() == pytest.approx(torch.nn.functional.cross_entropy(make_mlp()(x), y).item())
    assert not torch.equal(before, weights_of(model))


@pytest.mark.parametrize(
    "make",
    [
        lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, 20),
        lambda o: torch.optim.lr_scheduler.OneCycleLR(o, 1e-2, total_steps=50),
        lambda o: torch.optim.lr_scheduler.LambdaLR(o, lambda k: 0.9**k),
        lambda o: torch.optim.lr_scheduler.SequentialLR(
            o,
            [torch.optim.lr_scheduler.LinearLR(o), torch.optim.lr_scheduler.ExponentialLR(o, 0.9)],
            [5],
        ),
        lambda o: torch.optim.lr_scheduler.CyclicLR(o, 1e-4, 1e-2, 5, cycle_momentum=True),
        lambda o: torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(o, 7),
    ],
    ids=["cosine", "one-cycle", "lambda", "sequential", "cyclic", "restarts"],
)
@pytest.mark.parametrize("as_tensor", [False, True], ids=["float", "tensor"])
def test_schedulers_act_as_on_torch(path: str, make: Callable[[Any], Any], as_tensor: bool) -> None:
    models = [make_mlp(), make_mlp()]
    rate = torch.tensor(1e-3, dtype=torch.float64) if as_tensor else 1e-3
    optimizers = [lehi.Adam(models[0].parameters(), rate), torch.optim.Adam(models[1].parameters(), 1e-3)]
    schedulers = [make(o) for o in optimizers]
    for step in range(40):
        x, y = make_batch(step)
        for model, optimizer, scheduler in zip(models, optimizers, schedulers, strict=True):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
            scheduler.step()
    assert torch.is_tensor(optimizers[0].param_groups[0]["lr"]) == as_tensor
    torch.testing.assert_close(weights_of(models[0]), weights_of(models[1]), rtol=1e-11, atol=1e-11)


def test_hooks_run() -> None:
    model = make_mlp()
    optimizer = lehi.Adam(model.parameters())
    seen: list[str] = []
    optimizer.register_step_pre_hook(lambda *_: seen.append("before"))
    optimizer.register_step_post_hook(lambda *_: seen.append("after"))
    x, y = make_batch(0)
    torch.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
    assert seen == ["before", "after"]
