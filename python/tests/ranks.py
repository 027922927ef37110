"""What the ranks of test_distributed.py do: one process each, started by torch's spawn."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from datetime import timedelta
from typing import Any, cast

import lehi
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import Tensor, nn
from torch.distributed import checkpoint
from torch.distributed.checkpoint import state_dict as dcp_state
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

ROWS = 12
SETTINGS: dict[str, dict[str, Any]] = {
    "lehi-gn": {"every": 3, "dense": 2},
    "lehibrid": {},
    "sophia-g": {"every": 3},
    "adamw": {},
}
# One side of each matrix: the other's factor has equal eigenvalues, whose vectors depend on the last bit.
MATRIX_SETTINGS: dict[str, dict[str, Any]] = {"muon": {}, "lehi-kron": {"sides": "smaller"}}
SETTINGS_OF = {**SETTINGS, **MATRIX_SETTINGS}


class Model(nn.Module):
    """The head `spare` takes part in odd batches only."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.body = nn.Linear(4, 8)
        self.head = nn.Linear(8, 3)
        self.spare = nn.Linear(8, 3)
        self.double()

    def forward(self, x: Tensor, spare: bool = False) -> Tensor:
        hidden = torch.tanh(self.body(x))
        return self.head(hidden) + self.spare(hidden) if spare else self.head(hidden)


def batch(k: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(k)
    x = torch.randn(ROWS, 4, generator=generator, dtype=torch.float64)
    return x, torch.randint(0, 3, (ROWS,), generator=generator)


def weights(model: nn.Module) -> Tensor:
    return torch.cat([p.detach().reshape(-1) for p in model.parameters()])


def one_process(preset: str, steps: int, spare: bool = False) -> Tensor:
    model = Model()
    optimizer = lehi.Optimizer(model.parameters(), preset, lr=1e-2, **SETTINGS_OF[preset])
    optimizer.distribute(None)
    for k in range(steps):
        x, y = batch(k)
        lehi.cross_entropy(model(x, spare and k % 2 == 1), y, optimizer=optimizer).backward()
        optimizer.step()
        optimizer.zero_grad()
    return weights(model)


def expect_close(a: Tensor, b: Tensor) -> None:
    torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)


def replicate(
    preset: str, spare: bool = False, **options: Any
) -> tuple[DistributedDataParallel, lehi.Optimizer, slice]:
    model = DistributedDataParallel(Model(), find_unused_parameters=True, **options)
    optimizer = lehi.Optimizer(model.parameters(), preset, lr=1e-2, **SETTINGS_OF[preset])
    optimizer.distribute(model)
    share = ROWS // dist.get_world_size()
    first = dist.get_rank() * share
    optimizer.set_first_row(first)
    return model, optimizer, slice(first, first + share)


def ddp(preset: str) -> None:
    for spare in (False, True):
        model, optimizer, mine = replicate(preset, gradient_as_bucket_view=spare)
        for k in range(8):
            x, y = batch(k)
            lehi.cross_entropy(model(x[mine], spare and k % 2 == 1), y[mine], optimizer=optimizer).backward()
            optimizer.step()
            optimizer.zero_grad()
        expect_close(weights(model), one_process(preset, 8, spare))


def no_sync(preset: str) -> None:
    """Two micro-batches, of which the last is summed over the ranks; then both are."""
    for last_only in (True, False):
        model, optimizer, mine = replicate(preset)
        for k in range(8):
            x, y = batch(k)
            half = len(x[mine]) // 2
            for i in range(2):
                part = slice(mine.start + i * half, mine.start + (i + 1) * half)
                model.require_backward_grad_sync = i == 1 or not last_only
                (lehi.cross_entropy(model(x[part]), y[part], optimizer=optimizer) / 2).backward()
            optimizer.step()
            optimizer.zero_grad()
        expect_close(weights(model), one_process(preset, 8))


def never_synchronised() -> None:
    model, optimizer, mine = replicate("lehi-gn")
    x, y = batch(0)
    with model.no_sync():
        lehi.cross_entropy(model(x[mine]), y[mine], optimizer=optimizer).backward()
    expect_error(RuntimeError, "outside of no_sync", optimizer.step)


def expect_error(kind: type[Exception], part: str, call: Callable[[], Any]) -> None:
    try:
        call()
    except kind as error:
        assert part in str(error), error
        return
    raise AssertionError(f"no {kind.__name__} with '{part}'")


def refusals() -> None:
    model = Model()
    optimizer = lehi.LehiGn(model.parameters())
    x, y = batch(0)
    loss = lehi.CrossEntropyLoss()
    expect_error(RuntimeError, "optimizer.distribute(model)", lambda: loss(model(x), y, optimizer=optimizer))
    static = DistributedDataParallel(Model(), static_graph=True)
    expect_error(ValueError, "static_graph=False", lambda: optimizer.distribute(static))
    expect_error(ValueError, "DistributedDataParallel", lambda: optimizer.distribute(model))
    optimizer.distribute(None)
    loss(model(x), y, optimizer=optimizer).backward()
    optimizer.step()
    never_synchronised()


def probe_pass_on_ddp(preset: str) -> None:
    model, optimizer, mine = replicate(preset)
    for k in range(8):
        x, y = batch(k)
        if optimizer.needs_probe:
            lehi.probe_loss(model(x[mine]), y[mine], optimizer=optimizer).backward()
        lehi.cross_entropy(model(x[mine]), y[mine], optimizer=optimizer).backward()
        optimizer.step()
        optimizer.zero_grad()
    expect_close(weights(model), one_process(preset, 8))


def shard(preset: str) -> tuple[nn.Module, lehi.Optimizer, slice]:
    model = Model()
    model.spare.requires_grad_(False)  # torch's checkpoints want a state of every parameter that trains
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    fully_shard(model.body, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = lehi.Optimizer(model.parameters(), preset, lr=1e-2, **SETTINGS_OF[preset])
    optimizer.distribute(model)
    share = ROWS // dist.get_world_size()
    first = dist.get_rank() * share
    optimizer.set_first_row(first)
    return model, optimizer, slice(first, first + share)


def sharded_steps(model: nn.Module, optimizer: lehi.Optimizer, mine: slice, first: int, last: int) -> None:
    for k in range(first, last):
        x, y = batch(k)
        if optimizer.needs_probe:
            lehi.probe_loss(model(x[mine]), y[mine], optimizer=optimizer).backward()
        lehi.cross_entropy(model(x[mine]), y[mine], optimizer=optimizer).backward()
        optimizer.step()
        optimizer.zero_grad()


def whole(model: nn.Module) -> Tensor:
    return torch.cat([p.full_tensor().detach().reshape(-1) for p in model.parameters()])


def matrices_are_refused() -> None:
    model, _, _ = shard("adamw")
    expect_error(ValueError, "needs whole matrices", lambda: lehi.Muon(model.parameters()))


def fsdp(preset: str) -> None:
    model, optimizer, mine = shard(preset)
    x, y = batch(0)
    if preset != "adamw":
        loss = lehi.CrossEntropyLoss()
        if optimizer.needs_probe:
            expect_error(RuntimeError, "probe_loss", lambda: loss(model(x[mine]), y[mine], optimizer=optimizer))
    sharded_steps(model, optimizer, mine, 0, 8)
    expect_close(whole(model), one_process(preset, 8))


def fsdp_checkpoint(preset: str) -> None:
    """Saved by torch.distributed.checkpoint, and loaded into a fresh model and optimizer."""
    model, optimizer, mine = shard(preset)
    sharded_steps(model, optimizer, mine, 0, 5)
    where = [tempfile.mkdtemp()] if dist.get_rank() == 0 else [""]
    dist.broadcast_object_list(where)
    weights, state = dcp_state.get_state_dict(model, optimizer)
    moments = [s["m"] for s in state["state"].values()]
    assert moments and all(hasattr(m, "device_mesh") for m in moments)
    checkpoint.save({"model": weights, "optimizer": state}, checkpoint_id=where[0])
    other, fresh, mine = shard(preset)
    weights, state = dcp_state.get_state_dict(other, fresh)
    loaded = {"model": weights, "optimizer": state}
    checkpoint.load(loaded, checkpoint_id=where[0])
    dcp_state.set_state_dict(
        other, fresh, model_state_dict=loaded["model"], optim_state_dict=cast(Any, loaded["optimizer"])
    )
    assert fresh.steps == 5
    sharded_steps(other, fresh, mine, 5, 9)
    expect_close(whole(other), one_process(preset, 9))
    dist.barrier()
    if dist.get_rank() == 0:
        shutil.rmtree(where[0])


def rank_main(rank: int, size: int, port: int, jobs: list[tuple[str, tuple[Any, ...]]]) -> None:
    torch.set_num_threads(1)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=size, timeout=timedelta(seconds=60))
    for name, arguments in jobs:
        try:
            globals()[name](*arguments)
        except Exception as error:
            raise AssertionError(f"{name}{arguments} on rank {rank} of {size}: {error}") from error
        dist.barrier()
    dist.destroy_process_group()


def run(size: int, port: int, jobs: list[tuple[str, tuple[Any, ...]]]) -> None:
    mp.spawn(rank_main, (size, port, jobs), nprocs=size)
