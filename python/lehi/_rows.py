"""Checks of a loss's arguments. Every message says what to do."""

from __future__ import annotations

import torch
from torch import Tensor

HALF = (torch.float16, torch.bfloat16)
FLOATS = (torch.float32, torch.float64, *HALF)


def shape_of(tensor: Tensor) -> str:
    return str(list(tensor.shape))


def check_tensors(loss: str, predictions: Tensor, target: Tensor) -> None:
    if not isinstance(predictions, Tensor) or not isinstance(target, Tensor):
        raise TypeError(
            f"{loss}: predictions and target must be tensors, not {type(predictions).__name__} and "
            f"{type(target).__name__}"
        )
    if predictions.layout != torch.strided or target.layout != torch.strided:
        raise ValueError(f"{loss}: predictions and target must be dense tensors: use .to_dense()")
    if predictions.dtype not in FLOATS:
        raise ValueError(
            f"{loss}: predictions are {predictions.dtype}; expected a real floating-point dtype: convert them with "
            ".to(torch.float32)"
        )
    if predictions.dim() == 0:
        raise ValueError(f"{loss}: predictions are a single number without a row dimension: use .unsqueeze(0)")
    if predictions.numel() == 0:
        raise ValueError(
            f"{loss}: predictions of shape {shape_of(predictions)} are empty: the mean needs at least one row"
        )
    if predictions.device != target.device:
        raise ValueError(
            f"{loss}: predictions are on {predictions.device} and the target on {target.device}: move them to one "
            "device"
        )


def check_reduction(loss: str, reduction: str) -> None:
    if reduction != "mean":
        raise ValueError(
            f"{loss}: reduction is {reduction!r}, but must be 'mean': the probe's scale needs the mean; multiply the "
            "loss by a number of rows if you want their sum"
        )


def elementwise_target(loss: str, predictions: Tensor, target: Tensor) -> Tensor:
    if target.shape != predictions.shape:
        raise ValueError(
            f"{loss}: a target of shape {shape_of(target)} does not match predictions of shape "
            f"{shape_of(predictions)}: the shapes must be equal, nothing is broadcast"
        )
    if target.dtype != predictions.dtype:
        raise ValueError(
            f"{loss}: the target is {target.dtype} and the predictions are {predictions.dtype}: convert the target "
            f"with .to({predictions.dtype})"
        )
    return target


def class_target(predictions: Tensor, target: Tensor) -> Tensor:
    if predictions.dim() < 2:
        raise ValueError(
            f"cross-entropy: predictions of shape {shape_of(predictions)} have no class dimension: expected "
            "[..., classes]; a single row needs .unsqueeze(0)"
        )
    probabilities = target.is_floating_point()
    expected = predictions.shape if probabilities else predictions.shape[:-1]
    if not probabilities and target.dtype != torch.int64:
        raise ValueError(
            f"cross-entropy: the target is {target.dtype}; class indices must be int64: convert them with "
            ".to(torch.int64)"
        )
    if target.shape != expected:
        second = predictions.shape[:1] + predictions.shape[2:]
        if predictions.dim() > 2 and target.shape == (predictions.shape if probabilities else second):
            raise ValueError(
                f"cross-entropy: a target of shape {shape_of(target)} does not match predictions of shape "
                f"{shape_of(predictions)}: classes must be the last dimension, not the second as in torch: use "
                "predictions.movedim(1, -1)"
            )
        raise ValueError(
            f"cross-entropy: a target of shape {shape_of(target)} does not match predictions of shape "
            f"{shape_of(predictions)}: expected class indices of shape {list(predictions.shape[:-1])} or probabilities "
            f"of shape {shape_of(predictions)}"
        )
    if probabilities and target.dtype != predictions.dtype:
        raise ValueError(
            f"cross-entropy: the target's probabilities are {target.dtype} and the predictions {predictions.dtype}: "
            f"convert the target with .to({predictions.dtype})"
        )
    return target


def check_class_values(target: Tensor, classes: int, ignore_index: int) -> None:
    """On the CPU only: elsewhere it would wait for the device."""
    if target.is_floating_point():
        rows = target.reshape(-1, classes)
        sums = rows.sum(-1, dtype=torch.float64)
        tolerance = 1e-4 if target.dtype == torch.float32 else 1e-8
        if not bool((rows >= 0.0).all()):
            raise ValueError("cross-entropy: a target probability is negative or NaN; expected numbers from 0 to 1")
        bad = (sums - 1.0).abs() > tolerance
        if bool(bad.any()):
            row = int(bad.to(torch.uint8).argmax())
            raise ValueError(
                f"cross-entropy: the target probabilities of row {row} add up to {float(sums[row])}; expected 1 "
                f"within {tolerance}"
            )
        return
    flat = target.reshape(-1)
    outside = ((flat < 0) | (flat >= classes)) & (flat != ignore_index)
    if bool(outside.any()):
        row = int(outside.to(torch.uint8).argmax())
        raise ValueError(
            f"cross-entropy: the class index of row {row} is {int(flat[row])}; expected 0 to {classes - 1} for "
            f"{classes} classes, or {ignore_index} for a row to ignore"
        )


ACCEPTED = {
    "mse": "a finite number",
    "bce": "a number from 0 to 1",
    "huber": "a finite number",
    "log-cosh": "a finite number",
    "poisson-nll": "a finite number that is not negative",
    "squared-hinge": "-1 or 1",
    "focal": "0 or 1",
}


def check_elementwise_values(loss: str, target: Tensor) -> None:
    """On the CPU only."""
    y = target
    good = {
        "bce": lambda: (y >= 0.0) & (y <= 1.0),
        "poisson-nll": lambda: (y >= 0.0) & torch.isfinite(y),
        "squared-hinge": lambda: y.abs() == 1.0,
        "focal": lambda: (y == 0.0) | (y == 1.0),
    }.get(loss, lambda: torch.isfinite(y))()
    if not bool(good.all()):
        index = int((~good).reshape(-1).to(torch.uint8).argmax())
        raise ValueError(f"{loss}: target number {index} is {float(y.reshape(-1)[index])}; expected {ACCEPTED[loss]}")
