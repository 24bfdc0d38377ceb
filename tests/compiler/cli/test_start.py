"""Commands start light: ``--help`` needs no heavy library, and Ctrl-C leaves no traceback."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from accnn.compiler.cli import start
from accnn.compiler.cli.exit_codes import INTERRUPTED

COMMANDS = tuple(sorted(name for name in vars(start) if name.startswith("acc_")))
HEAVY = {
    *("highspy", "jinja2", "lark", "mip", "numba", "numpy", "onnx", "onnxruntime", "pydantic"),
    *("rich", "safetensors", "scipy", "sympy", "matplotlib", "optuna", "sqlalchemy"),
}
SHOW = """
import sys
from accnn.compiler.cli.start import {command}
sys.argv = ["{command}", "--help"]
try:
    {command}()
except SystemExit as end:
    assert end.code == 0, end.code
print(*sys.modules, file=sys.stderr)
"""


@pytest.mark.parametrize("command", COMMANDS)
def test_help_imports_nothing_heavy(command: str):
    code = SHOW.format(command=command)

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "Usage" in done.stdout
    loaded = set(done.stderr.split())
    assert "typer" in loaded
    assert loaded & HEAVY == set()
    own = {name.split(".")[1] for name in loaded if name.startswith("accnn.")}
    assert own == {"compiler", "ir"}


@pytest.mark.parametrize("width", [60, 80, 200])
def test_help_as_it_is_stored_is_that_of_the_library(width: int):
    shown = {}
    for name in ("acc-compile", "./acc_compile"):
        code = SHOW.format(command="acc_compile").replace('["acc_compile"', f'["{name}"')
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "COLUMNS": str(width)},
            capture_output=True,
            text=True,
            check=True,
        )
        shown[name] = done.stdout.replace("acc_compile", "acc-compile", 1)
        assert ("typer" in done.stderr.split()) == (name == "./acc_compile" or width < 80)

    assert len(set(shown.values())) == 1


@pytest.mark.parametrize("command", COMMANDS)
def test_an_interrupt_while_starting_is_one_line(command, monkeypatch, capsys):
    def interrupt(name, *rest):
        if "cli" in rest[0].get("__name__", "") or name.startswith("acc_"):
            raise KeyboardInterrupt
        return original(name, *rest)

    original = __import__
    monkeypatch.setattr("builtins.__import__", interrupt)
    with pytest.raises(SystemExit) as ended:
        getattr(start, command)()
    monkeypatch.undo()

    assert ended.value.code == INTERRUPTED
    assert capsys.readouterr().err == f"{command.replace('_', '-')}: interrupted\n"


@pytest.mark.parametrize(
    "closed",
    [
        pytest.param("1>&-", marks=pytest.mark.slow),
        "2>&-",
        pytest.param("1>&- 2>&-", marks=pytest.mark.slow),
        "0<&- 1>&- 2>&-",
    ],
)
def test_a_closed_output_is_no_error(closed: str):
    code = "import sys; from accnn.compiler.cli.start import acc_compile; acc_compile()"

    done = subprocess.run(
        ["sh", "-c", f'exec "$0" -c "$1" --list-archs {closed}', sys.executable, code],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert ("simba" in done.stdout) == ("1>&-" not in closed)


def test_a_missing_network_is_told_before_anything_heavy_is_imported():
    code = """
import sys
from accnn.compiler.cli.start import acc_compile
sys.argv = ["acc-compile", "nothing.onnx", "--arch", "simba"]
try:
    acc_compile()
except SystemExit as end:
    print(end.code, *sys.modules)
"""

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stderr == "acc-compile: error: nothing.onnx: no such file\n"
    code, *loaded = done.stdout.split()
    assert code == "2"
    assert set(loaded) & HEAVY <= {"pydantic"}  # typer itself looks for it


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_help_on_a_full_disk_is_one_line():
    code = SHOW.format(command="acc_compile").replace('["acc_compile"', '["acc-compile"')
    code = code.partition("try:")[0] + "acc_compile()"

    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", code], stdout=full, stderr=subprocess.PIPE, text=True
        )

    assert done.returncode == 2
    assert done.stderr == "acc-compile: error: cannot write the output: No space left on device\n"


def test_little_is_imported_before_an_interrupt_is_taken_care_of():
    code = (
        "import sys; before = set(sys.modules); import accnn.compiler.cli.start; "
        "print(*set(sys.modules) - before)"
    )

    done = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True
    )

    assert set(done.stdout.split()) & {"typing", "shutil", "inspect", "dataclasses"} == set()
