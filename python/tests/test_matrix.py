"""The kronecker shape against its equations, written down with whole matrices and no thought of speed."""

from __future__ import annotations

import math
from typing import Any

import lehi
import pytest
import torch
from lehi import _matrix
from torch import Tensor, nn


class Soap:
    """Vyas et al. 2025, for one block: Adam in the eigenbases of L and R, which the next gradient uses first."""

    def __init__(self, shape: torch.Size, rate: float, betas: tuple[float, float], beta3: float, every: int) -> None:
        self.rate, self.betas, self.beta3, self.every = rate, betas, beta3, every
        self.m = self.v = torch.zeros(shape, dtype=torch.float64)
        self.left = torch.zeros(shape[0], shape[0], dtype=torch.float64)
        self.right = torch.zeros(shape[1], shape[1], dtype=torch.float64)
        self.q_left: Tensor | None = None
        self.q_right: Tensor | None = None
        self.count = 0

    def step(self, k: int, g: Tensor) -> Tensor:
        """The change of the weights at step k = 1, 2, ..."""
        change = torch.zeros_like(g)
        if self.q_left is not None and self.q_right is not None:
            self.count += 1
            b1, b2 = self.betas
            turned = self.q_left.T @ g @ self.q_right
            self.m = b1 * self.m + (1 - b1) * g  # kept unturned here
            self.v = b2 * self.v + (1 - b2) * turned.square()
            m = self.q_left.T @ self.m @ self.q_right / (1 - b1**self.count)
            step = self.rate * m / ((self.v / (1 - b2**self.count)).sqrt() + 1e-8)
            change = -self.q_left @ step @ self.q_right.T
        self.left = self.beta3 * self.left + (1 - self.beta3) * g @ g.T
        self.right = self.beta3 * self.right + (1 - self.beta3) * g.T @ g
        if (k - 1) % self.every == 0:
            self.q_left, rows = self.renew(self.left, self.q_left)
            self.q_right, columns = self.renew(self.right, self.q_right)
            self.v = self.v[rows][:, columns]
        return change

    @staticmethod
    def renew(factor: Tensor, old: Tensor | None) -> tuple[Tensor, Tensor]:
        """One step of the power iteration; the vectors with the largest values first."""
        if old is None:
            vectors: Tensor = torch.linalg.eigh(factor)[1].flip(1)
            return vectors, torch.arange(len(factor))
        order = (old.T @ factor @ old).diagonal().argsort(descending=True)
        return torch.linalg.qr(factor @ old[:, order])[0], order


def gradients(shape: tuple[int, ...], steps: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(shape, generator=generator, dtype=torch.float64) for _ in range(steps)]


def run(weight: nn.Parameter, optimizer: lehi.Optimizer, grads: list[Tensor]) -> None:
    for g in grads:
        weight.grad = g
        optimizer.step()


def test_soap_is_adam_in_eigenbases(path: str) -> None:
    grads = gradients((5, 4), 40)
    weight = nn.Parameter(torch.zeros(5, 4, dtype=torch.float64))
    run(weight, lehi.Soap([weight], 1e-2, (0.9, 0.95), weight_decay=0.0, beta3=0.8, basis_every=3), grads)
    expected = torch.zeros_like(weight)
    by_hand = Soap(weight.shape, 1e-2, (0.9, 0.95), 0.8, 3)
    for k, g in enumerate(grads):
        expected += by_hand.step(k + 1, g)
    torch.testing.assert_close(weight.detach(), expected.detach(), rtol=1e-9, atol=1e-9)


def test_square_blocks_are_matrices_of_their_own(path: str) -> None:
    """A 32 x 16 matrix with one side turned is two 16 x 16 matrices with that side turned."""
    settings: dict[str, Any] = {"sides": "both", "doubling": False, "step_factor": 1.0, "weight_decay": 0.0}
    grads = gradients((32, 16), 12)
    whole = nn.Parameter(torch.zeros(32, 16, dtype=torch.float64))
    optimizer = lehi.LehiKron([whole], **settings)
    run(whole, optimizer, grads)
    assert optimizer.state[whole]["left"].shape == (2, 16, 16)
    assert optimizer.state[whole]["right"].shape == (1, 16, 16)
    # L of each block: its own rows' g g^T.
    left = torch.zeros(16, 16, dtype=torch.float64)
    for g in grads:
        left = 0.95 * left + 0.05 * g[16:] @ g[16:].T
    torch.testing.assert_close(optimizer.state[whole]["left"][1], left, rtol=1e-11, atol=1e-11)
    for name, side in (("left_basis", 2), ("right_basis", 1)):
        basis = optimizer.state[whole][name]
        eye = torch.eye(16, dtype=torch.float64).expand(side, 16, 16)
        torch.testing.assert_close(basis.mT @ basis, eye, rtol=1e-11, atol=1e-11)


def test_turning_there_and_back_changes_nothing() -> None:
    matrix = gradients((32, 16), 1)[0]
    state = {
        "left_basis": torch.linalg.qr(torch.randn(2, 16, 16, dtype=torch.float64))[0],
        "right_basis": torch.linalg.qr(torch.randn(1, 16, 16, dtype=torch.float64))[0],
    }
    turned = _matrix._turn(matrix, state)
    blocks = torch.block_diag(*state["left_basis"])
    torch.testing.assert_close(turned, blocks.T @ matrix @ state["right_basis"][0], rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(_matrix._turn(turned, state, back=True), matrix, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("shape", [(6, 3), (3, 6)], ids=str)
def test_newton_schulz_brings_singular_values_near_one(shape: tuple[int, int]) -> None:
    values = torch.linalg.svdvals(_matrix.orthogonal(gradients(shape, 1)[0]))
    assert values.min() > 0.5 and values.max() < 1.3


def test_the_steps_of_muon_have_their_size(path: str) -> None:
    """The step of an orthogonal matrix has 2-norm 0.2 lr sqrt(max(m, n)) of each singular direction."""
    weight = nn.Parameter(torch.zeros(6, 3, dtype=torch.float64))
    run(weight, lehi.Muon([weight], 1e-2, weight_decay=0.0), gradients((6, 3), 1))
    values = torch.linalg.svdvals(weight.detach()) / (0.2 * 1e-2 * math.sqrt(6))
    assert values.min() > 0.5 and values.max() < 1.3
