"""python -m lehi: what this installation has, and what is missing. Exit code 1 if it has no C++ operators."""

from __future__ import annotations

import importlib.metadata
import platform
import shutil
import sys

import torch

from lehi import _operators, preset_names


def report() -> str:
    try:
        version = importlib.metadata.version("lehi")
    except importlib.metadata.PackageNotFoundError:
        version = "not installed, used from its sources"
    program = shutil.which("lehi")
    lines = [
        f"lehi        {version}",
        f"torch       {torch.__version__}, Python {platform.python_version()}, {torch.get_num_threads()} threads",
    ]
    if _operators.available:
        lines.append(f"operators   C++, loops for {_operators.loop_level()}: CPU tensors of float32 and float64")
    else:
        lines.append(f"operators   missing: {_operators.why_unavailable}; plain torch operations do the same, slower")
    lines.append("            other devices and dtypes: plain torch operations")
    lines.append(f"optimizers  {', '.join(preset_names())}")
    if program is not None:
        lines.append(f"program     {program}")
    else:
        lines.append("program     `lehi` is not on the path: `make build` in lehi's sources makes build/release/lehi")
    return "\n".join(lines)


if __name__ == "__main__":
    print(report())
    sys.exit(0 if _operators.available else 1)
