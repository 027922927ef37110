"""What makes one optimizer differ from another: the recipe, and the settings that its rule reads.

The equations behind the names are in include/lehi/recipe.h; the plan and the coefficients come from C++ (_operators).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from torch import Tensor

from lehi import _operators


@dataclass(frozen=True)
class Recipe:
    """The parts of an optimizer; `str(recipe)` is the form in which states record it."""

    probe: str = "gradient"
    every: int = 1
    dense: int = 0
    alternate: bool = False
    doubling: bool = False
    accumulator: str = "ema"
    mix: str = "none"
    rule: str = "adam"
    decay: str = "decoupled"
    scale: str = "sqrt-n"
    shape: str = "diagonal"
    factors: str = "probe"
    sides: str = "automatic"
    cost: float = 0.5
    square_blocks: bool = False
    basis_every: int = 1
    step_factor: float = 1.0

    def __str__(self) -> str:
        return " ".join(f"{part.name.replace('_', '-')}={_word(getattr(self, part.name))}" for part in fields(self))

    @property
    def pulls_probe(self) -> bool:
        """Some steps need a second backward pass."""
        return self.probe != "gradient"

    @property
    def reads_count(self) -> bool:
        """Steps depend on the number of predictions over all ranks."""
        return self.rule == "sophia" or (self.shape == "kronecker" and self.sides == "automatic")


PARTS = frozenset(part.name for part in fields(Recipe))


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _from_words(text: str) -> Recipe:
    parts: dict[str, Any] = {}
    for word in text.split():
        key, _, value = word.partition("=")
        name = key.replace("-", "_")
        default = getattr(Recipe, name)
        parts[name] = value == "yes" if isinstance(default, bool) else type(default)(value)
    return Recipe(**parts)


def preset(name: str) -> tuple[Recipe, dict[str, float]]:
    """A named optimizer's recipe and numbers."""
    presets = _operators.presets()
    if name not in presets:
        raise ValueError(f"there is no optimizer '{name}'; expected one of {', '.join(presets)}")
    entry = presets[name]
    return _from_words(entry["recipe"]), dict(entry["numbers"])


def preset_names() -> list[str]:
    return list(_operators.presets())


def _names_of_rule(recipe: Recipe) -> list[str]:
    if recipe.rule == "sgd":
        return ["lr", "momentum", "dampening", "weight_decay", "nesterov"]
    if recipe.rule == "rmsprop":
        alpha = [] if recipe.accumulator == "plain-sum" else ["alpha"]
        return ["lr", *alpha, "eps", "weight_decay", "momentum"]
    if recipe.rule == "lion":
        return ["lr", "betas", "weight_decay"]
    extra = {"nadam": ["momentum_decay"], "sophia": ["rho"]}.get(recipe.rule, [])
    return ["lr", "betas", "eps", "weight_decay", *extra]


def setting_names(recipe: Recipe) -> list[str]:
    """The keys of a parameter group that the recipe reads, as torch.optim calls them."""
    shaped = {"orthogonal": ["momentum", "nesterov"], "kronecker": ["beta3"]}.get(recipe.shape, [])
    names = _names_of_rule(recipe)
    return names + [name for name in shaped if name not in names]


def default_settings(recipe: Recipe, numbers: Mapping[str, float]) -> dict[str, Any]:
    every = {
        **numbers,
        "betas": (numbers["beta1"], numbers["beta2"]),
        "alpha": numbers["beta2"],
        "nesterov": bool(numbers["nesterov"]),
    }
    return {name: every[name] for name in setting_names(recipe)}


def numbers_of(group: Mapping[str, Any], defaults: Mapping[str, float]) -> list[float]:
    """A parameter group's numbers in the order of _operators.NUMBERS. Settings may be 0-dim tensors."""
    numbers = dict(defaults)
    for name, value in group.items():
        if name == "betas":
            numbers["beta1"], numbers["beta2"] = float(value[0]), float(value[1])
        elif name == "alpha":
            numbers["beta2"] = float(value)
        elif name in numbers and isinstance(value, (int, float, Tensor)):
            numbers[name] = float(value)
    return [numbers[name] for name in _operators.NUMBERS]
