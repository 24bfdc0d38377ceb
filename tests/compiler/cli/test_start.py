"""Commands start light: ``--help`` needs no heavy library, and Ctrl-C leaves no traceback."""

import subprocess
import sys

import pytest

from accnn.compiler.cli import start
from accnn.compiler.cli.exit_codes import INTERRUPTED

COMMANDS = ("acc_compile", "acc_map", "acc_opt", "acc_run", "acc_zoo")
HEAVY = {
    *("highspy", "jinja2", "lark", "mip", "numba", "numpy", "onnx", "onnxruntime", "pydantic"),
    *("rich", "safetensors", "scipy", "sympy", "matplotlib"),
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
