"""The losses as a user sees them: values and gradients of torch's, probes of both paths, messages."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import lehi
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from lehi import _draws, _operators, _plain_losses
from torch import Tensor

MANY = settings(max_examples=60, deadline=None, derandomize=True)
KEY = (7, 3, 11, 2)
PROBES = ("gradient", "imitation", "diagonal", "gauss-newton", "sampled-label")

# Loss, target of a shape, and torch's mean over rows.
ELEMENTWISE: dict[str, tuple[lehi.Loss, Callable[[Tensor], Tensor], Callable[[Tensor, Tensor], Tensor]]] = {
    "mse": (lehi.MSELoss(), torch.cos, lambda p, y: 0.5 * F.mse_loss(p, y, reduction="none")),
    "bce": (
        lehi.BCEWithLogitsLoss(),
        lambda p: torch.cos(p).square(),
        lambda p, y: F.binary_cross_entropy_with_logits(p, y, reduction="none"),
    ),
    "huber": (lehi.HuberLoss(0.7), torch.cos, lambda p, y: F.huber_loss(p, y, delta=0.7, reduction="none")),
    "log-cosh": (lehi.LogCoshLoss(), torch.cos, lambda p, y: torch.log(torch.cosh(p - y))),
    "poisson-nll": (
        lehi.PoissonNLLLoss(),
        lambda p: torch.cos(p).square(),
        lambda p, y: F.poisson_nll_loss(p, y, reduction="none"),
    ),
    "squared-hinge": (
        lehi.SquaredHingeLoss(),
        lambda p: torch.cos(3 * p).sign(),
        lambda p, y: (1 - y * p).clamp_min(0).square(),
    ),
    "focal": (
        lehi.FocalLoss(1.5, 0.3),
        lambda p: (torch.cos(3 * p) > 0).to(p.dtype),
        lambda p, y: (
            -(0.7 - 0.4 * y)
            * torch.where(y == 1, torch.sigmoid(-p), torch.sigmoid(p)) ** 1.5
            * torch.where(y == 1, F.logsigmoid(p), F.logsigmoid(-p))
        ),
    ),
}


def predictions_of(shape: tuple[int, ...], dtype: torch.dtype = torch.float64) -> Tensor:
    torch.manual_seed(0)
    return (2.0 * torch.randn(shape, dtype=torch.float64)).to(dtype).requires_grad_()


@pytest.mark.parametrize("shape", [(5,), (4, 3), (2, 3, 4)], ids=str)
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise_value_and_gradient(path: str, name: str, shape: tuple[int, ...]) -> None:
    loss, target_of, of_torch = ELEMENTWISE[name]
    p = predictions_of(shape)
    y = target_of(p.detach() + 0.3)
    rows = p.numel() if p.dim() == 1 else p.numel() // p.shape[-1]
    expected = of_torch(p, y).sum() / rows
    (gradient,) = torch.autograd.grad(expected, p)
    value = loss(p, y)
    assert value.item() == pytest.approx(expected.item(), rel=1e-12)
    (got,) = torch.autograd.grad(value * 3.0, p)
    torch.testing.assert_close(got, 3.0 * gradient, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("shape", [(4, 3), (2, 3, 4), (6, 1), (3, 2)], ids=str)
@pytest.mark.parametrize("kind", ["indices", "ignored", "smoothed", "weighted", "probabilities"])
def test_cross_entropy_value_and_gradient(path: str, kind: str, shape: tuple[int, ...]) -> None:
    p = predictions_of(shape)
    y = torch.arange(math.prod(shape[:-1])).view(shape[:-1]) % shape[-1]
    options: dict[str, Any] = {}
    if kind == "ignored":
        y.view(-1)[1] = -100
    if kind == "smoothed":
        options["label_smoothing"] = 0.2
    if kind == "weighted":
        options["weight"] = 0.5 + torch.arange(shape[-1], dtype=torch.float64)
    if kind == "probabilities":
        y = torch.softmax(torch.cos(p.detach()), -1)
    flat = y.reshape(-1, shape[-1]) if kind == "probabilities" else y.reshape(-1)
    expected = F.cross_entropy(p.reshape(-1, shape[-1]), flat, **options)
    (gradient,) = torch.autograd.grad(expected, p)
    value = lehi.cross_entropy(p, y, **options)
    assert value.item() == pytest.approx(expected.item(), rel=1e-12, abs=1e-14)
    (got,) = torch.autograd.grad(value, p)
    torch.testing.assert_close(got, gradient, rtol=1e-11, atol=1e-11)


# The two paths. Where there are no operators, this file tests the plain one against torch and itself only.


def both_paths(loss: lehi.Loss, p: Tensor, y: Tensor, request: lehi.Request) -> list[lehi.Evaluation]:
    before = _operators.available
    try:
        results = [loss.evaluate(p, y, request)]
        _operators.available = False
        return [*results, loss.evaluate(p, y, request)]
    finally:
        _operators.available = before


def expect_equal(results: list[lehi.Evaluation]) -> None:
    one, two = results
    torch.testing.assert_close(one.sum, two.sum, rtol=1e-12, atol=1e-12)
    assert one.count == two.count
    assert one.vectors.keys() == two.vectors.keys()
    for name in one.vectors:
        torch.testing.assert_close(one.vectors[name], two.vectors[name], rtol=1e-10, atol=1e-12)


@MANY
@given(
    rows=st.integers(1, 9),
    classes=st.integers(1, 200),
    spread=st.sampled_from([0.0, 1.0, 30.0, 800.0]),
    probe=st.sampled_from(PROBES),
    scale=st.sampled_from(["sqrt-n", "mean"]),
    seed=st.integers(0, 2**40),
)
def test_cross_entropy_on_both_paths(rows: int, classes: int, spread: float, probe: str, scale: str, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed % 1000)
    p = spread * torch.randn(rows, classes, generator=generator, dtype=torch.float64)
    y = torch.randint(0, classes, (rows,), generator=generator)
    if classes == 2 and probe == "imitation":
        probe = "diagonal"
    expect_equal(both_paths(lehi.CrossEntropyLoss(), p, y, lehi.Request(probe, scale, (seed, 5, 2**33, 1))))


@MANY
@given(
    name=st.sampled_from(sorted(ELEMENTWISE)),
    shape=st.lists(st.integers(1, 6), min_size=1, max_size=3),
    spread=st.sampled_from([0.0, 1.0, 30.0, 500.0]),
    probe=st.sampled_from(PROBES),
    seed=st.integers(0, 2**40),
)
def test_elementwise_on_both_paths(name: str, shape: list[int], spread: float, probe: str, seed: int) -> None:
    loss, target_of, _ = ELEMENTWISE[name]
    if probe not in loss.probes:
        with pytest.raises(ValueError, match=f"{name} has no {probe} probe"):
            loss.evaluate(torch.zeros(2), torch.zeros(2), lehi.Request(probe))
        return
    if name == "poisson-nll" and spread > 1.0:
        spread = 4.0  # beyond, exp(p) overflows
    p = spread * torch.randn(shape, generator=torch.Generator().manual_seed(seed % 1000), dtype=torch.float64)
    expect_equal(both_paths(loss, p, target_of(p + 0.3), lehi.Request(probe, "mean", (seed, 5, 2**33, 1))))


@pytest.mark.skipif(not _operators.available, reason="compares with the operators")
@pytest.mark.parametrize("kind", ["signs", "uniform", "normal"])
def test_plain_random_numbers_are_the_operators(kind: Any) -> None:
    for outputs in (1, 3, 128, 129, 300):
        expected = _operators.draws(kind, 6, outputs, list(KEY))
        got = _draws.draws(kind, 6, outputs, KEY)
        torch.testing.assert_close(got, expected, rtol=1e-14, atol=1e-14)


def test_large_poisson_rates_have_their_moments() -> None:
    for rate in (3.0, 40.0):
        drawn = _draws.centred_poisson(torch.full((400, 1), rate, dtype=torch.float64), KEY)
        assert abs(float(drawn.mean())) < 5 * math.sqrt(rate / 400)
        assert float(drawn.var()) == pytest.approx(rate, rel=0.4)


@pytest.mark.parametrize("scale", ["sqrt-n", "mean"])
def test_gauss_newton_probe_averages_to_the_hessian(path: str, scale: str) -> None:
    p = predictions_of((1, 4)).detach()
    hessian = torch.autograd.functional.hessian(lambda q: F.cross_entropy(q, torch.tensor([1])), p)[0, :, 0]
    many = p.expand(20000, 4)
    v = (
        lehi.CrossEntropyLoss()
        .evaluate(many, torch.ones(20000, dtype=torch.int64), lehi.Request("gauss-newton", scale, KEY))
        .v
    )
    assert v is not None
    torch.testing.assert_close(v.T @ v / 20000, hessian, rtol=0.05, atol=0.01)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_predictions_are_read_as_float32(path: str, dtype: torch.dtype) -> None:
    p = predictions_of((6, 4), dtype)
    y = torch.arange(6) % 4
    value = lehi.cross_entropy(p, y)
    assert value.dtype == torch.float32
    value.backward()
    assert p.grad is not None and p.grad.dtype == dtype
    assert value.item() == pytest.approx(F.cross_entropy(p.float(), y).item(), rel=1e-6)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_predictions_that_are_not_finite_spoil_value_and_gradient(path: str, bad: float) -> None:
    """So that GradScaler and the non-finite policy see them; torch's losses do the same."""
    p = predictions_of((4, 3)).detach()
    p[1, 2] = bad
    p.requires_grad_()
    value = lehi.cross_entropy(p, torch.tensor([0, 1, 2, 0]))
    value.backward()
    assert math.isnan(value.item()) and p.grad is not None and not bool(torch.isfinite(p.grad).any())


# lehi.auto


@pytest.mark.parametrize("probe", ["gradient", "diagonal", "gauss-newton"])
@pytest.mark.parametrize("name", ["mse", "bce", "huber", "log-cosh", "poisson-nll"])
def test_auto_finds_what_the_losses_know(path: str, name: str, probe: str) -> None:
    loss, target_of, of_torch = ELEMENTWISE[name]
    p = predictions_of((4, 3)).detach()
    y = target_of(p + 0.3)
    request = lehi.Request(probe, "mean", KEY)
    known, found = loss.evaluate(p, y, request), lehi.auto(of_torch).evaluate(p, y, request)
    torch.testing.assert_close(found.sum, known.sum, rtol=1e-10, atol=1e-10)
    for vector in known.vectors:
        torch.testing.assert_close(found.vectors[vector], known.vectors[vector], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("probe", ["diagonal", "gauss-newton"])
def test_auto_of_coupled_outputs(path: str, probe: str) -> None:
    p, y = predictions_of((3, 4)).detach(), torch.tensor([0, 3, 1])
    found = lehi.auto(lambda q, t: F.cross_entropy(q, t, reduction="none"))
    v = found.evaluate(p, y, lehi.Request(probe, "mean", KEY)).v
    assert v is not None
    s = torch.softmax(p, -1)
    if probe == "diagonal":
        torch.testing.assert_close(v, (s * (1 - s)).sqrt(), rtol=1e-9, atol=1e-9)
        return
    signs = _draws.signs(3, 4, KEY)
    values, vectors = torch.linalg.eigh(torch.diag_embed(s) - s.unsqueeze(2) * s.unsqueeze(1))
    root = vectors @ torch.diag_embed(values.clamp_min(0).sqrt()) @ vectors.mT
    torch.testing.assert_close(v, (root @ signs.unsqueeze(2)).squeeze(2), rtol=1e-7, atol=1e-7)


def test_auto_trains(path: str) -> None:
    torch.manual_seed(0)
    x = torch.linspace(-1, 1, 40).unsqueeze(1)
    line = torch.nn.Linear(1, 1)
    optimizer = lehi.Lehi(line.parameters(), 1.0)
    cauchy = lehi.auto(lambda p, t: torch.log1p((p - t).square()))
    for _ in range(300):
        optimizer.zero_grad()
        cauchy(line(x), 2 * x - 1, optimizer=optimizer).backward()
        optimizer.step()
    assert line.weight.item() == pytest.approx(2.0, abs=0.05) and line.bias.item() == pytest.approx(-1.0, abs=0.05)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda p, t: (p - t).square().mean(), "reduction='none'"),
        (lambda p, t: (p - t).abs(), "without curvature"),
        (lambda p, t: torch.ones_like(t), "does not depend on the predictions"),
        (lambda p, t: (p - t) * (p - t).sum(), "depend on other outputs"),
        (lambda p, t: ((p - t).square().sum() * (p - t)).sum(-1), "depend on other rows"),
        (lambda p, t: torch.log1p((p - t).square()), "negative"),
    ],
    ids=["mean", "absolute", "constant", "outputs", "rows", "negative"],
)
def test_auto_refuses(function: Any, message: str) -> None:
    p = 3.0 * predictions_of((4, 3)).detach()
    with pytest.raises(ValueError, match=message):
        lehi.auto(function).evaluate(p, torch.zeros(4, 3, dtype=torch.float64), lehi.Request("gauss-newton"))


# Bad input, on both paths


def zeros(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.zeros(shape, dtype=dtype)


BAD: list[tuple[Callable[[], Any], str]] = [
    (lambda: lehi.cross_entropy(zeros(4, 3), zeros(4, dtype=torch.int32)), r"\.to\(torch\.int64\)"),
    (lambda: lehi.cross_entropy(zeros(4, 3), zeros(5, dtype=torch.int64)), r"expected class indices of shape \[4\]"),
    (lambda: lehi.cross_entropy(zeros(4, 3, 5), zeros(4, 5, dtype=torch.int64)), "movedim"),
    (lambda: lehi.cross_entropy(zeros(4), zeros(4, dtype=torch.int64)), "unsqueeze"),
    (lambda: lehi.cross_entropy(zeros(2, 3), torch.tensor([0, 3])), "of row 1 is 3; expected 0 to 2"),
    (lambda: lehi.cross_entropy(zeros(2, 3), zeros(2, 3)), "add up to 0"),
    (lambda: lehi.cross_entropy(zeros(2, 3), torch.tensor([-100, -100])), "every target is ignored"),
    (lambda: lehi.cross_entropy(zeros(2, 3), torch.tensor([0, 1]), reduction="sum"), "must be 'mean'"),
    (lambda: lehi.cross_entropy(zeros(2, 3), torch.tensor([0, 1]), label_smoothing=1.0), "label_smoothing is 1.0"),
    (lambda: lehi.cross_entropy(zeros(2, 3), torch.tensor([0, 1]), zeros(2)), "2 entries.*3 classes"),
    (lambda: lehi.cross_entropy(zeros(2, 3), torch.tensor([0, 1]), -torch.ones(3)), "0 or above"),
    (lambda: lehi.cross_entropy(zeros(2, 3), torch.tensor([0, 1]), loss_weight=-1.0), "loss_weight is -1"),
    (lambda: lehi.mse_loss(zeros(4, 1), zeros(4)), "nothing is broadcast"),
    (lambda: lehi.mse_loss(zeros(4), zeros(4, dtype=torch.float64)), r"\.to\(torch\.float32\)"),
    (lambda: lehi.mse_loss(zeros(4, dtype=torch.int64), zeros(4)), r"\.to\(torch\.float32\)"),
    (lambda: lehi.mse_loss(torch.zeros(()), torch.zeros(())), "unsqueeze"),
    (lambda: lehi.mse_loss(zeros(0, 3), zeros(0, 3)), "empty"),
    (lambda: lehi.mse_loss(zeros(3), torch.full((3,), math.nan)), "finite"),
    (lambda: lehi.mse_loss(zeros(3).to_sparse(), zeros(3)), "to_dense"),
    (lambda: lehi.mse_loss(zeros(3, dtype=torch.complex64), zeros(3)), "real floating-point"),
    (lambda: lehi.binary_cross_entropy_with_logits(zeros(3), torch.full((3,), 2.0)), "from 0 to 1"),
    (lambda: lehi.poisson_nll_loss(zeros(3), torch.full((3,), -1.0)), "not negative"),
    (lambda: lehi.huber_loss(zeros(3), zeros(3), delta=0.0), "delta is 0.0"),
    (lambda: lehi.focal_loss(zeros(3), zeros(3), alpha=1.0), "alpha is 1.0"),
    (lambda: lehi.linear_cross_entropy(zeros(4, 2), zeros(3, 5), zeros(4, dtype=torch.int64)), "to match the weight"),
]


@pytest.mark.parametrize(("call", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_input_names_the_fix(path: str, call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_two_classes_under_the_imitation_probe_warn(path: str) -> None:
    with pytest.warns(UserWarning, match="binary_cross_entropy_with_logits"):
        lehi.CrossEntropyLoss().evaluate(zeros(2, 2), torch.tensor([0, 1]), lehi.Request("imitation"))


def test_functions_and_modules_agree() -> None:
    p, y = predictions_of((4, 3)).detach(), torch.cos(predictions_of((4, 3)).detach())
    pairs = [
        (lehi.mse_loss(p, y), lehi.MSELoss()(p, y)),
        (lehi.binary_cross_entropy_with_logits(p, y.square()), lehi.BCEWithLogitsLoss()(p, y.square())),
        (lehi.huber_loss(p, y, delta=0.3), lehi.HuberLoss(0.3)(p, y)),
        (lehi.log_cosh_loss(p, y), lehi.LogCoshLoss()(p, y)),
        (lehi.poisson_nll_loss(p, y.square()), lehi.PoissonNLLLoss()(p, y.square())),
        (lehi.squared_hinge_loss(p, y.sign()), lehi.SquaredHingeLoss()(p, y.sign())),
        (lehi.focal_loss(p, (y > 0).double(), gamma=1.0), lehi.FocalLoss(1.0)(p, (y > 0).double())),
    ]
    for by_function, by_module in pairs:
        assert torch.equal(by_function, by_module)


def test_row_shape() -> None:
    assert _plain_losses.row_shape(zeros(5)) == (5, 1)
    assert _plain_losses.row_shape(zeros(2, 3, 4)) == (6, 4)
