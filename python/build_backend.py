"""scikit-build-core, which also asks for torch where there is none to build against (torch_include.py)."""

from scikit_build_core.build import *
from scikit_build_core.build import get_requires_for_build_wheel as _requires
from torch_include import torch_include


def get_requires_for_build_wheel(config_settings=None):
    return [*_requires(config_settings), *([] if torch_include() else ["torch>=2.10"])]
