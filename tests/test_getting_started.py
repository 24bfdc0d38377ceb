"""The page for newcomers leads to a verified program, from the wheel alone."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from importlib.metadata import Distribution, distribution
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from typer.testing import CliRunner

from accnn.compiler.cli import acc_compile

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "getting-started.md").read_text()
VERIFIED = "verified: 0 of 10 elements differ"
PYTHONS = ("python3.11", "python3.12", "python3.13")


def commands() -> list[str]:
    """Return the commands that the page shows, in its order."""
    return re.findall(r"^    (?!verified)(\S.*)$", re.sub(r"(?s)```.*?```", "", PAGE), re.M)


def write_files(folder: Path) -> None:
    """Write the files that the page tells to save."""
    found = re.findall(r"save it as\s`([\w.]+)`:\n\n```\w+\n(.*?)^```$", PAGE, re.S | re.M)
    for name, text in found:
        (folder / name).write_text(text)


def build(folder: Path) -> Path:
    """Build the source distribution, and of it the wheel, which is returned."""
    copy = folder / "accnn"
    ignored = shutil.ignore_patterns(".*", "*.egg-info", "build", "dist", "__pycache__", "*.onnx")
    shutil.copytree(ROOT, copy, ignore=ignored)
    out = folder / "out"
    words = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(copy)]
    subprocess.run(words, check=True, capture_output=True)
    return next(out.glob("*.whl"))


def needed() -> dict[str, Distribution]:
    """Return what is installed of the project's dependencies, and of theirs; extras left out."""
    found: dict[str, Distribution] = {}
    waiting = [*tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]]
    while waiting:
        item = Requirement(waiting.pop())
        is_wanted = item.marker is None or item.marker.evaluate({"extra": ""})
        name = canonicalize_name(item.name)
        if is_wanted and name not in found:
            found[name] = distribution(name)
            waiting += found[name].requires or ()
    return found


def link(packages: dict[str, Distribution], folder: Path) -> None:
    """Show installed packages, and no others, in a folder."""
    folder.mkdir()
    for package in packages.values():
        tops = {path.parts[0] for path in package.files or ()} - {"..", "__pycache__"}
        for top in tops:
            target = folder / top
            if not target.exists():
                target.symlink_to(Path(str(package.locate_file(top))).resolve())


def follow(
    folder: Path, python: str, after: Mapping[str, str] | None = None, **settings: str
) -> str:
    """Follow the page in a shell that inherits next to nothing, and return what it says.

    Args:
        folder: Where.
        python: What ``python3`` means there.
        after: What else is done, after the command of a name.
        settings: Variables of the environment.
    """
    (folder / "bin").mkdir()
    start = folder / "bin" / "python3"
    start.write_text(f'#!/bin/sh\nexec {shlex.quote(python)} "$@"\n')
    start.chmod(0o755)
    also = after or {}
    steps = ((line, also.get(line.split()[0], "")) for line in commands())
    script = "\n".join(("set -e", *chain.from_iterable(steps)))
    environment = {
        "PATH": f"{folder / 'bin'}:/usr/bin:/bin",
        "HOME": str(folder),
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),
        **settings,
    }
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_it_takes_five_commands() -> None:
    names = [line.split()[0] for line in commands()]

    assert names == ["python3", ".", "pip", "python", "acc-compile"]


def test_the_files_of_the_page_make_a_verified_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    names: dict[str, object] = {}
    exec(compile(Path("network.py").read_text(), "network.py", "exec", dont_inherit=True), names)

    done = CliRunner().invoke(acc_compile.app, shlex.split(commands()[-1])[1:])

    assert done.exit_code == 0, done.output
    assert VERIFIED in done.stdout
    assert Path("own.acc/report.html").is_file()


@pytest.mark.slow
def test_the_wheel_needs_no_more_than_it_says(tmp_path: Path) -> None:
    """Run by continuous integration, with the machine code of the kernels of the sources."""
    place = tmp_path / "empty"
    place.mkdir()
    shutil.copy(build(tmp_path / "made"), place)
    write_files(place)
    link(needed(), tmp_path / "packages")
    (tmp_path / "linked.pth").write_text(f"{tmp_path / 'packages'}\n")
    site = "env/lib/python3*/site-packages"
    show = f"cp {shlex.quote(str(tmp_path / 'linked.pth'))} {site}/"
    lend = f"PYTHONPATH={ROOT} {sys.executable} -m tests.machine_code {site}/accnn"
    offline = {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull}

    assert VERIFIED in follow(place, sys.executable, {"python3": show, "pip": lend}, **offline)


@pytest.mark.slow
@pytest.mark.parametrize("python", PYTHONS)
def test_everything_comes_from_the_index(python: str, tmp_path: Path) -> None:
    """Downloads all dependencies, some 300 MB."""
    found = shutil.which(python)
    if found is None:
        pytest.skip(f"no {python} here")
    place = tmp_path / "empty"
    place.mkdir()
    shutil.copy(build(tmp_path / "made"), place)
    write_files(place)
    pip = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}

    assert VERIFIED in follow(place, found, **pip)
