"""Random numbers of the probes in torch operations: the same as those of src/lib/kernels/draws.h.

Philox4x32-10 (Salmon et al. 2011). A number depends only on (seed, step, stream, global row, output), so that
micro-batches, threads and ranks draw the same ones. Made on the CPU, whatever the device of the predictions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

Words = tuple[Tensor, Tensor, Tensor, Tensor]

_LOW = 0xFFFFFFFF
_SIGN, _UNIFORM, _NORMAL, _POISSON = 1, 2, 3, 4


def _product(factor: int, x: Tensor) -> tuple[Tensor, Tensor]:
    """High and low words of a 64-bit product; int64 wraps around with the same bits."""
    wrapped = factor if factor < 1 << 63 else factor - (1 << 64)
    product = x * wrapped
    return (product >> 32) & _LOW, product & _LOW


def _philox(counter: Words, key: tuple[int, int]) -> Words:
    a, b, c, d = counter
    k0, k1 = key
    for _ in range(10):
        high0, low0 = _product(0xD2511F53, a)
        high1, low1 = _product(0xCD9E8D57, c)
        a, b, c, d = high1 ^ b ^ k0, low1, high0 ^ d ^ k1, low0
        k0 = (k0 + 0x9E3779B9) & _LOW
        k1 = (k1 + 0xBB67AE85) & _LOW
    return a, b, c, d


def _derived_key(key: Sequence[int]) -> tuple[int, int]:
    seed, step, _, stream = key
    words = [torch.tensor(word) for word in (step & _LOW, (step >> 32) & _LOW, stream & _LOW, 0)]
    made = _philox((words[0], words[1], words[2], words[3]), (seed & _LOW, (seed >> 32) & _LOW))
    return int(made[0]), int(made[1])


def _blocks(purpose: int, rows: Tensor, indices: Tensor, attempt: int, key: Sequence[int]) -> Words:
    """The block of each (row, index); `rows` are those of this evaluation, from 0 on."""
    rows = (rows + key[2]) + torch.zeros_like(indices)
    indices = indices + torch.zeros_like(rows)
    last = torch.full_like(rows, purpose << 24 | attempt)
    return _philox((rows & _LOW, (rows >> 32) & _LOW, indices & _LOW, last), _derived_key(key))


def _unit(high: Tensor, low: Tensor) -> Tensor:
    """53 of 64 bits as a number in [0, 1)."""
    bits = (high << 21) | (low >> 11)
    return bits.to(torch.float64) * 2.0**-53


def signs(rows: int, outputs: int, key: Sequence[int], sample: int = 0) -> Tensor:
    """+1 and -1, [rows, outputs]."""
    groups = torch.arange((outputs + 127) // 128).unsqueeze(0)
    words = torch.stack(_blocks(_SIGN, torch.arange(rows).unsqueeze(1), groups, sample, key), dim=-1)
    bits = (words.unsqueeze(-1) >> torch.arange(32)) & 1
    return (2 * bits - 1).to(torch.float64).reshape(rows, -1)[:, :outputs].contiguous()


def draws(kind: Literal["signs", "uniform", "normal"], rows: int, outputs: int, key: Sequence[int]) -> Tensor:
    """float64 [rows, outputs]; key: seed, step, first row, stream."""
    if kind == "signs":
        return signs(rows, outputs, key)
    purpose = _UNIFORM if kind == "uniform" else _NORMAL
    words = _blocks(purpose, torch.arange(rows).unsqueeze(1), torch.arange(outputs).unsqueeze(0), 0, key)
    first = _unit(words[0], words[1])
    if kind == "uniform":
        return first
    return torch.sqrt(-2.0 * torch.log1p(-first)) * torch.cos(2.0 * math.pi * _unit(words[2], words[3]))


def centred_poisson(rates: Tensor, key: Sequence[int]) -> Tensor:
    """y - rate with y drawn from the Poisson distribution, for rates [rows, outputs]."""
    result = torch.empty_like(rates)
    for row in range(rates.shape[0]):
        for output in range(rates.shape[1]):
            result[row, output] = _centred_poisson(float(rates[row, output]), row, output, key)
    return result


def _two_units(row: int, output: int, attempt: int, key: Sequence[int], purpose: int = _POISSON) -> tuple[float, float]:
    words = _blocks(purpose, torch.tensor(row), torch.tensor(output), attempt, key)
    return float(_unit(words[0], words[1])), float(_unit(words[2], words[3]))


def _centred_poisson(rate: float, row: int, output: int, key: Sequence[int]) -> float:
    """By inversion below rate 10, by Hormann's transformed rejection up to 1e8, as a normal number above."""
    if math.isnan(rate):
        return math.nan
    if rate >= 1e8:
        first, second = _two_units(row, output, 0, key, _NORMAL)
        return math.sqrt(rate) * math.sqrt(-2.0 * math.log1p(-first)) * math.cos(2.0 * math.pi * second)
    if rate < 10.0:
        uniform = _two_units(row, output, 0, key)[0]
        probability, y = math.exp(-rate), 0
        while uniform >= probability and y < 100:
            uniform -= probability
            y += 1
            probability *= rate / y
        return y - rate
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    v_r = 0.9277 - 3.6224 / (b - 2.0)
    attempt = 0
    while True:
        first, v = _two_units(row, output, attempt, key)
        attempt += 1
        u = first - 0.5
        us = 0.5 - abs(u)
        y_drawn = math.floor((2.0 * a / us + b) * u + rate + 0.43)
        if us >= 0.07 and v <= v_r:
            return y_drawn - rate
        if y_drawn < 0 or (us < 0.013 and v > us):
            continue
        log_probability = y_drawn * math.log(rate) - rate - math.lgamma(y_drawn + 1.0)
        if math.log(v * inverse_alpha / (a / (us * us) + b)) <= log_probability:
            return y_drawn - rate
