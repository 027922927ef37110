#!/usr/bin/env python3
"""LEHI on MNIST's MLP in plain PyTorch. bench/throughput compares `lehi train mnist --optimizer lehi` with it.

A direct implementation of the paper: nn.Sequential, F.cross_entropy, autodiff of the auxiliary loss
z = sum arcsin(2 softmax - 1), and Algorithm 2 tensor by tensor. The images are in memory before the clock starts, and
each batch is gathered from them by index, as in `lehi train`.

    mnist_lehi.py [--steps N] [--data DIR]      prints one line of JSON: steps, seconds, cpu_seconds,
                                                 seconds_per_step, loss

Without --data the images are random numbers of MNIST's shape; with it they come from the IDX files in DIR.
"""
import argparse
import gzip
import json
import math
import pathlib
import time

import torch
import torch.nn.functional as F
from torch import nn

BATCH = 128
LR, BETA1, BETA2, EPS = 3e-3, 0.9, 0.999, 1e-2


def idx(directory, name):
    """The bytes of an IDX file after its header, plain or gzipped."""
    for path in (directory / name, directory / (name + ".gz")):
        if path.exists():
            data = path.read_bytes()
            data = gzip.decompress(data) if path.suffix == ".gz" else data
            return torch.frombuffer(bytearray(data[4 + 4 * data[3] :]), dtype=torch.uint8)
    raise SystemExit(f"{directory} has no {name}; expected MNIST's IDX files, plain or gzipped")


def load(directory):
    if directory is None:
        return torch.randn(60000, 784), torch.randint(0, 10, (60000,))
    images = idx(directory, "train-images-idx3-ubyte").reshape(-1, 784)
    labels = idx(directory, "train-labels-idx1-ubyte").long()
    return (images.float() / 255 - 0.1307) / 0.3081, labels


def auxiliary(logits):
    """z, scaled by 1/sqrt(N); clamped where arcsin has no derivative."""
    x = (2 * torch.softmax(logits, dim=1) - 1).clamp(-1 + 1e-6, 1 - 1e-6)
    return torch.arcsin(x).sum() / math.sqrt(len(logits))


def main():
    parser = argparse.ArgumentParser(description="Time LEHI on MNIST's MLP in plain PyTorch.")
    parser.add_argument("--steps", type=int, default=2000, help="timed steps (default: 2000)")
    parser.add_argument("--warmup", type=int, default=50, help="steps before the clock starts (default: 50)")
    parser.add_argument("--data", type=pathlib.Path, help="directory with MNIST's IDX files (default: random images)")
    arguments = parser.parse_args()

    torch.set_num_threads(1)
    torch.manual_seed(0)
    images, labels = load(arguments.data)
    model = nn.Sequential(nn.Linear(784, 50), nn.ReLU(), nn.Linear(50, 10))
    parameters = list(model.parameters())
    m = [torch.zeros_like(w) for w in parameters]
    v = [torch.zeros_like(w) for w in parameters]

    order = torch.randperm(len(images))
    batches = len(images) // BATCH
    for k in range(1, arguments.warmup + arguments.steps + 1):
        if k == arguments.warmup + 1:
            start, cpu_start = time.perf_counter(), time.process_time()
        place = (k - 1) % batches
        if place == 0:
            order = torch.randperm(len(images))
        rows = order[place * BATCH : (place + 1) * BATCH]
        x, y = images[rows], labels[rows]

        logits = model(x)
        loss = F.cross_entropy(logits, y)
        g = torch.autograd.grad(loss, parameters, retain_graph=True)
        s = torch.autograd.grad(auxiliary(logits), parameters)
        rate = LR * (1 - BETA1) * math.sqrt(1 - BETA2**k) / math.sqrt(1 - BETA2)
        with torch.no_grad():
            for i, w in enumerate(parameters):
                m[i].mul_(BETA1).add_(g[i])
                v[i].mul_(BETA2).addcmul_(s[i], s[i])
                w.addcdiv_(m[i], (v[i] + EPS).sqrt(), value=-rate)
        value = loss.item()
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
    print(
        json.dumps(
            {
                "steps": arguments.steps,
                "seconds": seconds,
                "cpu_seconds": cpu_seconds,
                "seconds_per_step": seconds / arguments.steps,
                "loss": value,
            }
        )
    )


if __name__ == "__main__":
    main()
