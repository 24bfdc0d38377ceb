"""What is told while a tool works, and where."""

import pytest

from accnn.compiler.cli.verbosity import Verbosity
from accnn.compiler.cli.work import progress
from accnn.compiler.cli.work.progress import ProgressLines, shown_progress


class Clock:
    """A clock that goes when it is told to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_a_line_tells_the_step_and_what_is_left(clock: Clock) -> None:
    told: list[str] = []
    lines = ProgressLines("acc-compile", told.append, clock=clock)

    clock.now = 4.0
    lines.observe("map-operators", 0, 20)
    lines.tell()
    clock.now = 14.0
    lines.observe("map-operators", 5, 20)
    lines.tell()
    lines.observe("lower", 0, 0)
    lines.tell()

    assert told == [
        "acc-compile: 4 s: map-operators 0 of 20\n",
        "acc-compile: 14 s: map-operators 5 of 20, about 30 s left\n",
        "acc-compile: 14 s: lower\n",
    ]


def test_a_line_tells_what_the_step_is_at(clock: Clock) -> None:
    told: list[str] = []
    lines = ProgressLines("acc-compile", told.append, each_step=True, clock=clock)

    for number, name in enumerate(("conv1", "conv\x1b2")):
        clock.now = 10.0 * number
        lines.observe(f"map-operators: {name}", number, 3)
    lines.tell()

    assert told == [
        "acc-compile: 0 s: map-operators 0 of 3: conv1\n",
        "acc-compile: 10 s: map-operators 1 of 3, about 20 s left: conv?2\n",
    ]


def test_what_is_left_falls_until_more_is_done(clock: Clock) -> None:
    told: list[str] = []
    lines = ProgressLines("acc-compile", told.append, clock=clock)

    lines.observe("map", 0, 2)
    clock.now = 30.0
    lines.observe("map", 1, 2)
    for clock.now in (40.0, 59.0, 70.0):
        lines.tell()

    assert told == [
        "acc-compile: 40 s: map 1 of 2, about 20 s left\n",
        "acc-compile: 59 s: map 1 of 2, about 1 s left\n",
        "acc-compile: 70 s: map 1 of 2\n",
    ]


def test_where_each_step_is_wanted_each_is_told_once(clock: Clock) -> None:
    told: list[str] = []
    lines = ProgressLines("acc-opt", told.append, each_step=True, clock=clock)

    for done in range(3):
        lines.observe("map", done, 3)
    lines.observe("lower", 0, 0)

    assert told == ["acc-opt: 0 s: map 0 of 3\n", "acc-opt: 0 s: lower\n"]


def test_a_run_without_a_terminal_tells_now_and_then(monkeypatch, capsys) -> None:
    monkeypatch.setattr(progress, "_EVERY", 0.01)

    with shown_progress("acc-map") as observe:
        observe("map", 1, 2)
        while not (said := capsys.readouterr().err):
            pass

    assert said.startswith("acc-map: 0 s: map 1 of 2\n")


def test_a_quiet_run_tells_nothing(monkeypatch, capsys) -> None:
    monkeypatch.setattr(progress, "_EVERY", 0.0)

    with shown_progress("acc-map", Verbosity.QUIET) as observe:
        observe("map", 1, 2)

    assert capsys.readouterr() == ("", "")


def test_a_terminal_shows_the_step_and_what_it_is_at(monkeypatch, capsys) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")

    with shown_progress("acc-compile") as observe:
        observe("map-operators: [b]conv1[/b]", 1, 4)

    said = capsys.readouterr().err
    assert "map-operators 1/4" in said
    assert "[b]conv1[/b]" in said
