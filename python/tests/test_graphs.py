"""Graphs that can be used twice, or only once: compiled models and activation checkpointing."""

from __future__ import annotations

from typing import Any

import lehi
import pytest
import torch
from models import make_batch, make_mlp, weights_of
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint


class Checkpointed(nn.Module):
    def __init__(self, inner: nn.Sequential, reentrant: bool | None) -> None:
        super().__init__()
        self.inner = inner
        self.reentrant = reentrant

    def forward(self, x: Tensor) -> Tensor:
        if self.reentrant is None:
            return self.inner(x)
        hidden = checkpoint(self.inner[1], self.inner[0](x), use_reentrant=self.reentrant)
        return checkpoint(self.inner[2], hidden, use_reentrant=self.reentrant)


def train(model: nn.Module, steps: int = 4) -> Tensor:
    optimizer = lehi.LehiGn(model.parameters(), every=3, dense=1)
    for k in range(steps):
        x, y = make_batch(k)
        optimizer.zero_grad()
        lehi.cross_entropy(model(x), y, optimizer=optimizer).backward()
        optimizer.step()
    return weights_of(model)


def test_non_reentrant_checkpointing_gives_the_same() -> None:
    assert torch.equal(train(Checkpointed(make_mlp(), False)), train(Checkpointed(make_mlp(), None)))


def test_reentrant_checkpointing_is_refused() -> None:
    with pytest.raises(RuntimeError, match="use_reentrant=False"):
        train(Checkpointed(make_mlp(), True))


# "inductor" takes a C++ compiler and a minute; aot_eager has the same compiled backward graph without it.
@pytest.mark.parametrize("backend", ["eager", "aot_eager", "aot_eager_decomp_partition"])
def test_a_compiled_model_gives_the_same(backend: str) -> None:
    torch._dynamo.reset()
    compiled = torch.compile(make_mlp(), backend=backend)
    torch.testing.assert_close(train(compiled), train(make_mlp()), rtol=1e-9, atol=1e-9)


class Donated(torch.autograd.Function):
    """Says what a compiled backward graph with donated buffers says when the graph is to be kept."""

    @staticmethod
    def forward(_: Any, x: Tensor) -> Tensor:
        return x * 2

    @staticmethod
    def backward(_: Any, g: Tensor) -> Tensor:
        if torch._C._autograd._get_current_graph_task_keep_graph():
            raise RuntimeError(
                "This backward function was compiled with non-empty donated buffers which requires create_graph=False "
                "and retain_graph=False."
            )
        return g * 2


def test_donated_buffers_are_named() -> None:
    model = make_mlp()
    optimizer = lehi.LehiGn(model.parameters())
    x, y = make_batch(0)
    with pytest.raises(RuntimeError, match="donated_buffer = False before the model is compiled"):
        lehi.cross_entropy(Donated.apply(model(x)), y, optimizer=optimizer).backward()


def test_the_loss_may_be_called_within_a_compiled_function() -> None:
    torch._dynamo.reset()
    model = make_mlp()
    optimizer = lehi.LehiGn(model.parameters())

    @torch.compile(backend="eager")
    def loss_of(x: Tensor, y: Tensor) -> Tensor:
        return lehi.cross_entropy(model(x), y, optimizer=optimizer)

    x, y = make_batch(0)
    loss_of(x, y).backward()
    optimizer.step()
    assert torch.equal(weights_of(model), train(make_mlp(), 1))
