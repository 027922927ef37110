"""200 steps of every preset equal to the C++ library's: reference.json was printed by reference/make_reference.cpp."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lehi
import pytest
import torch
import torch.nn.functional as F
from models import PATHS
from torch import Tensor

RUNS = json.loads((Path(__file__).parent / "reference" / "reference.json").read_text())

# What make_reference.cpp changes in a preset.
CHANGES: dict[str, tuple[str, dict[str, Any]]] = {
    "lehi-gn sparse": ("lehi-gn", {"every": 7, "dense": 20}),
    "lehi-gn sum": ("lehi-gn", {"every": 8, "dense": 0, "doubling": True, "mix": "sum"}),
    "lehi amortised": ("lehi", {"every": 5, "dense": 10}),
    "lehi diagonal": ("lehi", {"probe": "diagonal"}),
    "sgd nesterov": ("sgd", {"momentum": 0.9, "nesterov": True}),
    "sgd dampening": ("sgd", {"momentum": 0.9, "dampening": 0.5}),
    "rmsprop momentum": ("rmsprop", {"momentum": 0.9}),
    "muon one diagonal": ("muon", {"diagonal_names": ["2"]}),
    "soap smaller": ("soap", {"sides": "smaller"}),
    "lehi-kron probe": (
        "lehi-kron",
        {"probe": "gauss-newton", "every": 4, "dense": 10, "doubling": False, "mix": "max", "factors": "probe"},
    ),
    "lehi-kron both": ("lehi-kron", {"probe": "gauss-newton", "factors": "both"}),
}

LOSSES: dict[str, lehi.Loss] = {
    "mlp cross-entropy": lehi.CrossEntropyLoss(),
    "mlp bce": lehi.BCEWithLogitsLoss(),
    "mlp mse": lehi.MSELoss(),
    "square mse": lehi.MSELoss(),
    "gpt": lehi.CrossEntropyLoss(),
}


def waves(sizes: list[int], phase: float, size: float) -> Tensor:
    index = torch.arange(math.prod(sizes), dtype=torch.float64)
    return (size * torch.sin(1.3 * index + phase)).view(sizes)


def make_weights(shapes: dict[str, list[int]], dtype: torch.dtype) -> dict[str, Tensor]:
    return {
        name: waves(shape, float(i), 0.4).to(dtype).requires_grad_() for i, (name, shape) in enumerate(shapes.items())
    }


def mlp_batch(w: dict[str, Tensor], kind: str, step: int) -> tuple[Tensor, Tensor]:
    dtype = w["0.weight"].dtype
    x = waves([16, 4], 0.1 * step, 1.0).to(dtype)
    y = waves([16, len(w["2.bias"])], 2.0 + 0.1 * step, 1.0).to(dtype)
    p = F.linear(torch.tanh(F.linear(x, w["0.weight"], w["0.bias"])), w["2.weight"], w["2.bias"])
    return p, y.argmax(-1) if kind == "cross-entropy" else (y > 0).to(dtype) if kind == "bce" else y


def gpt_batch(w: dict[str, Tensor], step: int) -> tuple[Tensor, Tensor]:
    tokens = (torch.arange(28) * 5 + step * 3).remainder(11).view(4, 7)
    mask = torch.ones(6, 6, dtype=torch.bool).triu(1)
    h = w["wte"][tokens[:, :6]] + w["wpe"]
    heads = F.linear(F.layer_norm(h, [8]), w["qkv"]).view(4, 6, 3, 2, 4)
    q, k, v = (heads.select(2, i).transpose(1, 2) for i in range(3))
    attention = torch.softmax((q @ k.mT / 2.0).masked_fill(mask, -1e9), -1)
    h = h + F.linear((attention @ v).transpose(1, 2).reshape(4, 6, 8), w["out"])
    h = h + F.linear(F.gelu(F.linear(F.layer_norm(h, [8]), w["up"])), w["down"])
    return F.linear(F.layer_norm(h, [8]), w["wte"]), tokens[:, 1:]


MLP = {"0.weight": [6, 4], "0.bias": [6], "2.weight": [3, 6], "2.bias": [3]}
SQUARE = {"0.weight": [4, 4], "0.bias": [4], "2.weight": [4, 4], "2.bias": [4]}
GPT = {"wte": [11, 8], "wpe": [6, 8], "qkv": [24, 8], "out": [8, 8], "up": [16, 8], "down": [8, 16]}


def shapes_of(run: dict[str, Any]) -> dict[str, list[int]]:
    return {"gpt": GPT, "square mse": SQUARE}.get(run["model"], MLP)


def setup(run: dict[str, Any], dtype: torch.dtype) -> tuple[dict[str, Tensor], lehi.Optimizer, Callable[[int], Any]]:
    weights = make_weights(shapes_of(run), dtype)
    preset, changes = CHANGES.get(run["case"], (run["case"], {}))
    # Lion and the rest read no eps, so settings differ; the decay is the same in all.
    optimizer = lehi.Optimizer(list(weights.items()), preset, weight_decay=0.05, **changes)
    if run["model"] == "gpt":  # at larger rates, and where eps is below rounding, the last bit grows a billion times
        optimizer.param_groups[0]["lr"] *= 0.1
        if "eps" in optimizer.param_groups[0]:
            optimizer.param_groups[0]["eps"] = 1e-6

    def batch(step: int) -> tuple[Tensor, Tensor]:
        if run["model"] == "gpt":
            return gpt_batch(weights, step)
        return mlp_batch(weights, run["model"].rpartition(" ")[2], step)

    return weights, optimizer, batch


def close(run: dict[str, Any], weights: dict[str, Tensor], losses: list[float], tolerance: float) -> None:
    torch.testing.assert_close(
        torch.tensor(losses, dtype=torch.float64),
        torch.tensor(run["losses"], dtype=torch.float64),
        rtol=tolerance,
        atol=tolerance,
    )
    for name, weight in weights.items():
        flat = weight.detach().to(torch.float64).reshape(-1)
        if run["model"] == "gpt":
            flat = (flat * torch.cos(torch.arange(flat.numel(), dtype=torch.float64))).sum().view(1)
        expected = torch.tensor(run["weights"][name], dtype=torch.float64)
        torch.testing.assert_close(flat, expected, rtol=tolerance, atol=tolerance)


def test_every_preset_is_there() -> None:
    assert set(lehi.preset_names()) == {run["case"] for run in RUNS} - set(CHANGES)


# All on the path that users have; the larger model and the matrices on the plain one, too.
PATH_RUNS = [(p, run) for p in PATHS for run in RUNS if p == PATHS[-1] or not run["model"].startswith("mlp")]


def name_of(value: Any) -> str:
    return value if isinstance(value, str) else f"{value['case']}-{value['model']}"


@pytest.mark.parametrize(("path", "run"), PATH_RUNS, ids=name_of, indirect=["path"])
def test_float64_equals_the_library(path: str, run: dict[str, Any]) -> None:
    weights, optimizer, batch = setup(run, torch.float64)
    losses = []
    for step in range(1, 201):
        predictions, target = batch(step)
        loss = LOSSES[run["model"]](predictions, target, optimizer=optimizer)
        if step % 20 == 1:
            losses.append(loss.item())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    close(run, weights, losses, 1e-10)


# The sign of a momentum near 0 depends on the last bit: lion in float32 leaves its float64 path.
FLOAT32 = [(PATHS[-1], run) for run in RUNS if run["model"] == "mlp cross-entropy" and run["case"] != "lion"]


@pytest.mark.parametrize(("path", "run"), FLOAT32, ids=name_of, indirect=["path"])
def test_float32_equals_the_library_to_rounding(path: str, run: dict[str, Any]) -> None:
    weights, optimizer, batch = setup(run, torch.float32)
    losses = []
    for step in range(1, 201):
        predictions, target = batch(step)
        loss = optimizer.step(predictions, LOSSES[run["model"]], target)
        if step % 20 == 1:
            losses.append(float(loss))
    close(run, weights, losses, 1e-3)


SAVED = [run for run in RUNS if run["state at 30"]]


@pytest.mark.parametrize("run", SAVED, ids=[run["case"] for run in SAVED])
def test_state_of_the_library_continues_in_python(run: dict[str, Any]) -> None:
    weights, optimizer, batch = setup(run, torch.float64)
    saved, shapes = run["state at 30"], shapes_of(run)
    state = {}
    for name, numbers in saved.items():
        if name.startswith("w."):
            weights[name[2:]].data.copy_(torch.tensor(numbers, dtype=torch.float64).view(shapes[name[2:]]))
        elif name == "optimizer.recipe":
            state[name] = torch.tensor([int(x) for x in numbers], dtype=torch.uint8)
        elif name.rpartition(".")[2] in ("m", "v", "v_max"):
            state[name] = torch.tensor(numbers, dtype=torch.float64).view(shapes[name.rpartition(".")[0]])
        elif name.rpartition(".")[2] in ("left", "right", "left_basis", "right_basis"):
            state[name] = torch.tensor(numbers, dtype=torch.float64).view(1, 4, 4)
        elif name.endswith("momentum_product"):
            state[name] = torch.tensor(numbers[0], dtype=torch.float64)
        else:
            state[name] = torch.tensor(int(numbers[0]))
    optimizer.load_named_state(state)
    back = optimizer.named_state()
    assert back.keys() == state.keys()
    for name, tensor in state.items():
        assert torch.equal(back[name], tensor), name
    losses = list(run["losses"][:2])
    for step in range(31, 201):
        predictions, target = batch(step)
        loss = optimizer.step(predictions, LOSSES[run["model"]], target)
        if step % 20 == 1:
            losses.append(float(loss))
    close(run, weights, losses, 1e-10)
