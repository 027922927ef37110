"""The one optimizer class: it runs any recipe. Named optimizers are in presets.py.

    optimizer = lehi.LehiGn(model.parameters(), lr=1e-3)
    loss = lehi.cross_entropy(model(x), y, optimizer=optimizer)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()

g comes from .grad, so that accumulation, clipping, DistributedDataParallel and GradScaler work as with torch.optim; s is
collected by the loss's backward pass on steps that refresh v.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import torch
from torch import Tensor, nn

from lehi import _matrix, _operators, _ranks, _state, _step
from lehi._backward import pull_back
from lehi._collector import Collector, Ticket
from lehi._probe_pass import ProbePasses
from lehi._recipe import PARTS, Recipe, default_settings, numbers_of, preset, setting_names
from lehi.losses import Loss, Request, mean_of

Params = Iterable[Tensor] | Iterable[tuple[str, Tensor]] | Iterable[dict[str, Any]]

POLICIES = ("throw", "skip", "record")


class NonFiniteError(FloatingPointError):
    """A gradient or probe is NaN or infinite, or too large for its square to be kept. Nothing was changed."""


@dataclass(frozen=True)
class StepReport:
    """What happened in the last step."""

    step: int = 0
    count: float = 1.0  # averaged predictions
    refreshed: bool = False  # new squares entered v
    second_pull_back: bool = False  # the probe was pulled back
    skipped: bool = False  # nothing was changed
    non_finite: bool = False


class Optimizer(torch.optim.Optimizer):
    """recipe: a preset's name or a Recipe. Settings: what the recipe's rule reads (lr, betas, eps, ...) and parts of
    the recipe (every, dense, probe, ...). seed: of the random probes. non_finite: what to do with a NaN, an infinity
    or an overflow: "throw" (the default where a probe is pulled back), "skip" the step, or "record" and go on (the
    default elsewhere, as in torch.optim). diagonal_names, largest_side: matrices that do not take the recipe's shape are
    those with one of these words in their name (from named_parameters()) and longer sides; a group may say
    diagonal=True."""

    # GradScaler calls step() at every step and says whether it found an infinity.
    _step_supports_amp_scaling = True

    def __init__(
        self,
        params: Params,
        recipe: str | Recipe = "lehi-gn",
        *,
        seed: int = 0,
        non_finite: str | None = None,
        diagonal_names: Sequence[str] = _matrix.DIAGONAL_NAMES,
        largest_side: int = 8192,
        **settings: Any,
    ) -> None:
        if isinstance(recipe, str):
            name, (parts, numbers) = recipe, preset(recipe)
        else:
            name, parts, numbers = "custom", recipe, preset("adam")[1]
        parts = replace(parts, **{key: settings.pop(key) for key in list(settings) if key in PARTS})
        if parts.shape == "kronecker" and parts.factors != "gradient":
            raise NotImplementedError(
                f"{name}: factors='{parts.factors}' are in the C++ library only: choose factors='gradient'"
            )
        known = setting_names(parts)
        unknown = [key for key in settings if key not in known]
        if unknown:
            raise TypeError(
                f"{name} has no setting '{unknown[0]}'; it has {', '.join(known)}, seed, non_finite, and the parts of "
                f"a recipe ({', '.join(sorted(PARTS))})"
            )
        if non_finite is None:
            non_finite = "throw" if parts.pulls_probe else "record"
        if non_finite not in POLICIES:
            raise ValueError(f"non_finite is {non_finite!r}; expected one of {', '.join(POLICIES)}")
        self.recipe = parts
        self.recipe_name = name
        self.seed = seed
        self.non_finite = non_finite
        self._numbers = numbers
        self._recipe_text = ""
        self._start_transients()
        defaults = {**default_settings(parts, numbers), **settings}
        self._recipe_text = _operators.check(str(parts), numbers_of(defaults, numbers))
        self._shapes = _matrix.Shapes(self._recipe_text, parts.shape, tuple(diagonal_names), largest_side)
        if parts.shape != "diagonal":
            defaults["diagonal"] = False
        super().__init__(params, defaults)
        self.param_groups[0].update(steps=0, schedule_start=0, known_parameters=0, recipe=self._recipe_text)

    def _start_transients(self) -> None:
        self.report = StepReport()
        self._collector = Collector()
        self._passes = ProbePasses(self)
        self._ranks: _ranks.Ranks | None = None
        self._first_row: int | None = None

    # Parameters and groups

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        super().add_param_group(param_group)
        group = self.param_groups[-1]
        try:
            extra = set(group) - set(self.defaults) - {"params", "param_names", *_state.COUNTERS, "initial_lr"}
            unread = extra & {
                "betas",
                "eps",
                "momentum",
                "alpha",
                "rho",
                "dampening",
                "nesterov",
                "maximize",
                "amsgrad",
            }
            if unread:
                known = ", ".join(setting_names(self.recipe))
                raise TypeError(f"{self.recipe_name} has no setting '{min(unread)}'; it has {known}")
            _operators.check(self._recipe_text, numbers_of(group, self._numbers))
            for i, parameter in enumerate(group["params"]):
                self._check_parameter(parameter, self._name(len(self.param_groups) - 1, i))
        except (TypeError, ValueError):
            self.param_groups.pop()
            raise

    def _check_parameter(self, parameter: Tensor, name: str) -> None:
        if parameter.is_complex():
            raise ValueError(f"{name} is complex: train torch.view_as_real() of it, as a real parameter")
        if not parameter.is_floating_point() or parameter.layout != torch.strided:
            raise ValueError(f"{name} is {parameter.dtype}, {parameter.layout}; expected a dense floating-point tensor")
        if self.recipe.shape != "diagonal" and _ranks.is_sharded(parameter):
            raise ValueError(
                f"{self.recipe_name} needs whole matrices, but {name} is divided by fully_shard(): use "
                "DistributedDataParallel, or an optimizer of the diagonal shape"
            )

    def _parameters(self) -> list[Tensor]:
        return [p for group in self.param_groups for p in group["params"]]

    def _name(self, group: int, index: int) -> str:
        names = self.param_groups[group].get("param_names")
        return names[index] if names else f"parameter {index} of group {group}"

    def _names(self) -> list[str]:
        return [self._name(g, i) for g, group in enumerate(self.param_groups) for i in range(len(group["params"]))]

    # The schedule

    @property
    def steps(self) -> int:
        """Steps taken."""
        return int(self.param_groups[0]["steps"])

    def _schedule_step(self) -> int:
        """The coming step of the schedule, which starts anew when parameters were added: they need a scale."""
        counters = self.param_groups[0]
        if counters["known_parameters"] != len(self._parameters()):
            return 1
        return int(counters["steps"]) + 1 - int(counters["schedule_start"])

    def _plan(self) -> _operators.Plan:
        return _operators.plan_step(self._recipe_text, self._schedule_step())

    @property
    def needs_probe(self) -> bool:
        """The coming step needs a probe that has not been pulled back yet."""
        return self._plan().second_backward and not self._has_probe()

    def _has_probe(self) -> bool:
        return any(term.s is not None or term.pending for term in self._collector.terms.values())

    # Several processes

    def distribute(self, model: nn.Module | None) -> None:
        """Sums the probe over the ranks that train `model`: in DistributedDataParallel, or after fully_shard(), where
        the probe needs a pass of its own (lehi.probe_loss). None: each rank trains a model of its own."""
        self._ranks = _ranks.Ranks(model)

    def set_first_row(self, row: int) -> None:
        """Where this rank's rows begin in the whole batch of a step, so that the random probes are those of one process.
        By default each rank has a range of its own."""
        self._first_row = row

    def _team(self) -> _ranks.Ranks:
        if self._ranks is None:
            shared = _ranks.world_size() > 1 or any(_ranks.is_sharded(p) for p in self._parameters())
            if shared and (self.recipe.pulls_probe or self.recipe.reads_count):
                raise RuntimeError(
                    f"{self.recipe_name} shares its steps with the ranks of this job: call optimizer.distribute(model) "
                    "once, after DistributedDataParallel or fully_shard() (distribute(None) where each rank trains a "
                    "model of its own)"
                )
            self._ranks = _ranks.Ranks(None)
        return self._ranks

    # What losses call

    def _open_loss(
        self, rows: int, weight: float, term: int | None, separate: bool = False
    ) -> tuple[Ticket | None, Request]:
        ranks = self._team()
        second = self._plan().second_backward
        if ranks.separate_pass_only and not separate and second and self.needs_probe:
            raise RuntimeError(
                f"step {self.steps + 1} needs a probe, which a model after fully_shard() pulls back in a pass of its "
                "own: if optimizer.needs_probe, call lehi.probe_loss(model(x), y, optimizer=optimizer).backward() "
                "before this loss"
            )
        if second and not separate and self._passes.used:
            return None, Request()  # this step's probe came in a pass of its own
        step = self.steps + 1
        ticket, before = self._collector.open(step, rows, term, weight, ranks.sums_now())
        if not second:
            return ticket, Request()
        first_row = ranks.rank << 40 if self._first_row is None else self._first_row
        key = (self.seed, step, first_row + before, ticket.term)
        return ticket, Request(self.recipe.probe, self.recipe.scale, key)

    def _collect(
        self,
        ticket: Ticket,
        predictions: Tensor,
        v: Tensor | None,
        own: tuple[Tensor | None, Tensor | None],
        count: Tensor,
        factor: Tensor,
    ) -> None:
        """Within a loss's backward pass: pulls v back, before the ordinary backward pass frees the graph."""
        if ticket.step != self.steps + 1:
            return  # of a step that is over
        ranks = self._team()
        parameters = self._parameters()
        self._collector.forget_if_cleared(parameters)
        s: list[Tensor | None] | None = None
        if v is not None:
            s = self._pull_back(predictions, v.to(predictions.dtype), own, parameters)
        term = self._collector.add(ticket, count, s, factor.detach() if s is not None else None)
        if not ranks.several:
            return
        term.unsent = True
        if ticket.sums_now and (s is not None or self.recipe.reads_count or term.s is not None):
            term.send(ranks, parameters)

    def _pull_back(
        self, predictions: Tensor, v: Tensor, own: tuple[Tensor | None, Tensor | None], parameters: Sequence[Tensor]
    ) -> list[Tensor | None]:
        s: list[Tensor | None] = [None] * len(parameters)
        if predictions.requires_grad:
            s = pull_back(predictions, v, parameters, keep_graph=True)
        weight, weight_v = own
        if weight is not None and weight_v is not None:
            for i, parameter in enumerate(parameters):
                if parameter is weight:
                    part = s[i]
                    s[i] = weight_v if part is None else part + weight_v
        if all(part is None for part in s):
            raise ValueError(
                "none of the optimizer's parameters took part in these predictions: give the loss the optimizer of the "
                "model that made them"
            )
        return s

    def _begin_probe_pass(self, ticket: Ticket, count: Tensor) -> None:
        if ticket.step == self.steps + 1:
            self._passes.begin(ticket, count)

    def loss(
        self, predictions: Tensor, loss: Loss, target: Tensor, *, loss_weight: float = 1.0, term: int | None = None
    ) -> Tensor:
        """loss(predictions, target, optimizer=self)."""
        return loss.forward(predictions, target, optimizer=self, loss_weight=loss_weight, term=term)

    # Steps

    @overload
    def step(self, closure: None = None) -> None: ...
    @overload
    def step(self, closure: Callable[[], Any]) -> Any: ...
    @overload
    def step(self, closure: Tensor, loss: Loss, target: Tensor) -> Tensor: ...
    def step(
        self, closure: Callable[[], Any] | Tensor | None = None, loss: Loss | None = None, target: Tensor | None = None
    ) -> Any:
        """step(): the update from .grad and the collected probe. step(closure): the same, after calling it.
        step(predictions, loss, target): loss, backward passes and update in one call; .grad is neither read nor
        written; returns the mean loss."""
        if loss is not None or target is not None or isinstance(closure, Tensor):
            if not (isinstance(closure, Tensor) and isinstance(loss, Loss) and isinstance(target, Tensor)):
                raise TypeError(
                    "step() takes nothing, a closure, or predictions, one of lehi's loss modules and the target: "
                    "optimizer.step(model(x), lehi.CrossEntropyLoss(), y)"
                )
            return self._step_on(closure, loss, target)
        value = None
        if closure is not None:
            with torch.enable_grad():
                value = closure()
        self._step_from_grad()
        return value

    @torch.no_grad()
    def _step_from_grad(self) -> None:
        scale, found = getattr(self, "grad_scale", None), getattr(self, "found_inf", None)
        if found is not None and bool(found):
            self._skip()
            return
        parameters = self._parameters()
        plan = self._plan()
        for term in self._collector.terms.values():
            if term.unsent and (plan.second_backward or self.recipe.reads_count):
                raise RuntimeError(
                    "the probe was not summed over the ranks: the last backward pass of a step must be outside of "
                    "no_sync()"
                )
            term.receive(parameters)
        if plan.second_backward and not self._has_probe():
            if all(float(group["lr"]) == 0.0 for group in self.param_groups):
                self._begin_states()  # how torch's distributed checkpoints make a state before they load it
                return
            raise RuntimeError(
                f"step {self.steps + 1} of {self.recipe_name} needs a {self.recipe.probe} probe, which no loss has "
                "pulled back: compute the loss by lehi.cross_entropy(..., optimizer=optimizer) or another of lehi's "
                "losses, and call its backward() before step()"
            )
        gradients = _step.scaled_probe(self, plan, [_step.dense_grad(p) for p in parameters])
        if scale is not None:
            gradients.g_factor = 1.0 / float(scale)
        self._apply(plan, gradients)

    def _step_on(self, predictions: Tensor, loss: Loss, target: Tensor) -> Tensor:
        if self._team().several:
            raise RuntimeError(
                "step(predictions, loss, target) works in one process: with several ranks call backward() on the loss "
                "and then step()"
            )
        if self._collector.terms:
            raise RuntimeError("a backward pass waits for step(): call step() or zero_grad() first")
        plan = self._plan()
        request = Request()
        if plan.second_backward:
            request = Request(
                self.recipe.probe, self.recipe.scale, (self.seed, self.steps + 1, self._first_row or 0, 0)
            )
        evaluation = loss.evaluate(predictions, target, request)
        value, _ = mean_of(loss, evaluation, 1.0)
        parameters = self._parameters()
        own, vectors = loss.weight_parameter(), evaluation.vectors
        s: list[Tensor | None] = [None] * len(parameters)
        if plan.second_backward:
            v = vectors["v"].to(predictions.dtype)
            s = self._pull_back(predictions, v, (own, vectors.get("weight_v")), parameters)
        g = pull_back(predictions, evaluation.u.to(predictions.dtype), parameters, keep_graph=False)
        for i, parameter in enumerate(parameters):
            if own is not None and parameter is own:
                part = g[i]
                g[i] = vectors["weight_u"] if part is None else part + vectors["weight_u"]
        count = float(evaluation.count)
        factor = _operators.probe_factor(self.recipe.scale, 1.0, count) if plan.second_backward else 1.0
        with torch.no_grad():
            self._apply(plan, _step.Gradients(g, s, 1.0 / count, factor, count, True))
        return value

    def _apply(self, plan: _operators.Plan, gradients: _step.Gradients) -> None:
        problem = None if self.non_finite == "record" else _step.problem(self, plan, gradients)
        if problem is not None:
            self._skip()
            if self.non_finite == "throw":
                raise NonFiniteError(
                    f"step {self.steps + 1}: {problem}, so no weight was changed: lower the learning rate, clip the "
                    "gradients, or choose non_finite='skip'"
                )
            return
        schedule_step = self._schedule_step()
        for group in self.param_groups:
            _operators.check(self._recipe_text, numbers_of(group, self._numbers))
        _step.update(self, schedule_step, plan, gradients)
        counters = self.param_groups[0]
        known = len(self._parameters())
        if counters["known_parameters"] != known:
            counters["schedule_start"] = counters["steps"]
        counters["known_parameters"] = known
        counters["steps"] += 1
        self.report = StepReport(self.steps, gradients.count, plan.refreshes, plan.second_backward)
        self._finish()

    def _first_coefficients(self, group: dict[str, Any]) -> _operators.Coefficients:
        return _operators.coefficients(self._recipe_text, numbers_of(group, self._numbers), 1, 0, 0, 1.0, 1.0)

    def _kept(self, group: dict[str, Any]) -> tuple[bool, bool, bool]:
        made = self._first_coefficients(group)
        return made.keeps_m, made.keeps_v, made.keeps_v_max

    def _begin_states(self) -> None:
        for group in self.param_groups:
            kept = self._first_coefficients(group)
            for parameter in group["params"]:
                if parameter.requires_grad:
                    _state.begin(self.state[parameter], parameter, kept)

    def _skip(self) -> None:
        self.report = StepReport(self.steps + 1, skipped=True, non_finite=True)
        self._finish()

    def _finish(self) -> None:
        self._collector.finish()
        self._passes.finish()

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets the probe, too."""
        self._collector.clear()
        self._passes.finish()
        super().zero_grad(set_to_none)

    # States

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        _state.check_saved(state_dict, self._recipe_text)
        super().load_state_dict(state_dict)
        _state.restore_precision(self, state_dict)
        self._finish()

    def named_state(self, names: Sequence[str] | None = None) -> dict[str, Tensor]:
        """The state under the names of the C++ library and the program (optimizer.safetensors). Names of the parameters
        in the order of the groups; not needed where the optimizer was made from named_parameters()."""
        return _state.named(self, list(names) if names is not None else self._names())

    def load_named_state(self, state: dict[str, Tensor], names: Sequence[str] | None = None) -> None:
        _state.load_named(self, state, list(names) if names is not None else self._names())
        self._finish()

    def __getstate__(self) -> dict[str, Any]:
        kept = ("recipe", "recipe_name", "seed", "non_finite", "_numbers", "_recipe_text", "_shapes")
        return {**super().__getstate__(), **{name: getattr(self, name) for name in kept}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if not hasattr(self, "_collector"):
            self._start_transients()

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ({self._recipe_text}", f"  steps: {self.steps}"]
        for i, group in enumerate(self.param_groups):
            settings = ", ".join(f"{name}={group[name]}" for name in setting_names(self.recipe))
            lines.append(f"  group {i}: {len(group['params'])} parameters, {settings}")
        return "\n".join(lines) + "\n)"
