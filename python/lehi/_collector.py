"""What the losses of a step leave for the optimizer: the pulled-back probe s and the count of each loss term.

Sums over micro-batches, ranks and uses of a tied weight come first; the optimizer scales and squares them.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from lehi._ranks import PendingSum, Ranks, local_part

_NO_TASK = -1


@dataclass
class Term:
    """Sums of one loss term. `s` is unscaled: J^T v, one tensor a parameter, None where it took no part."""

    weight: float
    count: Tensor | None = None
    s: list[Tensor | None] | None = None
    pending: list[tuple[PendingSum, bool]] = field(default_factory=list)
    unsent: bool = False  # local sums wait for a backward pass outside of no_sync()
    factors: list[Tensor] = field(default_factory=list)

    def add(self, count: Tensor, s: Sequence[Tensor | None] | None) -> None:
        self.count = count if self.count is None else self.count + count
        if s is None:
            return
        if self.s is None:
            self.s = list(s)
            return
        for i, part in enumerate(s):
            old = self.s[i]
            self.s[i] = part if old is None else old if part is None else old + part

    def send(self, ranks: Ranks, parameters: Sequence[Tensor]) -> None:
        """Starts the sum over the ranks of what was added since the last one."""
        if self.count is None:
            return
        tensors = [self.count.reshape(1)]
        if self.s is not None:
            for part, parameter in zip(self.s, parameters, strict=True):
                # A parameter that took no part here may have done so on another rank.
                if parameter.requires_grad:
                    tensors.append(torch.zeros_like(local_part(parameter)) if part is None else part)
        self.pending.append((ranks.start(tensors), self.s is not None))
        self.count, self.s, self.unsent = None, None, False

    def receive(self, parameters: Sequence[Tensor]) -> None:
        for sums, with_probe in self.pending:
            count, *parts = sums.wait()
            s: list[Tensor | None] | None = None
            if with_probe:
                arrived = iter(parts)
                s = [next(arrived) if p.requires_grad else None for p in parameters]
            self.add(count[0], s)
        self.pending.clear()


class Ticket:
    """One evaluation of a loss, from its forward to its backward pass."""

    def __init__(self, step: int, term: int, weight: float, sums_now: bool) -> None:
        self.step = step
        self.term = term
        self.weight = weight
        self.sums_now = sums_now
        self.used = False


class Collector:
    def __init__(self) -> None:
        self.terms: dict[int, Term] = {}
        self._rows: dict[int, int] = {}
        self._open: list[weakref.ref[Ticket]] = []
        self._task = _NO_TASK

    def open(self, step: int, rows: int, term: int | None, weight: float, sums_now: bool) -> tuple[Ticket, int]:
        """The ticket of a loss, and how many rows of its term came before it in this step.

        Losses that are evaluated before one of them is pulled back are different terms; the others are micro-batches.
        """
        if term is None:
            alive = (ref() for ref in self._open)
            taken = {t.term for t in alive if t is not None and not t.used and t.step == step}
            term = next(i for i in range(len(taken) + 1) if i not in taken)
        before = self._rows.get(term, 0)
        self._rows[term] = before + rows
        ticket = Ticket(step, term, weight, sums_now)
        self._open = [ref for ref in self._open if (t := ref()) is not None and not t.used]
        self._open.append(weakref.ref(ticket))
        return ticket, before

    def add(self, ticket: Ticket, count: Tensor, s: Sequence[Tensor | None] | None, factor: Tensor | None) -> Term:
        term = self.terms.setdefault(ticket.term, Term(ticket.weight))
        if term.weight != ticket.weight:
            raise ValueError(
                f"loss term {ticket.term} has weight {ticket.weight}, but had {term.weight} earlier in this step: "
                "give each loss its own term=0, 1, ..."
            )
        term.add(count, s)
        if factor is not None:
            term.factors.append(factor)
        ticket.used = True
        return term

    def forget_if_cleared(self, parameters: Sequence[Tensor]) -> None:
        """Gradients that were set to None since the last backward pass take the probe of that pass with them."""
        task = torch._C._current_graph_task_id()
        if self.terms and task != self._task and all(p.grad is None for p in parameters):
            self.clear()
        self._task = task

    def clear(self) -> None:
        """Forgets the sums, not the losses whose backward pass is still to come."""
        self.terms.clear()

    def finish(self) -> None:
        """After a step, taken or skipped."""
        self.terms.clear()
        self._rows.clear()
        self._task = _NO_TASK
