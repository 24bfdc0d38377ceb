"""What all commands have in common: options, style of their help, versions."""

import importlib
import re
from importlib.metadata import version

import pytest
from typer.testing import CliRunner, Result

from accnn.compiler.cli import start

COMMANDS = tuple(sorted(name for name in vars(start) if name.startswith("acc_")))
WORKING = tuple(sorted(set(COMMANDS) - {"acc_cache", "acc_compare"}))
METAVAR = re.compile(r"--[a-z-]+ <")


def run(command: str, *words: str) -> Result:
    app = importlib.import_module(f"accnn.compiler.cli.{command}").app
    return CliRunner().invoke(app, list(words), prog_name=command.replace("_", "-"))


@pytest.mark.parametrize("command", COMMANDS)
def test_versions_of_solvers_and_runtime(command: str) -> None:
    done = run(command, "--version")

    assert done.exit_code == 0
    assert done.stdout.startswith(f"{command.replace('_', '-')} {version('accnn')}\n")
    assert f"HiGHS {version('highspy')}\n" in done.stdout
    assert f"onnxruntime {version('onnxruntime')}\n" in done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_one_style(command: str) -> None:
    shown = run(command, "--help").stdout
    usage = shown.partition("\n")[0]

    assert METAVAR.search(shown) is None
    assert "{" not in usage
    assert "Examples:\n    acc-" in shown
    assert "Exit codes: 0 all is well" in " ".join(shown.split())


@pytest.mark.parametrize("command", WORKING)
def test_quiet_and_verbose_exclude_each_other(command: str) -> None:
    needed = {"acc_compile": ["--arch", "x"], "acc_map": ["--arch", "x"]}
    files = {"acc_run": ["-i", "a", "-o", "b"]}

    done = run(command, "x", *needed.get(command, []), *files.get(command, []), "-q", "-v")

    assert done.exit_code == 2
    assert "error: --quiet and --verbose exclude each other" in done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_shells_complete_options(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = command.replace("_", "-")
    monkeypatch.setenv(f"_{command.upper()}_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", f"{tool} --vers")
    monkeypatch.setenv("COMP_CWORD", "1")

    assert run(command).stdout.strip() == "--version"
