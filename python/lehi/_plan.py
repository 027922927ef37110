"""The plan and the coefficients of a step in plain Python, for where the C++ operators are not installed.

Line by line src/lib/plan/*.cpp, which explains it; test_operators.py compares the two bit for bit. presets.json is what
the operator `presets` returns.
"""

from __future__ import annotations

import functools
import json
import math
import pathlib
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

NUMBERS = (
    "lr",
    "beta1",
    "beta2",
    "eps",
    "weight_decay",
    "momentum",
    "dampening",
    "nesterov",
    "momentum_decay",
    "rho",
    "beta3",
)


class Plan(NamedTuple):
    """What a step needs."""

    feed: int
    """What enters v: 0 nothing, 1 the gradient, 2 the probe, 3 the sum of both squares, 4 the larger"""
    covers: int
    refreshes: bool
    second_backward: bool
    squares_probe: bool
    squares_gradient: bool
    probe_factors: bool
    gradient_factors: bool
    gradient_bases: bool


class Coefficients(NamedTuple):
    """One parameter's step."""

    updates: bool
    step: int
    """The counts after the step"""
    steps_covered: int
    momentum_product: float
    keeps_m: bool
    keeps_v: bool
    keeps_v_max: bool
    values: list[float]
    """for `update`: form, feed, g_factor, s_factor, v_decay, v_gain, v_scale, m_decay, m_gain, m_rate, g_rate, w_decay,
    eps, coupled_decay"""


_CHOICES = {
    "probe": ("gradient", "imitation", "diagonal", "gauss-newton", "sampled-label"),
    "alternate": ("yes", "no"),
    "doubling": ("yes", "no"),
    "accumulator": ("running-sum", "ema", "ema-max", "ema-per-refresh", "plain-sum"),
    "mix": ("none", "sum", "max", "gradient"),
    "rule": ("adam", "adam-simplified", "nadam", "radam", "sophia", "sgd", "rmsprop", "lion"),
    "decay": ("decoupled", "coupled"),
    "scale": ("sqrt-n", "mean"),
    "shape": ("diagonal", "kronecker", "orthogonal"),
    "factors": ("probe", "gradient", "both", "random"),
    "sides": ("automatic", "smaller", "both"),
    "square-blocks": ("yes", "no"),
}
_NUMBERS_OF_RECIPE = {"every": int, "dense": int, "cost": float, "basis-every": int, "step-factor": float}
_DEFAULTS = (
    "probe=gradient every=1 dense=0 alternate=no doubling=no accumulator=ema mix=none rule=adam decay=decoupled "
    "scale=sqrt-n shape=diagonal factors=probe sides=automatic cost=0.5 square-blocks=no basis-every=1 step-factor=1"
)
_LARGEST_RATE = 1e18
_MOST_STEPS = 1 << 40
_BELOW_ONE = math.nextafter(1.0, 0.0)
_ABOVE_ZERO = math.ulp(0.0)

_Parts = dict[str, Any]


@functools.cache
def _presets_text() -> str:
    return pathlib.Path(__file__).with_name("presets.json").read_text()


def presets_from(text: str) -> dict[str, dict[str, Any]]:
    presets: dict[str, dict[str, Any]] = json.loads(text)
    for preset in presets.values():
        preset["numbers"] = {name: float(value) for name, value in preset["numbers"].items()}
    return presets


def presets() -> dict[str, dict[str, Any]]:
    return presets_from(_presets_text())


def _words(text: str) -> dict[str, str]:
    words = {}
    for word in text.split():
        key, equals, value = word.partition("=")
        if not equals:
            raise ValueError(f"'{word}' in a recipe is not of the form part=value")
        words[key] = value
    return words


def _number_text(value: float) -> str:
    return repr(value).removesuffix(".0")


def _range(name: str, value: float, low: float, high: float, text: str) -> None:
    if not low <= value <= high:
        raise ValueError(f"{name} is {_number_text(value)}, but must be {text}")


@functools.lru_cache(maxsize=64)
def _recipe(text: str) -> _Parts:
    parts: _Parts = dict(_words(_DEFAULTS)) | _words(text)
    for key, value in parts.items():
        if key in _CHOICES:
            if value not in _CHOICES[key]:
                raise ValueError(f"the recipe's {key} is '{value}': expected one of {', '.join(_CHOICES[key])}")
        elif key in _NUMBERS_OF_RECIPE:
            try:
                parts[key] = _NUMBERS_OF_RECIPE[key](value)
            except ValueError:
                raise ValueError(f"the recipe's {key} is '{value}', but must be a number") from None
        else:
            raise ValueError(f"a recipe has no part '{key}'; the parts are those of: {_DEFAULTS}")
    _check_recipe(parts)
    return parts


def _check_recipe(r: _Parts) -> None:
    _range("schedule.every, the refresh spacing,", r["every"], 1, _MOST_STEPS, f"from 1 to {_MOST_STEPS}")
    _range("schedule.dense, the dense start,", r["dense"], 0, _MOST_STEPS, f"from 0 to {_MOST_STEPS}")
    if r["doubling"] == "yes" and (r["dense"] != 0 or r["alternate"] == "yes"):
        raise ValueError("schedule.doubling can't be joined with a dense start or alternate")
    _range("kronecker.cost", r["cost"], _ABOVE_ZERO, sys.float_info.max, "a number > 0")
    _range("kronecker.basis_every", r["basis-every"], 1, _MOST_STEPS, f"from 1 to {_MOST_STEPS}")
    _range("kronecker.step_factor", r["step-factor"], _ABOVE_ZERO, 1e18, "a number > 0, at most 1e18")
    if r["mix"] == "gradient" and r["shape"] != "kronecker":
        raise ValueError(
            f"mix gradient leaves the probe to the kronecker shape's factors, but the shape is {r['shape']}"
        )
    if r["shape"] == "kronecker" and r["probe"] == "gradient" and r["factors"] != "gradient":
        raise ValueError(
            f"factors from the {r['factors']} need a probe, but the probe is the gradient: choose factors gradient"
        )


def _hyperparameters(numbers: Sequence[float], rule: str) -> dict[str, float]:
    if len(numbers) != len(NUMBERS):
        raise ValueError(f"there are {len(numbers)} numbers; expected {len(NUMBERS)}: {', '.join(NUMBERS)}")
    n = dict(zip(NUMBERS, map(float, numbers)))
    largest = sys.float_info.max
    _range("lr", n["lr"], 0.0, _LARGEST_RATE, "in [0, 1e18]")
    _range("beta1", n["beta1"], 0.0, _BELOW_ONE, "in [0, 1)")
    _range("beta2", n["beta2"], 0.0, _BELOW_ONE, "in [0, 1)")
    if rule == "adam-simplified":
        _range("eps", n["eps"], _ABOVE_ZERO, largest, "a finite number > 0 (it stands inside the root)")
    else:
        _range("eps", n["eps"], 0.0, largest, "a finite number >= 0")
    _range("weight_decay", n["weight_decay"], 0.0, _LARGEST_RATE, "in [0, 1e18]")
    _range("momentum", n["momentum"], 0.0, 1.0, "in [0, 1]")
    _range("dampening", n["dampening"], 0.0, 1.0, "in [0, 1]")
    _range("momentum_decay", n["momentum_decay"], 0.0, largest, "a finite number >= 0")
    _range("rho", n["rho"], _ABOVE_ZERO, _LARGEST_RATE, "in (0, 1e18]")
    _range("beta3", n["beta3"], 0.0, _BELOW_ONE, "in [0, 1)")
    if n["nesterov"] and (n["momentum"] == 0.0 or n["dampening"] != 0.0):
        raise ValueError(
            f"nesterov needs momentum > 0 and dampening 0, but momentum is {_number_text(n['momentum'])} and dampening "
            f"{_number_text(n['dampening'])}"
        )
    return n


def check(recipe: str, numbers: Sequence[float]) -> str:
    parts = _recipe(recipe)
    _hyperparameters(numbers, parts["rule"])
    texts = {key: _number_text(value) if key in _NUMBERS_OF_RECIPE else value for key, value in parts.items()}
    return " ".join(f"{key}={texts[key]}" for key in _words(_DEFAULTS))


def difference(saved: str, recipe: str) -> str:
    there = _words(_DEFAULTS) | _words(saved)
    here = _words(check(recipe, list(presets()["adamw"]["numbers"].values())))
    for key in sorted(there):
        if key not in here:
            return f"{key}={there[key]} there, which this version does not have"
        if here[key] != there[key]:
            return f"{key}={there[key]} there, {key}={here[key]} here"
    return ""


def _keeps_v(rule: str) -> bool:
    return rule not in ("sgd", "lion")


class _Refresh(NamedTuple):
    due: bool = False
    use_gradient: bool = False
    covers: int = 0


def _refresh_at(every: int, dense: int, alternate: bool, doubling: bool, step: int) -> _Refresh:
    if doubling:
        if step >= every:
            due = step % every == 0
            return _Refresh(due, covers=every if due else 0)
        if step & (step - 1):
            return _Refresh()
        return _Refresh(True, covers=min(2 * step, every) - step)
    past_dense = step - 1 - dense
    if past_dense < 0:
        return _Refresh(True, alternate and (step - 1) % 2 == 1, 1)
    if past_dense % every == 0:
        return _Refresh(True, alternate and (dense + past_dense // every) % 2 == 1, every)
    return _Refresh()


def plan_step(recipe: str, step: int) -> Plan:
    r = _recipe(recipe)
    if step < 1:
        raise ValueError(f"the step of the schedule is {step}, but steps are counted from 1")
    doubling = r["doubling"] == "yes"
    refresh = _refresh_at(r["every"], r["dense"], r["alternate"] == "yes", doubling, step)
    if r["probe"] == "gradient":
        refresh = refresh._replace(use_gradient=True)
    probe_factors = gradient_factors = gradient_bases = False
    if r["shape"] == "kronecker":
        probe_factors = r["factors"] != "gradient" and refresh.due and not refresh.use_gradient
        gradient_factors = r["factors"] in ("both", "gradient")
        gradient_bases = gradient_factors and _refresh_at(r["basis-every"], 0, False, doubling, step).due
    if r["mix"] != "none" and not refresh.due:
        refresh = _Refresh(True, True, 1)
    if r["mix"] != "none" and r["shape"] == "kronecker":
        refresh = refresh._replace(covers=1)
    feed = 0
    if refresh.due and _keeps_v(r["rule"]):
        feed = 1 if refresh.use_gradient else {"none": 2, "sum": 3, "max": 4, "gradient": 1}[r["mix"]]
    squares_probe = feed > 1
    return Plan(
        feed=feed,
        covers=refresh.covers,
        refreshes=feed != 0,
        second_backward=squares_probe or probe_factors,
        squares_probe=squares_probe,
        squares_gradient=feed not in (0, 2),
        probe_factors=probe_factors,
        gradient_factors=gradient_factors,
        gradient_bases=gradient_bases,
    )


def _bias_correction(accumulator: str, beta2: float, covered: int) -> float:
    if accumulator == "running-sum":
        return (1.0 - beta2) / (1.0 - beta2**covered)
    if accumulator in ("ema", "ema-max"):
        return 1.0 / (1.0 - beta2**covered)
    return 1.0


def _accumulator(accumulator: str, beta2: float, covers: int) -> tuple[float, float]:
    """v_decay and v_gain."""
    decay: float = beta2**covers
    if accumulator == "running-sum":
        return decay, 1.0 if covers == 1 else (1.0 - decay) / (1.0 - beta2)
    if accumulator in ("ema", "ema-max"):
        return decay, 1.0 - decay
    if accumulator == "ema-per-refresh":
        return beta2, 1.0 - beta2
    return 1.0, float(covers)


def _nadam_momentum(n: dict[str, float], step: int) -> float:
    decayed: float = 0.96 ** (step * n["momentum_decay"])
    return n["beta1"] * (1.0 - 0.5 * decayed)


_SCALED, _ROOT_SUM, _CLIPPED, _LINEAR, _QUOTIENT, _SIGN = range(6)


def coefficients(
    recipe: str,
    numbers: Sequence[float],
    schedule_step: int,
    step: int,
    steps_covered: int,
    momentum_product: float,
    count: float,
) -> Coefficients:
    r = _recipe(recipe)
    rule = r["rule"]
    n = _hyperparameters(numbers, rule)
    plan = plan_step(recipe, schedule_step)
    if step < 0 or steps_covered < 0:
        raise ValueError(f"a parameter's counts are {step} steps, {steps_covered} covered, but must be 0 or more")
    keeps_v = _keeps_v(rule)
    keeps_m = rule not in ("sgd", "rmsprop") or n["momentum"] > 0.0
    kept = (keeps_m, keeps_v, keeps_v and r["accumulator"] == "ema-max")
    coupled_decay = n["weight_decay"] if r["decay"] == "coupled" else 0.0
    if keeps_v and steps_covered == 0 and not plan.refreshes:
        values = [0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, coupled_decay]
        return Coefficients(False, step, steps_covered, momentum_product, *kept, values)

    step += 1
    covered = steps_covered + plan.covers
    product = momentum_product * (_nadam_momentum(n, step) if rule == "nadam" else 1.0)
    lr, beta1, beta2 = n["lr"], n["beta1"], n["beta2"]
    w_decay = 1.0 - lr * n["weight_decay"] if r["decay"] == "decoupled" else 1.0
    feed, v_decay, v_gain, v_scale, correction = 0, 1.0, 1.0, 1.0, 1.0
    if keeps_v:
        feed = plan.feed
        v_decay, v_gain = _accumulator(r["accumulator"], beta2, plan.covers)
        correction = _bias_correction(r["accumulator"], beta2, covered)
    m_decay, m_gain, g_rate = beta1, 1.0 - beta1, 0.0
    m_correction = 1.0 - beta1**step
    if rule == "adam":
        form = _SCALED
        m_rate = lr / m_correction
        v_scale = math.sqrt(correction)
    elif rule == "adam-simplified":
        form = _ROOT_SUM
        m_gain = 1.0
        m_rate = lr * (1.0 - beta1) / math.sqrt(correction)
    elif rule == "nadam":
        now, following = _nadam_momentum(n, step), _nadam_momentum(n, step + 1)
        form = _SCALED
        m_rate = lr * following / (1.0 - product * following)
        g_rate = lr * (1.0 - now) / (1.0 - product)
        v_scale = math.sqrt(correction)
    elif rule == "radam":
        form, m_rate = _radam(n, covered, correction, m_correction)
    elif rule == "sophia":
        form = _CLIPPED
        m_rate = lr
        v_scale = n["rho"] * count * correction
    elif rule == "sgd":
        momentum = n["momentum"]
        form = _LINEAR
        m_decay = momentum
        m_gain = 1.0 if step == 1 else 1.0 - n["dampening"]
        m_rate = lr * (momentum if n["nesterov"] else 1.0) if momentum > 0.0 else 0.0
        g_rate = lr if momentum == 0.0 or n["nesterov"] else 0.0
    elif rule == "rmsprop":
        form = _QUOTIENT if n["momentum"] > 0.0 else _SCALED
        m_decay = n["momentum"]
        m_rate = g_rate = lr
    else:  # lion
        form = _SIGN
        m_decay, m_gain = beta2, 1.0 - beta2
        m_rate = lr
        v_scale, g_rate = beta1, 1.0 - beta1
    scalars = [v_decay, v_gain, v_scale, m_decay, m_gain, m_rate, g_rate, w_decay, n["eps"], coupled_decay]
    return Coefficients(True, step, covered, product, *kept, [float(form), float(feed), 1.0, 1.0, *scalars])


def _radam(n: dict[str, float], covered: int, correction: float, m_correction: float) -> tuple[int, float]:
    power = n["beta2"] ** covered
    limit = 2.0 / (1.0 - n["beta2"]) - 1.0
    length = limit - 2.0 * covered * power / (1.0 - power)
    m_rate = n["lr"] / m_correction
    if length <= 5.0:
        return _LINEAR, m_rate
    rectification = math.sqrt((length - 4.0) * (length - 2.0) * limit / ((limit - 4.0) * (limit - 2.0) * length))
    return _SCALED, m_rate * (rectification / math.sqrt(correction))


def probe_factor(scale: str, weight: float, count: float) -> float:
    return math.sqrt(weight / count) if scale == "sqrt-n" else weight / count


def _block_length(r: _Parts, side: int, other: int) -> int:
    if r["square-blocks"] == "no" or side <= other:
        return side
    length = other
    while 2 * length >= other and length >= 16:
        if side % length == 0:
            return length
        length -= 1
    return side


def matrix_blocks(
    recipe: str, rows: int, columns: int, convolution: bool, predictions: float, largest_side: int
) -> tuple[int, int]:
    r = _recipe(recipe)
    left, right = _block_length(r, rows, columns), _block_length(r, columns, rows)
    if rows <= 1 or columns <= 1:
        return 0, 0
    left = left if 1 < left <= largest_side else 0
    right = right if 1 < right <= largest_side else 0
    if not (left or right) or r["sides"] == "both":
        return left, right
    limit = r["cost"] * predictions * (16.0 if convolution else 1.0)
    automatic = r["sides"] == "automatic"
    if automatic and left + right <= limit:
        return left, right
    if left and right:
        left, right = (left, 0) if rows <= columns else (0, right)
    return (0, 0) if automatic and left + right > limit else (left, right)
