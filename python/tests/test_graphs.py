"""Graphs that can be used twice, or only once: compiled models and activation checkpointing."""

from __future__ import annotations

import lehi
import pytest
import torch
import torch._functorch.config
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


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_a_compiled_model_gives_the_same(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    torch._dynamo.reset()
    monkeypatch.setattr(torch._functorch.config, "donated_buffer", False)
    compiled = torch.compile(make_mlp(), backend=backend)
    torch.testing.assert_close(train(compiled), train(make_mlp()), rtol=1e-9, atol=1e-9)


def test_donated_buffers_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    torch._dynamo.reset()
    monkeypatch.setattr(torch._functorch.config, "donated_buffer", True)
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Linear(4, 6), nn.GELU(), nn.LayerNorm(6), nn.Linear(6, 6), nn.GELU(), nn.Linear(6, 3)
    ).double()
    with pytest.raises(RuntimeError, match="donated_buffer = False before the model is compiled"):
        train(torch.compile(model))


def test_the_loss_may_be_called_within_a_compiled_function(monkeypatch: pytest.MonkeyPatch) -> None:
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
