#!/usr/bin/python3
"""Reference trajectories of the optimizers that torch has in Python only: NAdam, RAdam and AMSGrad.

Writes tests/data/optimizer_references.json: the data of three small problems, which the C++ tests read, and the weights
of each run after some of its 200 steps, in float64 with 17 digits. Needs Debian 12's python3-torch (1.13):

    /usr/bin/python3 scripts/reference/optimizers.py

Data and starting points are multiples of 1/64, so that float32 and float64 runs start with the same numbers.

NAdam runs with foreach=True. In torch 1.13 the default loop multiplies the product of momenta by the current momentum
twice (mu_product * mu * mu_next), unlike torch's documentation, Dozat's paper, torch's foreach loop and later versions of
torch.
"""

import json
import math
import pathlib
import random

import torch

STEPS = 200
CHECKPOINTS = [1, 2, 3, 5, 10, 20, 50, 100, 150, 200]


def numbers(generator, size, scale):
    """Nested lists of normal numbers, rounded to multiples of 1/64."""
    if not size:
        return round(generator.gauss(0.0, scale) * 64) / 64
    return [numbers(generator, size[1:], scale) for _ in range(size[0])]


def make_problems():
    generator = random.Random(2024)
    least_squares = {
        "matrix": numbers(generator, [6, 4], 1.0),
        "targets": numbers(generator, [6], 1.0),
        "start": [numbers(generator, [4], 1.0)],
    }
    inputs = numbers(generator, [24, 4], 1.0)
    slope = numbers(generator, [4], 1.5)
    noise = numbers(generator, [24], 1.0)
    scores = [sum(a * b for a, b in zip(row, slope)) + e for row, e in zip(inputs, noise)]
    logistic = {
        "inputs": inputs,
        "targets": [1.0 if score > 0 else 0.0 for score in scores],
        "start": [numbers(generator, [4], 0.5), numbers(generator, [1], 0.5)],
    }
    network = {
        "batches": [
            {"inputs": numbers(generator, [12, 5], 1.0), "targets": [generator.randrange(3) for _ in range(12)]}
            for _ in range(4)
        ],
        "start": [
            numbers(generator, [8, 5], 0.5),
            numbers(generator, [8], 0.25),
            numbers(generator, [3, 8], 0.5),
            numbers(generator, [3], 0.25),
        ],
    }
    return {"least_squares": least_squares, "logistic": logistic, "network": network}


def loss_of(name, data, weights, step):
    """The mean loss at step 0, 1, ..., as in the C++ tests."""
    tensor = lambda values: torch.tensor(values, dtype=weights[0].dtype)
    if name == "least_squares":  # one row of six residuals
        residuals = tensor(data["matrix"]) @ weights[0] - tensor(data["targets"])
        return 0.5 * residuals.square().sum()
    if name == "logistic":
        logits = tensor(data["inputs"]) @ weights[0] + weights[1]
        return torch.nn.functional.binary_cross_entropy_with_logits(logits, tensor(data["targets"]))
    batch = data["batches"][step % len(data["batches"])]
    hidden = torch.tanh(tensor(batch["inputs"]) @ weights[0].T + weights[1])
    return torch.nn.functional.cross_entropy(hidden @ weights[2].T + weights[3], torch.tensor(batch["targets"]))


def nadam(weights, **options):
    return torch.optim.NAdam(weights, foreach=True, **options)


def amsgrad(weights, **options):
    return torch.optim.Adam(weights, amsgrad=True, **options)


RUNS = [
    ("nadam", nadam, {"lr": 0.01}),
    ("nadam", nadam, {"lr": 0.005, "betas": (0.8, 0.98), "eps": 1e-3, "momentum_decay": 0.02}),
    ("radam", torch.optim.RAdam, {"lr": 0.01}),
    ("radam", torch.optim.RAdam, {"lr": 0.005, "betas": (0.8, 0.98), "eps": 1e-3}),
    ("amsgrad", amsgrad, {"lr": 0.01}),
    ("amsgrad", amsgrad, {"lr": 0.005, "betas": (0.8, 0.9), "eps": 1e-3}),
]


def trajectory(name, data, make_optimizer, options, dtype=torch.float64):
    weights = [torch.tensor(w, dtype=dtype, requires_grad=True) for w in data["start"]]
    optimizer = make_optimizer(weights, **options)
    path = {}
    for step in range(1, STEPS + 1):
        optimizer.zero_grad()
        loss_of(name, data, weights, step - 1).backward()
        optimizer.step()
        if step in CHECKPOINTS:
            path[str(step)] = torch.cat([w.detach().reshape(-1) for w in weights]).tolist()
    assert all(math.isfinite(x) for values in path.values() for x in values)
    return path


def main():
    torch.set_default_dtype(torch.float64)  # NAdam stores its product of momenta in the default dtype
    problems = make_problems()
    runs = []
    for optimizer, make, options in RUNS:
        for name, data in problems.items():
            runs.append({"optimizer": optimizer, "problem": name, "options": options,
                         "weights": trajectory(name, data, make, options)})
    record = {"torch": torch.__version__, "steps": STEPS, "problems": problems, "runs": runs}
    target = pathlib.Path(__file__).resolve().parents[2] / "tests" / "data" / "optimizer_references.json"
    # Python prints the shortest decimal that parses to the same float64: at most 17 digits.
    lists = json.dumps(record, separators=(",", ":")).replace('{"optimizer"', '\n{"optimizer"')
    target.write_text(lists + "\n")


if __name__ == "__main__":
    main()
