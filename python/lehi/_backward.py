"""The autograd functions behind the losses: pull the probe back first, then hand u to the ordinary backward pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

if TYPE_CHECKING:
    from lehi._collector import Ticket
    from lehi.optimizer import Optimizer

# What torch says where the graph cannot be used twice, and what to do about it.
_ADVICE = {
    "donated buffer": "the compiled model's buffers are donated to its first backward pass, but the probe needs a "
    "second one: set torch._functorch.config.donated_buffer = False before the model is compiled",
    "use_reentrant": "reentrant activation checkpointing cannot pull the probe back: use "
    "torch.utils.checkpoint.checkpoint(..., use_reentrant=False)",
    "incompatible with .grad()": "reentrant activation checkpointing cannot pull the probe back: use "
    "torch.utils.checkpoint.checkpoint(..., use_reentrant=False)",
}


def pull_back(
    outputs: Tensor, cotangent: Tensor, parameters: Sequence[Tensor], keep_graph: bool
) -> list[Tensor | None]:
    """J^T cotangent of each parameter; None where it took no part. The results may alias the cotangent."""
    places = [i for i, p in enumerate(parameters) if p.requires_grad]
    if not places:
        raise ValueError("none of the optimizer's parameters requires a gradient: there is nothing to train")
    try:
        pulled = torch.autograd.grad(
            outputs, [parameters[i] for i in places], cotangent, retain_graph=keep_graph, allow_unused=True
        )
    except RuntimeError as error:
        for mark, advice in _ADVICE.items():
            if mark in str(error):
                raise RuntimeError(advice) from error
        raise
    result: list[Tensor | None] = [None] * len(parameters)
    for i, tensor in zip(places, pulled, strict=True):
        if tensor is not None and tensor.layout != torch.strided:
            raise ValueError(
                f"a parameter of shape {list(tensor.shape)} has a sparse gradient: use dense embeddings (sparse=False)"
            )
        result[i] = tensor
    return result


class MeanLoss(torch.autograd.Function):
    """value: the mean loss. Backward: v into the optimizer, then u * scale * the factor on the loss."""

    @staticmethod
    def forward(
        ctx: Any,
        predictions: Tensor,
        weight: Tensor | None,
        value: Tensor,
        scale: Tensor,
        vectors: dict[str, Tensor],
        optimizer: Optimizer | None,
        ticket: Ticket | None,
        count: Tensor,
    ) -> Tensor:
        kept = ("u", "v", "weight_u", "weight_v")
        ctx.save_for_backward(predictions, weight, *(vectors.get(name) for name in kept))
        ctx.scale, ctx.count = scale, count
        ctx.optimizer, ctx.ticket = optimizer, ticket
        return value.clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, factor: Tensor) -> tuple[Tensor | None, ...]:
        predictions, weight, u, v, weight_u, weight_v = ctx.saved_tensors
        if ctx.optimizer is not None:
            ctx.optimizer._collect(ctx.ticket, predictions, v, (weight, weight_v), ctx.count, factor)
        scale = factor * ctx.scale
        to_predictions = (u * scale).to(predictions.dtype) if ctx.needs_input_grad[0] else None
        to_weight = weight_u * scale if ctx.needs_input_grad[1] else None
        return to_predictions, to_weight, None, None, None, None, None, None


class ProbePass(torch.autograd.Function):
    """Backward: v alone, for an ordinary backward pass of its own."""

    @staticmethod
    def forward(
        ctx: Any, predictions: Tensor, value: Tensor, v: Tensor, optimizer: Optimizer, ticket: Ticket, count: Tensor
    ) -> Tensor:
        ctx.save_for_backward(v)
        ctx.count, ctx.optimizer, ctx.ticket = count, optimizer, ticket
        return value.clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, _: Tensor) -> tuple[Tensor | None, ...]:
        (v,) = ctx.saved_tensors
        ctx.optimizer._begin_probe_pass(ctx.ticket, ctx.count)
        return v, None, None, None, None, None
