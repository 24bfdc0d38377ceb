"""What ``--help`` of every command says, word by word.

``pytest tests/compiler/cli/test_help.py --update-golden`` writes anew what the
commands show.
"""

import importlib
from pathlib import Path

import pytest

from accnn.compiler.cli import start

TEXTS = Path(start.__file__).parent / "help"
COMMANDS = sorted(name for name in vars(start) if name.startswith("acc_"))


@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_as_written(
    command: str,
    request: pytest.FixtureRequest,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    app = importlib.import_module(f"accnn.compiler.cli.{command}").app
    with pytest.raises(SystemExit) as ended:
        app(["--help"], prog_name=command.replace("_", "-"))
    shown = capsys.readouterr().out
    path = TEXTS / f"{command}.txt"
    if request.config.getoption("--update-golden"):
        path.write_text(shown, encoding="utf-8")

    assert ended.value.code == 0
    assert shown == path.read_text(encoding="utf-8")


def test_every_text_has_its_command() -> None:
    assert sorted(path.stem for path in TEXTS.iterdir()) == COMMANDS
