"""What is installed, and what a wheel and a source distribution hold."""

from __future__ import annotations

import email
import importlib.metadata
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile

import lehi
import pytest
import torch

ROOT = pathlib.Path(__file__).parents[2]
PACKAGE = pathlib.Path(lehi.__file__).parent
LIBRARY = PACKAGE / "liblehi_operators.so"


def run(*command: str | pathlib.Path, cwd: pathlib.Path | None = None, code: int = 0) -> str:
    done = subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def distribution(ending: str) -> pathlib.Path:
    """What scripts/test-python built, and installed here."""
    (path,) = (ROOT / "build" / "dist").glob(f"lehi-*{ending}")
    return path


def modules() -> set[str]:
    return {f"lehi/{path.name}" for path in (ROOT / "python" / "lehi").glob("*.py")}


def test_the_wheel_is_for_every_python_of_this_platform() -> None:
    wheel = distribution(".whl")
    platform = re.sub(r"[.-]", "_", sysconfig.get_platform())
    version = re.search(r'LEHI_VERSION "(.+)"', (ROOT / "include" / "lehi" / "version.h").read_text())[1]
    assert wheel.name == f"lehi-{version}-py3-none-{platform}.whl"
    with zipfile.ZipFile(wheel) as archive:
        tags = email.message_from_bytes(archive.read(f"lehi-{version}.dist-info/WHEEL"))
        metadata = email.message_from_bytes(archive.read(f"lehi-{version}.dist-info/METADATA"))
    assert tags.get_all("Tag") == [f"py3-none-{platform}"]
    assert tags["Root-Is-Purelib"] == "false"
    assert "torch>=2.10" in metadata.get_all("Requires-Dist")
    assert metadata["License-Expression"] == "MIT"


def test_the_wheel_holds_the_package_and_nothing_else() -> None:
    with zipfile.ZipFile(distribution(".whl")) as archive:
        names = set(archive.namelist())
    files = {name for name in names if ".dist-info/" not in name}
    assert files == modules() | {"lehi/liblehi_operators.so", "lehi/presets.json", "lehi/py.typed"}
    assert any(name.endswith("/LICENSE") for name in names)


def test_the_source_distribution_holds_what_the_build_reads() -> None:
    with tarfile.open(distribution(".tar.gz")) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert modules() <= {name.removeprefix("python/") for name in names}
    assert {"LICENSE", "README.md", "pyproject.toml", "python/build_backend.py", "src/lib/plan/plan.cpp"} <= names
    rooms = {"/".join(pathlib.PurePath(name).parts[:3]) for name in names if name.startswith("src/")}
    assert rooms == {"src/lib/kernels", "src/lib/plan", "src/lib/runtime"}
    assert not any(part in name for name in names for part in ("tests", ".so", "pycache", "build/"))


def test_the_installed_files_are_the_wheels() -> None:
    """The tests run what a user gets."""
    with zipfile.ZipFile(distribution(".whl")) as archive:
        for name in modules() | {"lehi/liblehi_operators.so", "lehi/presets.json", "lehi/py.typed"}:
            assert archive.read(name) == (PACKAGE.parent / name).read_bytes(), name


# The operator library


def symbols(kind: str) -> list[str]:
    return [line.split()[-1] for line in run("nm", "-D", f"--{kind}", LIBRARY).splitlines()]


def test_the_library_uses_torchs_stable_functions_only() -> None:
    undefined = [
        name for name in symbols("undefined-only") if "@" not in name
    ]  # those of libc and libstdc++ have versions
    weak = {"__gmon_start__", "_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable"}
    of_torch = set(undefined) - weak
    assert len(of_torch) > 20
    assert all(re.fullmatch(r"(aoti_)?torch_\w+", name) for name in of_torch), of_torch
    include = pathlib.Path(torch.__file__).parent / "include" / "torch" / "csrc"
    shims = [include / "stable/c/shim.h", include / "inductor/aoti_torch/c/shim.h"]
    shims += (include / "inductor/aoti_torch/generated").glob("c_shim_aten.h")
    declared = "".join(path.read_text() for path in shims)
    # Declared through macros there.
    assert {name for name in of_torch if not re.search(rf"\b{name}\b", declared)} <= set()


def test_the_library_uses_nothing_newer_than_torch_2_10() -> None:
    """The headers declare newer functions behind a condition: torch's own, after the marks of the later versions."""
    include = pathlib.Path(torch.__file__).parent / "include" / "torch" / "csrc"
    newer = (include / "stable/c/shim.h").read_text().partition("TORCH_FEATURE_VERSION >= TORCH_VERSION_2_11_0")[2]
    names = set(re.findall(r"\b(?:aoti_)?torch_\w+(?=\()", newer))
    assert "torch_from_blob" in names
    assert names.isdisjoint(symbols("undefined-only"))


def test_the_library_needs_torch_and_the_systems_libraries_only() -> None:
    needed = set(re.findall(r"\(NEEDED\).*\[(.+?)\]", run("readelf", "-d", LIBRARY)))
    assert needed <= {"libtorch_cpu.so", "libstdc++.so.6", "libm.so.6", "libgcc_s.so.1", "libc.so.6"}
    assert "libtorch_cpu.so" in needed
    assert not re.search(r"R(UN)?PATH", run("readelf", "-d", LIBRARY))


def test_the_library_exports_nothing() -> None:
    assert symbols("defined-only") == []


def test_the_library_has_no_path_of_the_machine_that_built_it() -> None:
    content = LIBRARY.read_bytes()
    for place in (ROOT, pathlib.Path(torch.__file__).parent):
        assert str(place).encode() not in content


@pytest.mark.skipif(sysconfig.get_platform() != "linux-x86_64", reason="the loops have one version elsewhere")
def test_the_loops_are_compiled_for_avx2_and_avx512() -> None:
    code = run("objdump", "-d", "--no-show-raw-insn", LIBRARY)
    assert "%zmm" in code
    assert "%ymm" in code
    assert "IFUNC" in run("readelf", "-r", LIBRARY) or "IRELATIV" in run("readelf", "-r", LIBRARY)


# Without the operators


def test_the_package_works_without_the_library(tmp_path: pathlib.Path) -> None:
    shutil.copytree(PACKAGE, tmp_path / "lehi", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    script = """
import lehi, torch
from lehi import _operators
assert not _operators.available
print(_operators.why_unavailable)
torch.manual_seed(0)
model = torch.nn.Linear(3, 2)
optimizer = lehi.LehiGn(model.parameters(), lr=1e-2)
loss = lehi.cross_entropy(model(torch.randn(5, 3)), torch.tensor([0, 1, 0, 1, 1]), optimizer=optimizer)
loss.backward()
before = model.weight.detach().clone()
optimizer.step()
assert not torch.equal(model.weight, before)
"""
    said = run(sys.executable, "-c", script, cwd=tmp_path)
    assert said == "lehi was installed without its C++ operators (liblehi_operators.so)\n"


def test_a_library_that_does_not_load_is_no_failed_import(tmp_path: pathlib.Path) -> None:
    shutil.copytree(PACKAGE, tmp_path / "lehi", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    (tmp_path / "lehi" / "liblehi_operators.so").write_bytes(b"not a library")
    said = run(sys.executable, "-c", "import lehi._operators as o; print(o.why_unavailable)", cwd=tmp_path)
    assert said.startswith(f"torch {torch.__version__} could not load lehi's C++ operators: ")


def test_a_machine_without_a_compiler_gets_plain_python(tmp_path: pathlib.Path) -> None:
    said = run("cmake", "-S", ROOT / "python", "-B", tmp_path, "-DCMAKE_CXX_COMPILER=NOTFOUND")
    assert "installing without them" in " ".join(said.split())


def test_a_build_without_torch_says_what_to_install(tmp_path: pathlib.Path) -> None:
    environment = tmp_path / "empty"
    run(sys.executable, "-m", "venv", "--without-pip", environment)
    python = environment / "bin" / "python"
    assert run(python, ROOT / "python" / "torch_include.py") == "\n"
    said = run("cmake", "-S", ROOT / "python", "-B", tmp_path / "b", f"-DPython_EXECUTABLE={python}", code=1)
    assert "install it first (pip install torch)" in " ".join(said.split())


def test_an_isolated_build_uses_the_environments_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """pip hides the environment's packages; their place is known all the same. Without torch it is a requirement."""
    monkeypatch.syspath_prepend(str(ROOT / "python"))
    monkeypatch.chdir(ROOT)  # as every frontend does
    import build_backend
    import torch_include

    site = str(pathlib.Path(torch.__file__).parents[1])
    with monkeypatch.context() as isolated:
        isolated.setattr(sys, "path", [path for path in sys.path if path != site])
        assert torch_include.torch_include() == f"{site}/torch/include"
    assert not any("torch" in name for name in build_backend.get_requires_for_build_wheel())
    monkeypatch.setattr(build_backend, "torch_include", lambda: "")
    assert "torch>=2.10" in build_backend.get_requires_for_build_wheel()


def test_the_version_is_the_librarys() -> None:
    header = (ROOT / "include" / "lehi" / "version.h").read_text()
    assert f'LEHI_VERSION "{importlib.metadata.version("lehi")}"' in header
