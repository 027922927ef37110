"""Probe passes of their own: v goes through an ordinary backward pass, and .grad becomes s when it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import torch.distributed as dist
from torch import Tensor
from torch.autograd import Variable

from lehi._ranks import local_part

if TYPE_CHECKING:
    from lehi._collector import Ticket
    from lehi.optimizer import Optimizer


class ProbePasses:
    """Those of one step."""

    def __init__(self, optimizer: Optimizer) -> None:
        self._optimizer = optimizer
        self._set_aside: list[Tensor | None] = []
        self._running: tuple[Ticket, Tensor] | None = None
        self.used = False

    def begin(self, ticket: Ticket, count: Tensor) -> None:
        """Within the backward pass, before any gradient has arrived."""
        if self._running is not None:
            raise RuntimeError("two probe losses share one backward pass: give each a backward() of its own")
        if self._optimizer._team().several and not ticket.sums_now:
            raise RuntimeError("the backward pass of probe_loss() must be outside of no_sync()")
        self._running = (ticket, count)
        parameters = self._optimizer._parameters()
        self._set_aside = [p.grad for p in parameters]
        for parameter in parameters:
            parameter.grad = None
        # Callbacks run at the end of the backward pass in the order of their arrival. fully_shard() and
        # DistributedDataParallel queue theirs during it; the second of ours comes after them.
        queue = Variable._execution_engine.queue_callback
        queue(lambda: queue(self._take))

    @torch.no_grad()
    def _take(self) -> None:
        assert self._running is not None
        ticket, count = self._running
        self._running = None
        optimizer = self._optimizer
        ranks = optimizer._team()
        s: list[Tensor | None] = []
        for parameter, before in zip(optimizer._parameters(), self._set_aside, strict=True):
            g = parameter.grad
            if g is not None and g.layout != torch.strided:
                raise ValueError(
                    f"a parameter of shape {list(parameter.shape)} has a sparse gradient: use dense embeddings "
                    "(sparse=False)"
                )
            # The ranks' mean, which becomes their sum; a copy where the gradient is a view of a bucket.
            s.append(g if g is None else local_part(g) * float(ranks.size) if ranks.several else g)
            parameter.grad = before
        self._set_aside = []
        if ranks.several:
            count = count.clone()
            dist.all_reduce(count, group=ranks.group)
        optimizer._collector.add(ticket, count, s, None)
        self.used = True

    def finish(self) -> None:
        self._running = None
        self.used = False
