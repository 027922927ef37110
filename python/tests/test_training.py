"""What a training loop does with an optimizer: accumulation, clipping, precision, several losses, odd parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lehi
import pytest
import torch
import torch.nn.functional as F
from models import make_batch, make_mlp, weights_of
from torch import Tensor, nn

PROBED = ["lehi", "lehibrid", "lehi-gn", "sophia-g"]


def train(
    preset: str, step: Callable[[nn.Module, lehi.Optimizer, int], None], steps: int = 12, **settings: Any
) -> Tensor:
    model = make_mlp()
    optimizer = lehi.Optimizer(model.named_parameters(), preset, **settings)
    for k in range(steps):
        step(model, optimizer, k)
    return weights_of(model)


def plain_step(model: nn.Module, optimizer: lehi.Optimizer, k: int) -> None:
    x, y = make_batch(k)
    optimizer.zero_grad()
    lehi.cross_entropy(model(x), y, optimizer=optimizer).backward()
    optimizer.step()


def close(a: Tensor, b: Tensor, tolerance: float = 1e-11) -> None:
    torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("preset", PROBED)
def test_one_call_equals_backward_and_step(path: str, preset: str) -> None:
    def one_call(model: nn.Module, optimizer: lehi.Optimizer, k: int) -> None:
        x, y = make_batch(k)
        value = optimizer.step(model(x), lehi.CrossEntropyLoss(), y)
        assert value.dim() == 0
        assert all(p.grad is None for p in model.parameters())

    close(train(preset, one_call), train(preset, plain_step))


@pytest.mark.parametrize("preset", PROBED)
@pytest.mark.parametrize("sizes", [(6, 6), (3, 3, 3, 3), (2, 7, 3)], ids=str)
def test_micro_batches_equal_one_batch(path: str, preset: str, sizes: tuple[int, ...]) -> None:
    def micro(model: nn.Module, optimizer: lehi.Optimizer, k: int) -> None:
        x, y = make_batch(k)
        optimizer.zero_grad()
        for part, target in zip(x.split(sizes), y.split(sizes), strict=True):
            (lehi.cross_entropy(model(part), target, optimizer=optimizer) * (len(part) / len(x))).backward()
        optimizer.step()

    close(train(preset, micro), train(preset, plain_step))


def test_a_factor_on_the_loss_does_not_change_the_probe(path: str) -> None:
    def scaled(model: nn.Module, optimizer: lehi.Optimizer, k: int) -> None:
        x, y = make_batch(k)
        optimizer.zero_grad()
        (lehi.cross_entropy(model(x), y, optimizer=optimizer) * 1024.0).backward()
        for p in model.parameters():
            assert p.grad is not None
            p.grad /= 1024.0
        optimizer.step()

    close(train("lehi-gn", scaled, dense=5, every=3), train("lehi-gn", plain_step, dense=5, every=3))


def test_clipping_scales_the_gradient_and_not_the_probe(path: str) -> None:
    """As the library's clip_norm: g is multiplied, s stays."""

    def clipped(model: nn.Module, optimizer: lehi.Optimizer, k: int) -> None:
        x, y = make_batch(k)
        optimizer.zero_grad()
        lehi.cross_entropy(model(x), y, optimizer=optimizer).backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 0.05)
        assert norm > 0.05
        optimizer.step()

    def by_hand(model: nn.Module, optimizer: lehi.Optimizer, k: int) -> None:
        x, y = make_batch(k)
        optimizer.zero_grad()
        loss = lehi.cross_entropy(model(x), y, optimizer=optimizer)
        loss.backward()
        norm = torch.sqrt(sum(p.grad.square().sum() for p in model.parameters()))  # type: ignore[union-attr,arg-type,misc]
        for p in model.parameters():
            assert p.grad is not None
            p.grad *= 0.05 / (norm + 1e-6)
        optimizer.step()

    close(train("lehi", clipped), train("lehi", by_hand))
    assert (train("lehi", clipped) - train("lehi", plain_step)).abs().max() > 1e-5


def test_schedule_of_the_rate_enters_the_step() -> None:
    """Half the rate of LEHI moves half as far, at each step of a scheduler."""

    def moved(rates: Callable[[int], float]) -> list[Tensor]:
        model = make_mlp()
        optimizer = lehi.Lehi(model.parameters(), 1e-3)
        scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, rates)
        result = []
        for _ in range(3):
            before = weights_of(model)
            plain_step(model, optimizer, 0)
            scheduler.step()
            result.append(weights_of(model) - before)
        return result

    whole, halved = moved(lambda _: 1.0), moved(lambda k: 0.5 if k >= 1 else 1.0)
    close(halved[0], whole[0])
    close(halved[1], 0.5 * whole[1])


class TestSeveralLosses:
    def models(self) -> tuple[nn.ModuleDict, Tensor, Tensor, Tensor]:
        torch.manual_seed(1)
        parts = nn.ModuleDict({"body": nn.Linear(4, 5), "one": nn.Linear(5, 3), "two": nn.Linear(5, 2)}).double()
        return parts, torch.randn(8, 4).double(), torch.randint(0, 3, (8,)), torch.randn(8, 2).double()

    def run(self, how: str) -> Tensor:
        parts, x, y, t = self.models()
        optimizer = lehi.Lehi(parts.parameters(), 1e-2)
        for _ in range(5):
            optimizer.zero_grad()
            hidden = torch.tanh(parts["body"](x))
            if how == "apart":
                retained = hidden
                lehi.cross_entropy(parts["one"](retained), y, optimizer=optimizer, term=0).backward(retain_graph=True)
                lehi.mse_loss(parts["two"](retained), t, optimizer=optimizer, loss_weight=0.3, term=1).backward()
            else:
                first = lehi.cross_entropy(parts["one"](hidden), y, optimizer=optimizer)
                second = lehi.mse_loss(parts["two"](hidden), t, optimizer=optimizer, loss_weight=0.3)
                ((first + second) * 8.0).backward()
                for p in parts.parameters():
                    assert p.grad is not None
                    p.grad /= 8.0
            optimizer.step()
        return weights_of(parts)

    def test_s_is_the_sum_of_the_terms_before_it_is_squared(self) -> None:
        parts, x, y, t = self.models()
        optimizer = lehi.Lehi(parts.parameters(), 1e-2)
        hidden = torch.tanh(parts["body"](x))
        (
            lehi.cross_entropy(parts["one"](hidden), y, optimizer=optimizer)
            + lehi.mse_loss(parts["two"](hidden), t, optimizer=optimizer, loss_weight=0.3)
        ).backward()
        optimizer.step()
        fresh, x, y, t = self.models()
        hidden = torch.tanh(fresh["body"](x))
        one = lehi.CrossEntropyLoss().evaluate(fresh["one"](hidden), y, lehi.Request("imitation"))
        logits, values = fresh["one"](hidden), fresh["two"](hidden)
        s = torch.autograd.grad(
            [logits, values], list(fresh["body"].parameters()), [one.v / 8**0.5, torch.ones_like(t) * (0.3 / 8) ** 0.5]
        )
        for parameter, part in zip(parts["body"].parameters(), s, strict=True):
            close(optimizer.state[parameter]["v"], part.square())

    def test_together_and_apart_agree(self) -> None:
        close(self.run("together"), self.run("apart"))

    def test_different_factors_are_refused(self) -> None:
        parts, x, y, t = self.models()
        optimizer = lehi.Lehi(parts.parameters(), 1e-2)
        hidden = torch.tanh(parts["body"](x))
        first = lehi.cross_entropy(parts["one"](hidden), y, optimizer=optimizer)
        second = lehi.mse_loss(parts["two"](hidden), t, optimizer=optimizer)
        (first + 0.3 * second).backward()
        with pytest.raises(ValueError, match="loss_weight"):
            optimizer.step()


class TestPrecision:
    @pytest.mark.parametrize("preset", ["lehi", "lehi-gn"])
    def test_autocast_bfloat16_stays_near_float32(self, path: str, preset: str) -> None:
        def run(enabled: bool) -> Tensor:
            model = make_mlp(torch.float32)
            optimizer = lehi.Optimizer(model.parameters(), preset, lr=1e-3, eps=1e-2)
            for k in range(20):
                x, y = make_batch(k, rows=64, dtype=torch.float32)
                optimizer.zero_grad()
                with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
                    logits = model(x)
                    assert logits.dtype == (torch.bfloat16 if enabled else torch.float32)
                    loss = lehi.cross_entropy(logits, y, optimizer=optimizer)
                assert loss.dtype == torch.float32
                loss.backward()
                optimizer.step()
            return weights_of(model)

        start = weights_of(make_mlp(torch.float32))
        exact, rounded = run(False), run(True)
        assert (exact - start).norm() > 0.01
        assert (exact - rounded).norm() < 0.1 * (exact - start).norm()

    def test_half_precision_weights_keep_float32_state(self) -> None:
        model = make_mlp(torch.bfloat16)
        optimizer = lehi.LehiGn(model.parameters(), 1e-2)
        x, y = make_batch(0, dtype=torch.bfloat16)
        for _ in range(3):
            optimizer.zero_grad()
            lehi.cross_entropy(model(x), y, optimizer=optimizer).backward()
            optimizer.step()
        state = optimizer.state[next(model.parameters())]
        assert state["m"].dtype == state["v"].dtype == torch.float32
        other = lehi.LehiGn(make_mlp(torch.bfloat16).parameters(), 1e-2)
        other.load_state_dict(optimizer.state_dict())
        loaded = other.state[other.param_groups[0]["params"][0]]
        assert torch.equal(loaded["v"], state["v"]) and loaded["v"].dtype == torch.float32

    def scaler_run(self, scaled: bool, bad_step: int | None, unscale_first: bool = False) -> Tensor:
        model = make_mlp(torch.float32)
        optimizer = lehi.LehiGn(model.parameters(), 1e-3, every=3, dense=2)
        scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10, growth_interval=4, enabled=scaled)
        for k in range(12):
            x, y = make_batch(k, dtype=torch.float32)
            if k == bad_step:
                if not scaled:
                    continue
                x = x * torch.inf
            optimizer.zero_grad()
            scaler.scale(lehi.cross_entropy(model(x), y, optimizer=optimizer)).backward()
            if unscale_first:
                scaler.unscale_(optimizer)
            before = weights_of(model), optimizer.steps
            scaler.step(optimizer)
            scaler.update()
            if k == bad_step:
                assert torch.equal(before[0], weights_of(model)) and before[1] == optimizer.steps
                assert optimizer.report.skipped
        return weights_of(model)

    @pytest.mark.parametrize("unscale_first", [False, True])
    def test_grad_scaler_changes_nothing(self, path: str, unscale_first: bool) -> None:
        close(self.scaler_run(True, None, unscale_first), self.scaler_run(False, None), 1e-5)

    @pytest.mark.parametrize("bad_step", [0, 1, 5])
    def test_a_step_that_the_scaler_skips_changes_nothing(self, path: str, bad_step: int) -> None:
        close(self.scaler_run(True, bad_step), self.scaler_run(False, bad_step), 1e-5)

    @pytest.mark.parametrize("policy", ["throw", "skip", "record"])
    def test_a_probe_that_is_not_finite(self, path: str, policy: str) -> None:
        model = make_mlp()
        optimizer = lehi.LehiGn(model.named_parameters(), non_finite=policy)
        x, y = make_batch(0)
        loss = lehi.cross_entropy(model(x), y, optimizer=optimizer)
        loss.backward()
        optimizer._collector.terms[0].s[1][0] = torch.nan  # type: ignore[index]
        before = weights_of(model)
        if policy == "throw":
            with pytest.raises(lehi.NonFiniteError, match="the probe of 0.bias is not finite"):
                optimizer.step()
        else:
            optimizer.step()
        assert torch.equal(before, weights_of(model)) == (policy != "record")
        assert optimizer.steps == (1 if policy == "record" else 0)
        if policy != "record":
            plain_step(model, optimizer, 1)  # nothing of it is left
            assert optimizer.steps == 1 and bool(torch.isfinite(weights_of(model)).all())

    def test_a_gradient_whose_square_overflows(self) -> None:
        model = make_mlp(torch.float32)
        optimizer = lehi.LehiGn(model.parameters())
        x, y = make_batch(0, dtype=torch.float32)
        (lehi.cross_entropy(model(x), y, optimizer=optimizer) * 1e30).backward()
        with pytest.raises(lehi.NonFiniteError, match="gradient"):
            optimizer.step()


class TestProbeComesOrNot:
    def test_a_refresh_without_a_probe_raises_and_names_the_fix(self) -> None:
        model = make_mlp()
        optimizer = lehi.LehiGn(model.parameters())
        x, y = make_batch(0)
        F.cross_entropy(model(x), y).backward()
        with pytest.raises(RuntimeError, match=r"lehi.cross_entropy\(..., optimizer=optimizer\)"):
            optimizer.step()

    def test_between_refreshes_a_plain_loss_is_enough_and_nothing_extra_runs(self) -> None:
        model = make_mlp()
        optimizer = lehi.LehiGn(model.parameters(), every=3, dense=1)
        calls = []
        model[0].register_full_backward_hook(lambda *_: calls.append(optimizer.steps + 1))
        pulled = []
        for k in range(7):
            assert optimizer.needs_probe == (k in (0, 1, 4))
            plain_step(model, optimizer, k)
            pulled.append(optimizer.report.second_pull_back)
        assert pulled == [k in (0, 1, 4) for k in range(7)]
        assert [calls.count(step) for step in range(1, 8)] == [2, 2, 1, 1, 2, 1, 1]
        x, y = make_batch(9)
        optimizer._plan()
        F.cross_entropy(model(x), y).backward()
        with pytest.raises(RuntimeError, match="needs a gauss-newton probe"):
            optimizer.step()  # step 8 is a refresh again
        plain_step(model, optimizer, 8)
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        assert optimizer.steps == 9

    @pytest.mark.parametrize("how", ["zero_grad", "model.zero_grad"])
    def test_cleared_gradients_take_their_probe_with_them(self, how: str) -> None:
        def dropped(model: nn.Module, optimizer: lehi.Optimizer, k: int) -> None:
            x, y = make_batch(100 + k)
            lehi.cross_entropy(model(x), y, optimizer=optimizer).backward()
            (optimizer if how == "zero_grad" else model).zero_grad()
            optimizer._collector._rows.clear()  # the same random signs as without the dropped batch
            x, y = make_batch(k)
            lehi.cross_entropy(model(x), y, optimizer=optimizer).backward()
            optimizer.step()
            model.zero_grad()

        close(train("lehi-gn", dropped), train("lehi-gn", plain_step))

    def test_zero_grad_between_forward_and_backward_keeps_the_probe(self) -> None:
        def late(model: nn.Module, optimizer: lehi.Optimizer, k: int) -> None:
            x, y = make_batch(k)
            loss = lehi.cross_entropy(model(x), y, optimizer=optimizer)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

        close(train("lehi-gn", late), train("lehi-gn", plain_step))

    def test_evaluation_leaves_no_trace(self) -> None:
        def with_evaluation(model: nn.Module, optimizer: lehi.Optimizer, k: int) -> None:
            x, y = make_batch(k)
            with torch.no_grad():
                lehi.cross_entropy(model(x), y, optimizer=optimizer)
            plain_step(model, optimizer, k)

        close(train("lehi-gn", with_evaluation), train("lehi-gn", plain_step))

    @pytest.mark.parametrize("preset", ["lehi", "lehi-gn", "sophia-g"])
    def test_a_pass_of_its_own_gives_the_same(self, path: str, preset: str) -> None:
        def separate(model: nn.Module, optimizer: lehi.Optimizer, k: int) -> None:
            x, y = make_batch(k)
            if optimizer.needs_probe:
                lehi.probe_loss(model(x), y, optimizer=optimizer).backward()
                assert all(p.grad is None for p in model.parameters())
                assert not optimizer.needs_probe
            lehi.cross_entropy(model(x), y, optimizer=optimizer).backward()
            optimizer.step()
            model.zero_grad()

        settings = {"every": 3}
        close(train(preset, separate, **settings), train(preset, plain_step, **settings))

    def test_a_probe_pass_that_is_not_needed_is_refused(self) -> None:
        model = make_mlp()
        optimizer = lehi.AdamW(model.parameters())
        x, y = make_batch(0)
        with pytest.raises(RuntimeError, match="needs_probe"):
            lehi.probe_loss(model(x), y, optimizer=optimizer)


class TestParameters:
    def test_tied_weights_add_their_uses_before_the_square(self, path: str) -> None:
        torch.manual_seed(2)
        weight = nn.Parameter(torch.randn(5, 4).double())
        tokens, y = torch.randint(0, 5, (6,)), torch.randint(0, 5, (6,))
        optimizer = lehi.Lehi([weight])
        logits = torch.tanh(weight[tokens]) @ weight.T
        v = lehi.CrossEntropyLoss().evaluate(logits, y, lehi.Request("imitation")).v
        assert v is not None
        (s,) = torch.autograd.grad(logits, weight, v / 6**0.5, retain_graph=True)
        lehi.cross_entropy(logits, y, optimizer=optimizer).backward()
        optimizer.step()
        close(optimizer.state[weight]["v"], s.square())

    @pytest.mark.parametrize("chunk_rows", [0, 4, 5])
    @pytest.mark.parametrize("preset", ["lehi", "lehi-gn", "sophia-g"])
    def test_linear_cross_entropy_equals_the_logits(self, path: str, preset: str, chunk_rows: int) -> None:
        def run(chunked: bool) -> Tensor:
            torch.manual_seed(2)
            weight = nn.Parameter(torch.randn(5, 4).double())
            optimizer = lehi.Optimizer([weight], preset, lr=1e-2)
            for k in range(8):
                tokens = (torch.arange(12) * 3 + k) % 5
                hidden = torch.tanh(weight[tokens])
                if chunked:
                    loss = lehi.linear_cross_entropy(
                        hidden, weight, (tokens + 1) % 5, chunk_rows=chunk_rows, optimizer=optimizer
                    )
                else:
                    loss = lehi.cross_entropy(hidden @ weight.T, (tokens + 1) % 5, optimizer=optimizer)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            return weight.detach()

        close(run(True), run(False))

    def test_frozen_parameters_and_those_without_gradient_stay(self) -> None:
        model = make_mlp()
        unused = nn.Parameter(torch.ones(3).double())
        model[0].weight.requires_grad_(False)
        optimizer = lehi.LehiGn([*model.parameters(), unused])
        before = model[0].weight.clone()
        for k in range(3):
            plain_step(model, optimizer, k)
        assert torch.equal(before, model[0].weight) and torch.equal(unused, torch.ones(3).double())
        assert unused not in optimizer.state or "step" not in optimizer.state[unused]
        assert optimizer.state[model[2].bias]["step"] == 3

    def test_only_the_optimizers_own_parameters_are_pulled(self) -> None:
        """As in a GAN: the loss of one network seen through another."""
        one, other = make_mlp(seed=1), nn.Linear(3, 2).double()
        optimizer = lehi.LehiGn(one.parameters())
        x, _ = make_batch(0)
        lehi.cross_entropy(other(one(x)), torch.zeros(12, dtype=torch.int64), optimizer=optimizer).backward()
        before = other.weight.clone()
        optimizer.step()
        assert torch.equal(before, other.weight)

    def test_predictions_of_another_model_are_refused(self) -> None:
        optimizer = lehi.LehiGn(make_mlp().parameters())
        x, y = make_batch(0)
        with pytest.raises(ValueError, match="took part"):
            lehi.cross_entropy(make_mlp()(x), y, optimizer=optimizer).backward()

    def test_complex_and_integer_parameters_are_refused(self) -> None:
        with pytest.raises(ValueError, match="view_as_real"):
            lehi.LehiGn([nn.Parameter(torch.zeros(2, dtype=torch.complex64))])
        with pytest.raises(ValueError, match="floating-point"):
            lehi.LehiGn([torch.zeros(2, dtype=torch.int64)])

    @pytest.mark.parametrize("make", [lehi.LehiGn, lehi.AdamW])
    def test_sparse_gradients_are_refused(self, make: Callable[..., lehi.Optimizer]) -> None:
        embedding = nn.Embedding(5, 3, sparse=True)
        optimizer = make(embedding.parameters())

        def step() -> None:
            lehi.cross_entropy(embedding(torch.tensor([1, 2])), torch.tensor([0, 1]), optimizer=optimizer).backward()
            optimizer.step()

        with pytest.raises(ValueError, match="sparse=False"):
            step()

    def test_strided_parameters_take_the_same_steps(self, path: str) -> None:
        """Channels-last convolutions: gradients may come in another memory order."""

        def run(last: bool) -> Tensor:
            torch.manual_seed(0)
            model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(64, 3)).double()
            if last:
                model = model.to(memory_format=torch.channels_last)
            optimizer = lehi.LehiGn(model.parameters())
            torch.manual_seed(1)
            x, y = torch.randn(5, 3, 6, 6).double(), torch.randint(0, 3, (5,))
            for _ in range(4):
                optimizer.zero_grad()
                lehi.cross_entropy(model(x), y, optimizer=optimizer).backward()
                optimizer.step()
            return weights_of(model)

        close(run(True), run(False))


class TestMatrices:
    """Their steps against the library are in test_reference.py."""

    def test_which_parameters_are_matrices(self) -> None:
        model = nn.ModuleDict(
            {"embed": nn.Embedding(9, 4), "body": nn.Linear(4, 4), "lm_head": nn.Linear(4, 9)}
        ).double()
        optimizer = lehi.Muon(model.named_parameters())
        lehi.cross_entropy(
            model["lm_head"](model["body"](model["embed"](torch.arange(9)))), torch.arange(9), optimizer=optimizer
        ).backward()
        optimizer.step()
        kinds = {name: int(optimizer.state[p]["matrix"]) for name, p in model.named_parameters()}
        assert kinds == {"embed.weight": 0, "body.weight": 4, "body.bias": 0, "lm_head.weight": 0, "lm_head.bias": 0}
        model = make_mlp()
        optimizer = lehi.LehiKron(
            [{"params": model[0].parameters(), "diagonal": True}, {"params": model[2].parameters()}]
        )
        for k in range(3):
            plain_step(model, optimizer, k)
        assert int(optimizer.state[model[0].weight]["matrix"]) == 0
        assert int(optimizer.state[model[2].weight]["matrix"]) == 1  # 3 x 6: the smaller side

    @pytest.mark.parametrize("preset", ["muon", "soap", "lehi-kron"])
    def test_micro_batches_equal_one_batch(self, path: str, preset: str) -> None:
        def micro(model: nn.Module, optimizer: lehi.Optimizer, k: int) -> None:
            x, y = make_batch(k)
            optimizer.zero_grad()
            for part, target in zip(x.split(6), y.split(6), strict=True):
                (lehi.cross_entropy(model(part), target, optimizer=optimizer) / 2).backward()
            optimizer.step()

        # The factors of so few weights have equal eigenvalues at first, whose vectors depend on the last bit.
        settings: dict[str, Any] = {} if preset == "muon" else {"sides": "smaller"}
        close(train(preset, micro, **settings), train(preset, plain_step, **settings), 1e-7)


class TestBadInput:
    def test_an_unknown_optimizer_and_setting(self) -> None:
        model = make_mlp()
        with pytest.raises(ValueError, match="there is no optimizer 'lehi-gm'; expected one of"):
            lehi.Optimizer(model.parameters(), "lehi-gm")
        with pytest.raises(TypeError, match="adamw has no setting 'momentum'; it has lr, betas"):
            lehi.Optimizer(model.parameters(), "adamw", momentum=0.9)
        with pytest.raises(ValueError, match="beta1"):
            lehi.LehiGn(model.parameters(), betas=(1.0, 0.9))
        with pytest.raises(ValueError, match="non_finite"):
            lehi.LehiGn(model.parameters(), non_finite="ignore")
        with pytest.raises(TypeError, match="momentum"):
            lehi.LehiGn([{"params": model.parameters(), "momentum": 0.1}])

    def test_random_factors_are_refused(self) -> None:
        with pytest.raises(NotImplementedError, match="C\\+\\+ library only"):
            lehi.LehiKron(make_mlp().parameters(), factors="random")

    def test_a_rate_out_of_range_later_raises_before_anything_changes(self) -> None:
        model = make_mlp()
        optimizer = lehi.LehiGn(model.parameters())
        optimizer.param_groups[0]["lr"] = -1.0
        before = weights_of(model)
        with pytest.raises(ValueError, match="lr is -1"):
            plain_step(model, optimizer, 0)
        assert torch.equal(before, weights_of(model))

    def test_an_optimizer_of_torch_is_refused(self) -> None:
        model = make_mlp()
        x, y = make_batch(0)
        with pytest.raises(TypeError, match="leave optimizer= out"):
            lehi.cross_entropy(model(x), y, optimizer=torch.optim.AdamW(model.parameters()))

    def test_step_with_half_its_arguments(self) -> None:
        model = make_mlp()
        x, _ = make_batch(0)
        with pytest.raises(TypeError, match="predictions, one of lehi's loss modules and the target"):
            lehi.LehiGn(model.parameters()).step(model(x))  # type: ignore[call-overload]
