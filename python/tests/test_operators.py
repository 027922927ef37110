"""The operators against references that are not ours: torch's autograd, torch.optim, published formulas, 60 digits.

What the operators are is in python/OPERATORS.md.
"""

from __future__ import annotations

import itertools
import json
import math
import pathlib
import subprocess
import sys
from collections.abc import Iterator

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from lehi import _operators, _plan
from torch import Tensor

OPS = torch.ops.lehi
PRESETS = _operators.presets()
KEY = [7, 3, 11, 2]
EXHAUSTIVE = settings(max_examples=200, deadline=None, derandomize=True)


def numbers_of(preset: str, **changes: float) -> list[float]:
    numbers = {**PRESETS[preset]["numbers"], **changes}
    return [float(numbers[name]) for name in _operators.NUMBERS]


def recipe(**parts: str | float) -> str:
    return " ".join(f"{key.replace('_', '-')}={value}" for key, value in parts.items())


def test_the_library_is_loaded() -> None:
    assert _operators.available, _operators.why_unavailable


def test_the_loops_are_those_of_this_processor() -> None:
    flags = next(line for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("flags"))
    words = set(flags.split())
    v3 = {"avx2", "fma", "bmi1", "bmi2", "f16c", "movbe"} <= words
    v4 = v3 and {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"} <= words
    assert _operators.loop_level() == ("x86-64-v4" if v4 else "x86-64-v3" if v3 else "baseline")


# opcheck: schemas, fake kernels, torch.compile


def example_arguments() -> dict[str, tuple[object, ...]]:
    generator = torch.Generator().manual_seed(0)

    def random(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator)

    numbers = numbers_of("lehi-gn")
    text = PRESETS["lehi-gn"]["recipe"]
    values = _operators.coefficients(text, numbers, 1, 0, 0, 1.0, 1.0).values
    shapes = [(3, 4), (5,), ()]
    w, g, s, m = ([random(*shape) for shape in shapes] for _ in range(4))
    v = [random(*shape).square() for shape in shapes]
    p, y = random(6, 3), random(6, 3).sigmoid()
    return {
        "presets": (),
        "check": (text, numbers),
        "difference": (text, ""),
        "plan_step": (text, 5),
        "coefficients": (text, numbers, 1, 0, 0, 1.0, 1.0),
        "probe_factor": ("mean", 1.0, 5.0),
        "matrix_blocks": (PRESETS["lehi-kron"]["recipe"], 64, 48, False, 1e6, 10000),
        "loop_level": (),
        "update": (w, g, s, m, v, [], values),
        "cross_entropy": (p, torch.tensor([0, 1, 2, -100, 1, 0]), None, 0.1, -100, "gauss-newton", "mean", KEY),
        "elementwise": ("bce", [], p, y, "diagonal", KEY),
        "elementwise_second": ("huber", [1.5], p, y),
        "draws": ("signs", 3, 5, KEY),
        "norms": ([p, y.double()],),
        "within": ([p, y], 2.0),
    }


def test_there_is_an_example_of_each_operator() -> None:
    script = "import lehi._operators, torch; print(*torch._C._dispatch_get_all_op_names(), sep='\\n')"
    names = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout.split()
    assert {n.removeprefix("lehi::") for n in names if n.startswith("lehi::")} == set(example_arguments())


@pytest.mark.parametrize("name", list(example_arguments()))
def test_opcheck(name: str) -> None:
    operator = getattr(OPS, name).default
    checks = ["test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic"]
    if "-> str" in str(operator._schema):
        checks.pop()  # which compares with assert_close, for numbers only
    assert set(torch.library.opcheck(operator, example_arguments()[name], test_utils=checks).values()) == {"SUCCESS"}


def test_a_compiled_function_calls_the_operators() -> None:
    def step(w: Tensor, g: Tensor, m: Tensor, v: Tensor, values: list[float]) -> Tensor:
        OPS.update([w], [g], [], [m], [v], [], values)
        return OPS.norms([w])[:, 1]

    values = _operators.coefficients(PRESETS["adamw"]["recipe"], numbers_of("adamw"), 1, 0, 0, 1.0, 1.0).values
    tensors = [torch.randn(7), torch.randn(7), torch.zeros(7), torch.zeros(7)]
    plain = [t.clone() for t in tensors]
    expected = step(*plain, values)
    compiled = torch.compile(step, fullgraph=True, backend="aot_eager")(*tensors, values)
    assert torch.equal(compiled, expected)
    for one, other in zip(tensors, plain, strict=True):
        assert torch.equal(one, other)


# The plan


def test_presets_json_is_the_operators() -> None:
    assert _plan.presets() == PRESETS
    assert list(_plan.presets()) == list(PRESETS)


def random_recipes() -> st.SearchStrategy[str]:
    choices = {key: st.sampled_from(values) for key, values in _plan._CHOICES.items()}
    steps = {"every": st.integers(1, 20), "dense": st.integers(0, 12), "basis-every": st.integers(1, 9)}
    costs = {"cost": st.floats(1e-3, 10), "step-factor": st.floats(1e-3, 10)}

    def text(parts: dict[str, object]) -> str:
        if parts["doubling"] == "yes":
            parts |= {"dense": 0, "alternate": "no"}
        if parts["mix"] == "gradient":
            parts["shape"] = "kronecker"
        if parts["probe"] == "gradient":
            parts["factors"] = "gradient"
        return recipe(**parts)

    return st.fixed_dictionaries({**choices, **steps, **costs}).map(text)


@EXHAUSTIVE
@given(random_recipes(), st.integers(1, 200))
def test_the_plan_in_python_is_the_operators(text: str, step: int) -> None:
    assert _plan.plan_step(text, step) == _operators.plan_step(text, step)
    assert _plan.check(text, numbers_of("adamw")) == OPS.check(text, numbers_of("adamw"))
    assert _plan.difference(text, "every=3") == OPS.difference(text, "every=3")


@EXHAUSTIVE
@given(random_recipes(), st.sampled_from([0.0, 0.9]), st.booleans(), st.floats(1.0, 1e6))
def test_the_coefficients_in_python_are_the_operators(text: str, momentum: float, nesterov: bool, count: float) -> None:
    numbers = numbers_of("adamw", beta2=0.99, momentum=momentum, nesterov=nesterov and momentum > 0, rho=0.04)
    counts = (0, 0, 1.0)
    for step in range(1, 40):
        ours = _plan.coefficients(text, numbers, step, *counts, count)
        assert ours == _operators.coefficients(text, numbers, step, *counts, count), step
        counts = (ours.step, ours.steps_covered, ours.momentum_product)


@EXHAUSTIVE
@given(
    random_recipes(), st.integers(1, 300), st.integers(1, 300), st.booleans(), st.floats(1, 2000), st.integers(1, 300)
)
def test_the_blocks_in_python_are_the_operators(
    text: str, rows: int, columns: int, convolution: bool, predictions: float, largest: int
) -> None:
    arguments = (text, rows, columns, convolution, predictions, largest)
    assert list(_plan.matrix_blocks(*arguments)) == OPS.matrix_blocks(*arguments)


@pytest.mark.parametrize("module", [_operators, _plan])
@pytest.mark.parametrize(
    ("text", "changes", "message"),
    [
        ("", {"lr": -1.0}, "lr is -1, but must be in [0, 1e18]"),
        ("", {"beta2": 1.0}, "beta2 is 1, but must be in [0, 1)"),
        ("rule=adam-simplified", {"eps": 0.0}, "eps is 0, but must be a finite number > 0"),
        ("rule=sgd", {"nesterov": 1.0}, "nesterov needs momentum > 0 and dampening 0"),
        ("every=0", {}, "the refresh spacing, is 0, but must be from 1 to 1099511627776"),
        ("mix=gradient", {}, "the shape is diagonal"),
        ("probe=psychic", {}, "expected one of gradient, imitation"),
        ("every=often", {}, "every is 'often', but must be a number"),
        ("colour=red", {}, "no part 'colour'"),
        ("every", {}, "'every' in a recipe is not of the form part=value"),
    ],
)
def test_bad_recipes_and_numbers(module: object, text: str, changes: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=".") as error:
        module.check(text, numbers_of("adamw", **changes))
    assert message in str(error.value)


@pytest.mark.parametrize("value", ["0.001", "1e-05", "100000", "1e+16", "123456.789", "0.0001", "5e-324", "1e+18"])
def test_numbers_are_written_as_the_library_writes_them(value: str) -> None:
    assert f"cost={value} " in OPS.check(f"cost={value}", numbers_of("adamw"))


def test_probe_factor() -> None:
    for module in (_operators, _plan):
        assert module.probe_factor("mean", 3.0, 12.0) == 0.25
        assert module.probe_factor("sqrt-n", 3.0, 12.0) == 0.5


# The update

UPDATE_ARGUMENTS = ("w", "g", "s", "m", "v", "v_max")


class Rule:
    """A preset or recipe as a caller of the operators would run it: one parameter group, no probe of its own."""

    def __init__(self, parameters: list[Tensor], text: str, numbers: list[float]) -> None:
        self.w, self.text, self.numbers = parameters, text, numbers
        self.counts = (0, 0, 1.0)
        self.state = {name: [torch.zeros_like(p) for p in parameters] for name in ("m", "v", "v_max")}
        self.step_count = 0

    def step(
        self, g: list[Tensor], s: list[Tensor] | None = None, g_factor: float = 1.0, s_factor: float = 1.0
    ) -> None:
        self.step_count += 1
        plan = _operators.plan_step(self.text, self.step_count)
        c = _operators.coefficients(self.text, self.numbers, self.step_count, *self.counts, 1.0)
        self.counts = (c.step, c.steps_covered, c.momentum_product)
        kept = dict(zip(("m", "v", "v_max"), (c.keeps_m, c.keeps_v, c.keeps_v_max), strict=True))
        if not c.updates:
            return
        lists = {name: tensors if kept[name] else [] for name, tensors in self.state.items()}
        values = _operators.with_factors(c.values, g_factor, s_factor)
        _operators.update(self.w, g, (s or []) if plan.squares_probe else [], *lists.values(), values)


@pytest.fixture
def in_float64() -> Iterator[None]:
    """torch.optim's own counts are then float64, too (NAdam's product of momenta)."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize(
    ("preset", "make", "changes"),
    [
        ("adam", lambda p: torch.optim.Adam(p, lr=1e-2), {"lr": 1e-2}),
        ("adam", lambda p: torch.optim.Adam(p, lr=1e-2, weight_decay=0.1), {"lr": 1e-2, "weight_decay": 0.1}),
        ("adamw", lambda p: torch.optim.AdamW(p, lr=1e-2), {"lr": 1e-2}),
        ("amsgrad", lambda p: torch.optim.Adam(p, lr=1e-2, amsgrad=True), {"lr": 1e-2}),
        ("nadam", lambda p: torch.optim.NAdam(p), {}),
        ("radam", lambda p: torch.optim.RAdam(p), {}),
        ("adagrad", lambda p: torch.optim.Adagrad(p), {}),
        ("rmsprop", lambda p: torch.optim.RMSprop(p), {}),
        (
            "rmsprop",
            lambda p: torch.optim.RMSprop(p, momentum=0.8, weight_decay=0.1),
            {"momentum": 0.8, "weight_decay": 0.1},
        ),
        ("sgd", lambda p: torch.optim.SGD(p, lr=1e-2), {}),
        (
            "sgd",
            lambda p: torch.optim.SGD(p, lr=1e-2, momentum=0.9, dampening=0.3),
            {"momentum": 0.9, "dampening": 0.3},
        ),
        (
            "sgd",
            lambda p: torch.optim.SGD(p, lr=1e-2, momentum=0.9, nesterov=True, weight_decay=0.1),
            {"momentum": 0.9, "nesterov": 1.0, "weight_decay": 0.1},
        ),
    ],
)
def test_rules_follow_torch(preset: str, make: object, changes: dict[str, float], in_float64: None) -> None:
    generator = torch.Generator().manual_seed(1)
    shapes = [(17, 9), (9,), (3, 4, 5)]
    w = [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes]
    theirs = [torch.nn.Parameter(p.clone()) for p in w]
    optimizer = make(theirs)
    ours = Rule(w, PRESETS[preset]["recipe"], numbers_of(preset, **changes))
    for _ in range(200):
        g = [torch.randn(shape, generator=generator, dtype=torch.float64) + 0.1 * p for shape, p in zip(shapes, w)]
        for p, gradient in zip(theirs, g, strict=True):
            p.grad = gradient.clone()
        optimizer.step()
        ours.step(g)
    for mine, their in zip(w, theirs, strict=True):
        torch.testing.assert_close(mine, their.detach(), rtol=1e-11, atol=1e-12)


def test_lehi_is_the_papers_algorithm() -> None:
    """Algorithm 2: m <- b1 m + g; v <- b2 v + s^2; w -= a_k m / sqrt(v + eps), a_k = lr (1-b1) sqrt((1-b2^k)/(1-b2))."""
    generator = torch.Generator().manual_seed(2)
    w = torch.randn(40, generator=generator, dtype=torch.float64)
    x, m, v = w.clone(), torch.zeros_like(w), torch.zeros_like(w)
    ours = Rule([w], PRESETS["lehi"]["recipe"], numbers_of("lehi"))
    lr, b1, b2, eps = (PRESETS["lehi"]["numbers"][name] for name in ("lr", "beta1", "beta2", "eps"))
    for k in range(1, 101):
        g = torch.randn(40, generator=generator, dtype=torch.float64)
        s = torch.randn(40, generator=generator, dtype=torch.float64)
        m, v = b1 * m + g, b2 * v + s**2
        x = x - lr * (1 - b1) * math.sqrt((1 - b2**k) / (1 - b2)) * m / torch.sqrt(v + eps)
        ours.step([g], [s])
    torch.testing.assert_close(w, x, rtol=1e-12, atol=1e-13)


def test_sophia_g_and_lion_are_their_papers_algorithms() -> None:
    generator = torch.Generator().manual_seed(3)
    w = torch.randn(40, generator=generator, dtype=torch.float64)
    sophia, lion = (
        Rule([w.clone()], PRESETS["sophia-g"]["recipe"], numbers_of("sophia-g")),
        Rule([w.clone()], PRESETS["lion"]["recipe"], numbers_of("lion", weight_decay=0.1)),
    )
    x, y = w.clone(), w.clone()
    m, h, momentum = torch.zeros_like(w), torch.zeros_like(w), torch.zeros_like(w)
    n = PRESETS["sophia-g"]["numbers"]
    lr, b1, b2 = 1e-4, 0.9, 0.99
    for k in range(1, 61):
        g = torch.randn(40, generator=generator, dtype=torch.float64)
        s = torch.randn(40, generator=generator, dtype=torch.float64)
        m = n["beta1"] * m + (1 - n["beta1"]) * g
        if k % 10 == 1:
            h = n["beta2"] * h + (1 - n["beta2"]) * s**2
        x = x - n["lr"] * n["weight_decay"] * x
        x = x - n["lr"] * (m / torch.clamp(n["rho"] * h, min=n["eps"])).clamp(-1, 1)
        sophia.step([g], [s])
        y = y - lr * (torch.sign(b1 * momentum + (1 - b1) * g) + 0.1 * y)
        momentum = b2 * momentum + (1 - b2) * g
        lion.step([g])
    torch.testing.assert_close(sophia.w[0], x, rtol=1e-9, atol=1e-11)
    torch.testing.assert_close(lion.w[0], y, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(("mix", "feed"), [("sum", torch.add), ("max", torch.maximum)])
def test_mixes_and_factors(mix: str, feed: object) -> None:
    """One step of Adam whose v is fed by probe and gradient, each with a factor."""
    text = recipe(probe="gauss-newton", every=2, mix=mix)
    w, g, s = torch.randn(9).double(), torch.randn(9).double(), torch.randn(9).double()
    ours = Rule([w.clone()], text, numbers_of("adam"))
    ours.step([g], [s], g_factor=0.5, s_factor=3.0)
    v = 0.001 * feed((0.5 * g) ** 2, (3 * s) ** 2) / (1 - 0.999)
    # The refresh at step 1 covers two steps, after which v's weight is 1 - 0.999^2.
    torch.testing.assert_close(ours.state["v"][0], (1 - 0.999**2) * feed((0.5 * g) ** 2, (3 * s) ** 2))
    torch.testing.assert_close(ours.w[0], w - 1e-3 * 0.5 * g / (v.sqrt() + 1e-8))


def made_lists(dtype: torch.dtype, sizes: list[int]) -> dict[str, list[Tensor]]:
    generator = torch.Generator().manual_seed(4)
    return {n: [torch.rand(size, generator=generator, dtype=dtype) for size in sizes] for n in UPDATE_ARGUMENTS}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("coupled", [0.0, 0.01])
def test_a_weights_update_does_not_depend_on_its_place(dtype: torch.dtype, coupled: float) -> None:
    """Threads divide the weights of all parameters anywhere."""
    text = recipe(probe="gauss-newton", mix="max", accumulator="ema-max", decay="coupled" if coupled else "decoupled")
    values = _operators.coefficients(text, numbers_of("adam", weight_decay=coupled), 1, 0, 0, 1.0, 1.0).values
    together = made_lists(dtype, [100_003])
    apart = {name: list(tensors[0].clone().split([1, 7, 4096, 33_000, 62_899])) for name, tensors in together.items()}
    one_thread = {name: [tensors[0].clone()] for name, tensors in together.items()}
    _operators.update(*together.values(), values)
    _operators.update(*apart.values(), values)
    threads = torch.get_num_threads()
    torch.set_num_threads(1 if threads > 1 else 2)
    try:
        _operators.update(*one_thread.values(), values)
    finally:
        torch.set_num_threads(threads)
    for name in UPDATE_ARGUMENTS:
        assert torch.equal(together[name][0], torch.cat(apart[name])), name
        assert torch.equal(together[name][0], one_thread[name][0]), name


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_any_dense_memory_order(order: tuple[int, ...]) -> None:
    values = _operators.coefficients(PRESETS["adamw"]["recipe"], numbers_of("adamw"), 1, 0, 0, 1.0, 1.0).values
    plain = {name: [t[0].view(2, 3, 5)] for name, t in made_lists(torch.float32, [30]).items()}
    back = sorted(range(3), key=order.__getitem__)
    turned = {name: [t[0].permute(order).contiguous().permute(back)] for name, t in plain.items()}
    for lists in (plain, turned):
        assert _operators.fits(*lists.values())
        _operators.update(lists["w"], lists["g"], [], lists["m"], lists["v"], [], values)
    for name in UPDATE_ARGUMENTS:
        assert torch.equal(plain[name][0], turned[name][0]), name


def test_empty_parameters_and_no_parameters() -> None:
    values = _operators.coefficients(PRESETS["adamw"]["recipe"], numbers_of("adamw"), 1, 0, 0, 1.0, 1.0).values
    _operators.update([], [], [], [], [], [], values)
    w, g, m, v = ([torch.zeros(0, 3), torch.ones(2), torch.zeros(0)] for _ in range(4))
    _operators.update(w, g, [], m, v, [], values)
    assert w[1].tolist() != [1.0, 1.0]


def test_the_update_counts_as_a_change() -> None:
    """So that autograd notices a weight that changed between a forward and its backward pass."""
    values = _operators.coefficients(PRESETS["adamw"]["recipe"], numbers_of("adamw"), 1, 0, 0, 1.0, 1.0).values
    w = torch.ones(3, requires_grad=True)
    loss = (w * w).sum()
    with torch.no_grad():
        _operators.update([w], [torch.ones(3)], [], [torch.zeros(3)], [torch.zeros(3)], [], values)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


@pytest.mark.parametrize(
    ("name", "make", "message"),
    [
        ("g", lambda t: t[:2], "g[1] is float32 of shape [2] and strides [1], but w[1] is float32 of shape [4]"),
        ("m", lambda t: t.double(), "m[1] is float64"),
        ("v", lambda t: t.repeat(2)[::2], "strides [2]"),
        ("w", lambda t: t.repeat(2)[::2], "expected float32 or float64 without gaps or overlap"),
        ("w", lambda t: t.half(), "w[1] is float16"),
        ("w", lambda t: t.double(), "expected one dtype"),
        ("w", lambda t: t[:1].expand(4), "strides [0]"),
    ],
)
def test_lists_that_do_not_fit_change_nothing(name: str, make: object, message: str) -> None:
    values = _operators.coefficients(PRESETS["adamw"]["recipe"], numbers_of("adamw"), 1, 0, 0, 1.0, 1.0).values
    lists = made_lists(torch.float32, [3, 4])
    lists[name][1] = make(lists[name][1])
    lists |= {"s": [], "v_max": []}
    before = {n: [t.clone() for t in tensors] for n, tensors in lists.items()}
    assert not _operators.fits(*lists.values())
    with pytest.raises(ValueError, match=".") as error:
        _operators.update(*lists.values(), values)
    assert message in str(error.value)
    assert all(torch.equal(a, b) for n in lists for a, b in zip(lists[n], before[n], strict=True))


def test_missing_lists_are_named() -> None:
    text = recipe(probe="gauss-newton")
    values = _operators.coefficients(text, numbers_of("adam"), 1, 0, 0, 1.0, 1.0).values
    lists = made_lists(torch.float32, [3, 4])
    for name, kept in (("g", []), ("s", []), ("v", []), ("m", lists["m"][:1])):
        with pytest.raises(ValueError, match=rf"update: {name} has {len(kept)} tensors and w has 2"):
            _operators.update(*(lists | {name: kept}).values(), values)
    with pytest.raises(ValueError, match="values has 2 entries; expected 14"):
        _operators.update(*lists.values(), values[:2])
    with pytest.raises(ValueError, match="values has the form 9; expected 0 to 5"):
        _operators.update(*lists.values(), [9.0, *values[1:]])


# Losses


def derivatives(loss: object, p: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Value, gradient and Hessian of a scalar function, by autograd in float64."""
    p = p.detach().double().requires_grad_()
    value = loss(p)
    (gradient,) = torch.autograd.grad(value, p)
    return value.detach(), gradient, torch.autograd.functional.hessian(loss, p.detach())


CLASSES, ROWS = 5, 6
PROBES = ["gradient", "imitation", "diagonal", "gauss-newton", "sampled-label"]


def class_case(kind: str) -> tuple[Tensor, Tensor, Tensor | None, float]:
    """Logits, target, weight, smoothing."""
    generator = torch.Generator().manual_seed(5)
    logits = 2 * torch.randn(ROWS, CLASSES, generator=generator, dtype=torch.float64)
    indices = torch.tensor([0, 4, -100, 2, 2, 1])
    weight = torch.rand(CLASSES, generator=generator, dtype=torch.float64) + 0.1
    probabilities = torch.rand(ROWS, CLASSES, generator=generator, dtype=torch.float64).softmax(-1)
    return {
        "indices": (logits, indices, None, 0.0),
        "weighted": (logits, indices, weight, 0.2),
        "probabilities": (logits, probabilities, None, 0.0),
        "weighted probabilities": (logits, probabilities, weight, 0.1),
    }[kind]


@pytest.mark.parametrize("scale", ["sqrt-n", "mean"])
@pytest.mark.parametrize("probe", PROBES)
@pytest.mark.parametrize("kind", ["indices", "weighted", "probabilities", "weighted probabilities"])
def test_cross_entropy(kind: str, probe: str, scale: str) -> None:
    logits, target, weight, smoothing = class_case(kind)

    def torch_loss(p: Tensor) -> Tensor:
        return F.cross_entropy(p, target, weight, label_smoothing=smoothing, reduction="sum")

    value, gradient, _ = derivatives(torch_loss, logits)
    made = _operators.cross_entropy(logits, target, weight, smoothing, -100, probe, scale, KEY)
    torch.testing.assert_close(made[0][0], value, rtol=1e-13, atol=0)
    mean = F.cross_entropy(logits, target, weight, label_smoothing=smoothing)
    torch.testing.assert_close(made[0][0] / made[0][1], mean, rtol=1e-13, atol=0)
    torch.testing.assert_close(made[1], gradient, rtol=1e-12, atol=1e-14)
    assert len(made) == (2 if probe == "gradient" else 3)
    if probe == "gradient":
        return
    signs = _operators.draws("signs", ROWS, CLASSES, KEY)
    uniform = _operators.draws("uniform", ROWS, 1, KEY)
    for row in range(ROWS):
        hessian = derivatives(
            lambda p, row=row: torch_loss(torch.cat([logits[:row], p[None], logits[row + 1 :]])), logits[row]
        )[2]
        softmax = logits[row].softmax(-1)
        # The row's weight c: its Hessian is c (diag(s) - s s^T).
        c = hessian[0, 0] / (softmax[0] * (1 - softmax[0]))
        factor = c.sqrt() if scale == "sqrt-n" else c
        if probe == "imitation":
            p = logits[row].clone().requires_grad_()
            (expected,) = torch.autograd.grad(torch.arcsin(2 * p.softmax(-1) - 1).sum(), p)
        elif probe == "diagonal":
            expected = (softmax * (1 - softmax)).sqrt()
        elif probe == "gauss-newton":
            root = torch.diag(softmax.sqrt()) - torch.outer(softmax, softmax.sqrt())
            torch.testing.assert_close(c * root @ root.T, hessian, rtol=1e-9, atol=1e-12)
            assert set(signs[row].tolist()) <= {-1.0, 1.0}
            expected = root @ signs[row]
        else:
            label = int((softmax.cumsum(-1) <= uniform[row, 0]).sum())
            expected = softmax - F.one_hot(torch.tensor(label), CLASSES)
        torch.testing.assert_close(made[2][row], factor * expected, rtol=1e-8, atol=1e-12)


def test_the_reference_values_of_sixty_digits() -> None:
    path = pathlib.Path(__file__).parents[2] / "tests" / "data" / "auxiliary_gradients.json"
    cases = json.loads(path.read_text())
    assert len(cases["cross_entropy"]) == 14
    assert len(cases["binary_cross_entropy"]) == 42

    def numbers(texts: list[str]) -> Tensor:
        return torch.tensor([[float(text) for text in texts]], dtype=torch.float64)

    close = {"rtol": 1e-13, "atol": 1e-60}  # their zeros are what 60 digits leave of a difference
    for case in cases["cross_entropy"]:
        logits = torch.tensor([case["logits"]], dtype=torch.float64)
        for probe in ("imitation", "diagonal"):
            sums, u, v = _operators.cross_entropy(
                logits, torch.tensor([case["target"]]), None, 0.0, -100, probe, "mean", KEY
            )
            assert sums[0].item() == pytest.approx(float(case["loss"]), rel=1e-13, abs=1e-60)
            torch.testing.assert_close(u, numbers(case["gradient"]), **close)
            torch.testing.assert_close(v, numbers(case[probe]), **close)
    for case in cases["binary_cross_entropy"]:
        p, y = (torch.tensor([float(case[name])], dtype=torch.float64) for name in ("logit", "target"))
        sums, u, v = _operators.elementwise("bce", [], p, y, "imitation", KEY)
        assert sums[0].item() == pytest.approx(float(case["loss"]), rel=1e-13, abs=1e-60)
        torch.testing.assert_close(u, numbers([case["gradient"]])[0], **close)
        torch.testing.assert_close(v, numbers([case["imitation"]])[0], **close)


@pytest.mark.parametrize("probe", ["imitation", "diagonal", "gauss-newton"])
def test_long_rows_in_float32(probe: str) -> None:
    """The vocabulary of a language model has a kernel of its own."""
    generator = torch.Generator().manual_seed(6)
    logits = 3 * torch.randn(4, 3000, generator=generator)
    target = torch.randint(3000, (4,), generator=generator)
    wide = _operators.cross_entropy(logits, target, None, 0.0, -100, probe, "mean", KEY)
    exact = _operators.cross_entropy(logits.double(), target, None, 0.0, -100, probe, "mean", KEY)
    torch.testing.assert_close(wide[0], exact[0], rtol=1e-6, atol=0)
    for one, other in zip(wide[1:], exact[1:], strict=True):
        largest = other.abs().amax(-1, keepdim=True)
        assert ((one - other).abs() <= 1e-6 * largest).all()


def focal(p: Tensor, y: Tensor, gamma: float = 1.5, alpha: float = 0.3) -> Tensor:
    q = torch.sigmoid(torch.where(y == 1, p, -p))
    return -(alpha * y + (1 - alpha) * (1 - y)) * (1 - q) ** gamma * torch.log(q)


def elementwise_cases() -> dict[str, tuple[list[float], object, Tensor, list[str]]]:
    """Options, torch's loss of each element, targets, probes beside gradient, imitation and diagonal."""
    generator = torch.Generator().manual_seed(8)
    random = torch.randn(ROWS, 4, generator=generator, dtype=torch.float64)
    labels = (random > 0).double()
    more = ["gauss-newton"]
    return {
        "mse": ([], lambda p, y: 0.5 * F.mse_loss(p, y, reduction="none"), random, [*more, "sampled-label"]),
        "bce": (
            [],
            lambda p, y: F.binary_cross_entropy_with_logits(p, y, reduction="none"),
            random.sigmoid(),
            [*more, "sampled-label"],
        ),
        "huber": ([0.7], lambda p, y: F.huber_loss(p, y, delta=0.7, reduction="none"), random, more),
        "log-cosh": ([], lambda p, y: torch.log(torch.cosh(p - y)), random, more),
        "poisson-nll": (
            [],
            lambda p, y: F.poisson_nll_loss(p, y, reduction="none"),
            random.abs().round(),
            [*more, "sampled-label"],
        ),
        "squared-hinge": ([], lambda p, y: torch.relu(1 - y * p) ** 2, 2 * labels - 1, more),
        "focal": ([1.5, 0.3], focal, labels, []),
    }


@pytest.mark.parametrize("loss", list(elementwise_cases()))
def test_elementwise_losses(loss: str) -> None:
    options, formula, y, more = elementwise_cases()[loss]
    p = (1.7 * torch.randn(ROWS, 4, generator=torch.Generator().manual_seed(9), dtype=torch.float64)).requires_grad_()
    value = formula(p, y)
    (gradient,) = torch.autograd.grad(value.sum(), p, create_graph=True)
    (second,) = torch.autograd.grad(gradient.sum(), p)
    close = {"rtol": 1e-10, "atol": 1e-12}
    p = p.detach()
    torch.testing.assert_close(_operators.elementwise_second(loss, options, p, y), second, **close)
    signs = _operators.draws("signs", ROWS, 4, KEY)
    for probe in ("gradient", "imitation", "diagonal", *more):
        made = _operators.elementwise(loss, options, p, y, probe, KEY)
        torch.testing.assert_close(
            made[0], torch.stack([value.sum().detach(), torch.tensor(float(ROWS)).double()]), **close
        )
        torch.testing.assert_close(made[1], gradient.detach(), **close)
        if probe in ("imitation", "diagonal"):
            torch.testing.assert_close(made[2], second.abs().sqrt(), **close)
        if probe == "gauss-newton":
            torch.testing.assert_close(made[2], signs * second.sqrt(), **close)
    for probe in {"gauss-newton", "sampled-label"} - set(more):
        with pytest.raises(ValueError, match=f"{loss}: this loss has no {probe} probe"):
            _operators.elementwise(loss, options, p, y, probe, KEY)


def test_sampled_labels() -> None:
    """Of the normal, the Bernoulli and the Poisson distribution: E[v] = 0, and E[v^2] is the second derivative."""
    rows = 40_000
    p = torch.full((rows, 2), 0.4, dtype=torch.float64)
    normal = _operators.elementwise("mse", [], p, p, "sampled-label", KEY)[2]
    torch.testing.assert_close(normal, -_operators.draws("normal", rows, 2, KEY), rtol=1e-12, atol=1e-12)
    bernoulli = _operators.elementwise("bce", [], p, p.sigmoid(), "sampled-label", KEY)[2]
    ones = (_operators.draws("uniform", rows, 2, KEY) < p.sigmoid()).double()
    torch.testing.assert_close(bernoulli, p.sigmoid() - ones, rtol=1e-12, atol=1e-12)
    poisson = _operators.elementwise("poisson-nll", [], p, torch.ones_like(p), "sampled-label", KEY)[2]
    counts = p.exp() - poisson
    torch.testing.assert_close(counts, counts.round(), rtol=0, atol=1e-9)
    for v, variance in ((normal, 1.0), (bernoulli, 0.6 * 0.4), (poisson, math.exp(0.4))):
        expected = variance if v is not bernoulli else (p[0, 0].sigmoid() * (1 - p[0, 0].sigmoid())).item()
        error = 5 * math.sqrt(expected / v.numel())
        assert abs(v.mean().item()) < error
        assert v.square().mean().item() == pytest.approx(expected, rel=0.03)


def test_random_numbers_do_not_depend_on_micro_batches() -> None:
    logits, target = torch.randn(10, 7), torch.randint(7, (10,))
    whole = _operators.cross_entropy(logits, target, None, 0.0, -100, "gauss-newton", "mean", [1, 2, 100, 0])[2]
    part = _operators.cross_entropy(logits[6:], target[6:], None, 0.0, -100, "gauss-newton", "mean", [1, 2, 106, 0])[2]
    assert torch.equal(whole[6:], part)
    for other in ([2, 2, 100, 0], [1, 3, 100, 0], [1, 2, 101, 0], [1, 2, 100, 1]):
        v = _operators.cross_entropy(logits, target, None, 0.0, -100, "gauss-newton", "mean", other)[2]
        assert not torch.equal(whole, v)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.integers(1, 4), min_size=0, max_size=2), st.integers(1, 9), st.sampled_from(PROBES), st.booleans())
def test_shapes_and_strides(batch: list[int], classes: int, probe: str, transposed: bool) -> None:
    shape = [*batch, 2, classes]
    logits = torch.randn(shape[::-1]).permute(*reversed(range(len(shape)))) if transposed else torch.randn(shape)
    target = torch.randint(classes, shape[:-1])
    sums, *vectors = _operators.cross_entropy(logits, target, None, 0.0, -100, probe, "mean", KEY)
    expected = F.cross_entropy(logits.reshape(-1, classes), target.reshape(-1), reduction="sum")
    torch.testing.assert_close(sums[0].float(), expected, rtol=1e-5, atol=1e-5)
    flat = _operators.cross_entropy(
        logits.reshape(-1, classes), target.reshape(-1), None, 0.0, -100, probe, "mean", KEY
    )
    for one, other in zip(vectors, flat[1:], strict=True):
        assert one.shape == logits.shape
        assert one.is_contiguous()
        assert torch.equal(one.reshape(-1, classes), other)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_predictions_that_are_not_finite(bad: float) -> None:
    """They make everything NaN, which a GradScaler and a policy for gradients can see; the count stays."""
    logits, target = torch.randn(3, 4), torch.tensor([1, -100, 2])
    logits[0, 1] = bad
    made = _operators.cross_entropy(logits, target, torch.ones(4).double(), 0.0, -100, "imitation", "mean", KEY)
    assert made[0][0].isnan()
    assert made[0][1] == 2.0
    made += _operators.elementwise("mse", [], logits, torch.zeros(3, 4), "diagonal", KEY)[1:]
    assert all(t.isnan().all() for t in made[1:])


def test_rows_that_are_all_ignored() -> None:
    made = _operators.cross_entropy(torch.randn(2, 3), torch.tensor([-1, -1]), None, 0.0, -1, "imitation", "mean", KEY)
    assert made[0].tolist() == [0.0, 0.0]
    assert not made[1].any()
    assert not made[2].any()


def loss_call(name: str, *arguments: object, **changes: object) -> list[Tensor]:
    if name != "cross_entropy":
        return _operators.elementwise(name, *arguments, "gradient", KEY)
    defaults = {"weight": None, "smoothing": 0.0, "ignore": -100, "probe": "gradient", "scale": "mean", "key": KEY}
    return _operators.cross_entropy(*arguments, *(defaults | changes).values())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: loss_call("cross_entropy", torch.zeros(2, 3), torch.tensor([0, 3])),
            "the target of row 1 is 3; expected 0 to 2, or -100",
        ),
        (lambda: loss_call("cross_entropy", torch.zeros(2, 3), torch.zeros(2)), "class indices of int64"),
        (lambda: loss_call("cross_entropy", torch.zeros(2, 3), torch.tensor([0, 1]).int()), "the target is int32"),
        (
            lambda: loss_call("cross_entropy", torch.zeros(2, 3), torch.tensor([0])),
            "the target has shape [1] and the predictions [2, 3]; expected [2]",
        ),
        (
            lambda: loss_call("cross_entropy", torch.zeros(3), torch.tensor(0)),
            "expected at least one row, [..., classes]",
        ),
        (lambda: loss_call("cross_entropy", torch.zeros(0, 3), torch.zeros(0).long()), "shape [0, 3]"),
        (
            lambda: loss_call("cross_entropy", torch.zeros(2, 3).half(), torch.tensor([0, 1])),
            "the predictions are float16: convert them with .float()",
        ),
        (lambda: loss_call("cross_entropy", torch.zeros(1, 2), torch.tensor([[0.5, 0.6]])), "add up to 1.1"),
        (lambda: loss_call("cross_entropy", torch.zeros(1, 2), torch.tensor([[1.5, -0.5]])), "row 0, class 1 is -0.5"),
        (
            lambda: loss_call("cross_entropy", torch.zeros(1, 2), torch.tensor([0]), weight=torch.ones(3).double()),
            "expected float64 of shape [2]",
        ),
        (
            lambda: loss_call(
                "cross_entropy", torch.zeros(1, 2), torch.tensor([0]), weight=torch.tensor([1.0, -1.0]).double()
            ),
            "the weight of class 1 is -1",
        ),
        (
            lambda: loss_call("cross_entropy", torch.zeros(1, 2), torch.tensor([0]), smoothing=1.0),
            "label_smoothing is 1",
        ),
        (
            lambda: loss_call("cross_entropy", torch.zeros(1, 2), torch.tensor([0]), probe="hessian"),
            "unknown probe 'hessian'",
        ),
        (
            lambda: loss_call("cross_entropy", torch.zeros(1, 2), torch.tensor([0]), key=[1, 2]),
            "a random key has 2 entries",
        ),
        (
            lambda: loss_call("cross_entropy", torch.zeros(1, 2), torch.tensor([0]), key=[1, 2, 3, 70000]),
            "the stream of a random key is 70000",
        ),
        (
            lambda: loss_call("bce", [], torch.zeros(2, 2), torch.full((2, 2), 2.0)),
            "bce: the target of row 0, output 0 is 2; expected a number from 0 to 1",
        ),
        (
            lambda: loss_call("mse", [], torch.zeros(2, 2), torch.zeros(2, 1)),
            "expected equal shapes: nothing is broadcast",
        ),
        (
            lambda: loss_call("mse", [], torch.zeros(2), torch.zeros(2).double()),
            "convert the target with .to(predictions)",
        ),
        (lambda: loss_call("mse", [1.0], torch.zeros(2), torch.zeros(2)), "mse: there are 1 options; expected 0"),
        (lambda: loss_call("huber", [0.0], torch.zeros(2), torch.zeros(2)), "huber: delta is 0"),
        (lambda: loss_call("focal", [2.0, 1.0], torch.zeros(2), torch.zeros(2)), "focal: alpha is 1"),
        (lambda: loss_call("hinge", [], torch.zeros(2), torch.zeros(2)), "unknown loss 'hinge'"),
    ],
)
def test_bad_input_of_losses(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=".") as error:
        call()
    assert message in str(error.value)
    assert "\n" not in str(error.value)


# Norms


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 70_000), max_size=4), st.sampled_from([torch.float32, torch.float64]))
def test_norms(sizes: list[int], dtype: torch.dtype) -> None:
    tensors = [torch.randn(size).to(dtype) for size in sizes]
    found = _operators.norms(tensors)
    assert found.shape == (len(sizes), 3)
    for tensor, (squares, largest, finite) in zip(tensors, found.tolist(), strict=True):
        assert squares == pytest.approx(tensor.double().square().sum().item(), rel=1e-12)
        assert largest == (tensor.abs().max().item() if tensor.numel() else 0.0)
        assert finite == 1.0


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("place", [0, 16_383, 16_384, 50_000])
def test_norms_of_what_is_not_finite(bad: float, place: int) -> None:
    tensor = torch.zeros(50_001)
    tensor[place] = bad
    assert _operators.norms([torch.ones(3), tensor])[:, 2].tolist() == [1.0, 0.0]
    assert _operators.within([torch.ones(3), tensor], 1e30).tolist() == [True, False]


def test_within() -> None:
    tensors = [torch.tensor([-2.0, 1.0]), torch.tensor([2.5]), torch.zeros(0)]
    assert _operators.within(tensors, 2.0).tolist() == [True, False, True]
    assert _operators.within(tensors, 3.0).tolist() == [True, True, True]
    with pytest.raises(ValueError, match="the limit is inf, not finite"):
        _operators.within(tensors, math.inf)
    with pytest.raises(ValueError, match="tensor 1 is float16; expected contiguous tensors"):
        _operators.norms([torch.zeros(2), torch.zeros(2).half()])
    with pytest.raises(ValueError, match="tensor 0 is float32, not contiguous"):
        _operators.within([torch.zeros(4)[::2]], 1.0)
