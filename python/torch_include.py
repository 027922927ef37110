"""Prints the directory of torch's headers; nothing where there is none of version 2.10 or newer.

An isolated build hides the packages of the environment that it is for. Its torch has all that the build needs (headers,
and a library to link against), so look for it there, too: another torch would have to be downloaded for nothing.
"""

import pathlib
import re
import sys
import sysconfig


def torch_include() -> str:
    for place in [*sys.path, sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]:
        include = pathlib.Path(place or ".", "torch", "include").resolve()
        try:
            text = (include / "torch" / "headeronly" / "version.h").read_text()
        except OSError:
            continue
        version = tuple(int(re.search(rf"#define TORCH_VERSION_{part} (\d+)", text)[1]) for part in ("MAJOR", "MINOR"))
        if version >= (2, 10):
            return include.as_posix()
    return ""


if __name__ == "__main__":
    print(torch_include())
