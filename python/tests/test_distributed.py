"""Several ranks on Gloo do what one process does. The jobs are in ranks.py: a process imports torch once for all of them."""

from __future__ import annotations

import socket

import pytest
import ranks


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize("size", [2, 3])
def test_data_parallel_equals_one_process(size: int) -> None:
    jobs = [("ddp", (preset,)) for preset in ranks.SETTINGS_OF]
    jobs += [("no_sync", (preset,)) for preset in ("lehi-gn", "sophia-g")]
    jobs += [("refusals", ()), ("probe_pass_on_ddp", ("lehi-gn",))]
    ranks.run(size, free_port(), jobs)


def test_fully_sharded_equals_one_process() -> None:
    jobs = [("fsdp", (preset,)) for preset in ranks.SETTINGS]
    jobs += [("matrices_are_refused", ())]
    jobs += [("fsdp_checkpoint", (preset,)) for preset in ("lehi-gn", "adamw")]
    ranks.run(2, free_port(), jobs)
