"""Sums over the ranks of a job, started during the backward pass and awaited by step()."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

_BUCKET_BYTES = 25 << 20


def world_size() -> int:
    if not dist.is_available() or not dist.is_initialized():
        return 1
    return dist.get_world_size()


def local_part(tensor: Tensor) -> Tensor:
    """This rank's piece of a DTensor; any other tensor itself."""
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


def is_sharded(tensor: Tensor) -> bool:
    return hasattr(tensor, "device_mesh")


class PendingSum:
    """Tensors that are being summed over the ranks."""

    def __init__(self, tensors: Sequence[Tensor], group: Any) -> None:
        self._like = list(tensors)
        self._buckets: list[tuple[Tensor, list[int], Any]] = []
        for indices in self._plan():
            flat = torch.cat([tensors[i].reshape(-1) for i in indices])
            work = dist.all_reduce(flat, group=group, async_op=True)
            self._buckets.append((flat, indices, work))

    def _plan(self) -> list[list[int]]:
        """Indices of each bucket: one dtype and device, about 25 MB."""
        plan: list[list[int]] = []
        room: dict[tuple[torch.dtype, torch.device], tuple[int, int]] = {}
        for i, tensor in enumerate(self._like):
            kind = (tensor.dtype, tensor.device)
            size = tensor.numel() * tensor.element_size()
            bucket, left = room.get(kind, (-1, 0))
            if left < size:
                plan.append([])
                bucket, left = len(plan) - 1, _BUCKET_BYTES
            plan[bucket].append(i)
            room[kind] = (bucket, left - size)
        return plan

    def wait(self) -> list[Tensor]:
        result = list(self._like)
        for flat, indices, work in self._buckets:
            work.wait()
            pieces = torch.split_with_sizes(flat, [self._like[i].numel() for i in indices])
            for i, piece in zip(indices, pieces, strict=True):
                result[i] = piece.view(self._like[i].shape)
        return result


class Ranks:
    """How the ranks that train one model share a step."""

    def __init__(self, model: nn.Module | None) -> None:
        self.group: Any = None
        self.size = 1
        self.rank = 0
        self.separate_pass_only = False
        self._ddp: weakref.ref[nn.Module] | None = None
        if model is None:
            return
        if isinstance(model, nn.parallel.DistributedDataParallel):
            self._join_ddp(model)
        elif any(is_sharded(p) for p in model.parameters()):
            self._join_sharded(model)
        else:
            raise ValueError(
                f"distribute() was given a {type(model).__name__}; expected a model in DistributedDataParallel or one "
                "after fully_shard(), or None where each rank trains a model of its own"
            )

    def _join_ddp(self, model: nn.parallel.DistributedDataParallel) -> None:
        if model.static_graph:
            raise ValueError(
                "DistributedDataParallel with static_graph=True cannot pull a probe back during the loss's backward "
                "pass: build it with static_graph=False, or use lehi.probe_loss() in a pass of its own on a model "
                "without it"
            )
        # A group of its own: its sums and those of DistributedDataParallel may start in any order.
        self.group = dist.new_group(dist.get_process_group_ranks(model.process_group))
        self.size = dist.get_world_size(self.group)
        self.rank = dist.get_rank(self.group)
        self._ddp = weakref.ref(model)

    def _join_sharded(self, model: nn.Module) -> None:
        meshes = {p.device_mesh for p in model.parameters() if is_sharded(p)}  # type: ignore[attr-defined]
        mesh = next(iter(meshes))
        if len(meshes) > 1 or mesh.ndim != 1:
            raise ValueError(
                f"the model is divided over {len(meshes)} device mesh(es), the first with {mesh.ndim} dimension(s): "
                "only fully_shard() over one mesh of one dimension is supported"
            )
        self.group = mesh.get_group()
        self.size = mesh.size()
        self.rank = dist.get_rank(self.group)
        self.separate_pass_only = True

    @property
    def several(self) -> bool:
        return self.size > 1

    def sums_now(self) -> bool:
        """False within no_sync()."""
        model = self._ddp() if self._ddp is not None else None
        return model is None or bool(model.require_backward_grad_sync)

    def start(self, tensors: Sequence[Tensor]) -> PendingSum:
        return PendingSum(tensors, self.group)
