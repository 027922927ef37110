"""The paths that the tests run on."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from lehi import _operators

sys.path.insert(0, str(Path(__file__).parent))  # for models.py
torch.set_num_threads(1)

from models import PATHS


@pytest.fixture(params=PATHS)
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Runs a test with plain torch operations, and with the C++ operators where they are there."""
    if request.param == "plain":
        monkeypatch.setattr(_operators, "available", False)
    yield request.param
