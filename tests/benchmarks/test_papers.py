"""Every figure and table of the papers has a row, and the row tells the truth about the pages."""

import importlib.util
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.papers.__main__ import main
from benchmarks.papers.claim import Claim, Command, Paper, Verdict
from benchmarks.papers.find import Cell, Extreme, Find, Match, Quotient, Times
from benchmarks.papers.page import measured, page
from benchmarks.papers.registry import CLAIMS, ITEMS
from benchmarks.papers.runs import Runs
from tests.test_docs_links import anchors

ROOT = Path(__file__).parents[2]
TABLE = """
### First: all

| layer | kind | x | y |
|---|---|---:|---:|
| a | low | 1.5x | 1,024 |
| a | high | 2.5 (b) | - |

### Second

| layer | x |
|---|---|
| a | 7 |
and 3.5 s
"""


def name(claim: Claim) -> str:
    return f"{claim.paper}-{claim.item}-{claim.says}"


def claim_of(theirs: float | None, ours: float | None, *, more: bool = True) -> Claim:
    return Claim(
        paper=Paper.COSA,
        item="Fig. 1",
        section="I",
        says="it",
        theirs=theirs,
        ours=ours,
        more_is_better=more,
        page="docs/x.md",
    )


class TestRegistry:
    @pytest.mark.parametrize("paper", Paper)
    def test_every_item_of_a_paper_has_a_row(self, paper: Paper):
        rows = {claim.item for claim in CLAIMS if claim.paper is paper}

        assert rows == set(ITEMS[paper])

    @pytest.mark.parametrize("claim", CLAIMS, ids=name)
    def test_the_page_exists_and_has_the_figure(self, claim: Claim):
        path, _, anchor = claim.page.partition("#")
        text = " ".join((ROOT / path).read_text().split())

        assert not anchor or anchor in set(anchors(ROOT / path))
        assert claim.text_on_page in text

    @pytest.mark.parametrize("claim", CLAIMS, ids=name)
    def test_a_row_that_falls_short_says_why(self, claim: Claim):
        settled = {Verdict.REPRODUCED, Verdict.BETTER, Verdict.EXPLAINS}

        assert claim.verdict in settled or claim.because

    @pytest.mark.parametrize("claim", CLAIMS, ids=name)
    def test_a_figure_has_a_command_or_a_test(self, claim: Claim):
        assert claim.find is None or claim.command is not None
        measured_here = claim.ours is not None and claim.theirs is not None
        tested = claim.page.startswith("tests/") or "test" in claim.because or claim.shown
        assert not measured_here or claim.command is not None or tested

    @pytest.mark.parametrize(
        "command", dict.fromkeys(item.command for item in CLAIMS if item.command), ids=Command.line
    )
    @pytest.mark.parametrize("quick", [False, True])
    def test_commands_exist_and_know_their_arguments(
        self, command: Command, quick: bool, monkeypatch: pytest.MonkeyPatch
    ):
        assert importlib.util.find_spec(command.module) is not None
        module = importlib.import_module(command.module)
        words = shlex.split(command.quick if quick else command.whole)
        monkeypatch.setattr(sys, "argv", [command.module, *words, "--no-such-option"])

        with pytest.raises(SystemExit) as refused:
            module.main()

        assert refused.value.code == 2

    def test_the_page_is_up_to_date(self):
        text = page(CLAIMS)

        assert (ROOT / "docs" / "papers.md").read_text() == text
        assert "missing" not in text.lower()


class TestVerdict:
    @pytest.mark.parametrize(
        ("theirs", "ours", "more", "verdict"),
        [
            (2.0, 2.09, True, Verdict.REPRODUCED),
            (2.0, 1.91, True, Verdict.REPRODUCED),
            (2.0, 2.2, True, Verdict.BETTER),
            (2.0, 1.8, True, Verdict.DIFFERS),
            (2.0, 1.8, False, Verdict.BETTER),
            (2.0, 2.2, False, Verdict.DIFFERS),
            (2.0, None, True, Verdict.NOT_MEASURED),
            (None, 2.0, True, Verdict.REPRODUCED),
        ],
    )
    def test_follows_from_the_figures(
        self, theirs: float | None, ours: float | None, more: bool, verdict: Verdict
    ):
        assert claim_of(theirs, ours, more=more).verdict is verdict

    def test_of_a_run_is_by_what_it_found(self):
        claim = claim_of(2.0, 2.0)

        assert "| 2x | 2x | 1x | differs |" in measured([claim], {claim: 1.0})
        assert "| 2x | 2x | - | reproduced |" in measured([claim], {})


class TestFind:
    @pytest.mark.parametrize(
        ("find", "value"),
        [
            (Cell("### First", "a", "x"), 1.5),
            (Cell("### First", "a", "x", last=True), 2.5),
            (Cell("### First", "a | high", "x"), 2.5),
            (Cell("### First", "a", "y"), 1024.0),
            (Cell("### Second", "a", "x"), 7.0),
            (Cell("", "a", "x"), 1.5),
            (Extreme("### First", "x"), 2.5),
            (Times("### First", "a", "x", 0), 1.5),
            (Match(r"and ([\d.]+) s"), 3.5),
            (Quotient(Cell("### Second", "a", "x"), Match(r"and ([\d.]+) s")), 2.0),
        ],
    )
    def test_figures(self, find: Find, value: float):
        assert find.find(TABLE) == value

    @pytest.mark.parametrize(
        "find",
        [
            Cell("### Third", "a", "x"),
            Cell("### First", "b", "x"),
            Cell("### First", "a", "z"),
            Cell("### First", "a | high", "y"),
            Extreme("### First", "z"),
            Times("### First", "a", "x", 1),
            Times("### First", "b", "x", 0),
            Extreme("### First", "layer"),
            Match(r"and ([\d.]+) ms"),
            Quotient(Cell("### Third", "a", "x"), Cell("### First", "a", "x")),
        ],
    )
    def test_nothing_where_there_is_none(self, find: Find):
        assert find.find(TABLE) is None


class TestRuns:
    command = Command(module="benchmarks.rows", whole="", quick="--quick")

    def test_what_a_command_printed_is_not_run_again(self, tmp_path: Path):
        runs = Runs(tmp_path)
        command = Command(module="benchmarks.flexer", whole="--help")
        assert runs.known(command) is None

        printed = runs.run(command)

        assert printed.startswith("usage: benchmarks.flexer")
        runs.path(command).write_text("kept")
        assert runs.run(command) == "kept"
        assert [path.suffix for path in tmp_path.iterdir()] == [".txt"]

    def test_other_arguments_are_another_command(self, tmp_path: Path):
        whole, quick = Runs(tmp_path), Runs(tmp_path, quick=True)

        assert whole.path(self.command) != quick.path(self.command)

    def test_a_list_runs_nothing(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
        assert main(["--list", "--output", str(tmp_path)]) == 0

        printed = capsys.readouterr().out
        assert printed.count("\n") == len(CLAIMS) + 2
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("jobs", ["1", "3"])
    def test_each_command_is_run_once_however_many_at_a_time(
        self, jobs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        ran: list[Command] = []

        def run(_: Runs, command: Command) -> str:
            ran.append(command)
            if "cosma" in command.module:
                raise subprocess.CalledProcessError(2, [])
            return "Median energy of orders: SALSA 5.25 uJ"

        monkeypatch.setattr(Runs, "run", run)

        code = main(["--quick", "--jobs", jobs, "--no-docs", "--output", str(tmp_path)])

        needed = {claim.command for claim in CLAIMS if claim.find is not None}
        assert code == 1
        assert len(ran) == len(needed)
        assert set(ran) == needed

    def test_a_run_writes_what_it_found(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ):
        monkeypatch.setattr(Runs, "run", lambda *_: "Median energy of orders: SALSA 5.25 uJ")

        code = main(["--paper", "SALSA", "--output", str(tmp_path), "--no-docs"])

        captured = capsys.readouterr()
        assert code == 1
        assert "| Fig. 4 |" in captured.out
        assert "| 5.25 uJ | reproduced |" in captured.out
        assert "Fig. 6: no figure for 'runs that reach the optimum" in captured.err
        assert (tmp_path / "papers.md").read_text() == captured.out
