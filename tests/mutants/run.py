"""Which mutants are caught, and by which test."""

import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from tests.mutants.covered import JUDGES, ROOT, room_of, stages_of
from tests.mutants.mutants import Mutant
from tests.mutants.trial import Outcome, Trial, judge

# Time of processors: what else a machine does is not to decide which tests are asked.
_LONGEST = 30.0  # s: files of tests that take longer are left out, judges aside
_AT_MOST = 45.0  # s: what the tests of a mutant take before the judges of everything are asked
_SHORTEST = 2.0  # s: no more tests are looked at where less is left

Stages = Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a mutant.

    Attributes:
        mutant: It.
        room: Where it is counted.
        killed_by: Test that failed, hung or died; ``None`` where it survived.
        how: ``passed``, ``failed``, ``died``, ``hung``, or ``untested``.
        tests: Files of tests that were asked.
        seconds: Time of processors that it took.
    """

    mutant: Mutant
    room: str
    killed_by: str | None
    how: str
    tests: int
    seconds: float

    def row(self) -> dict[str, object]:
        """Return it as a line of JSON has it."""
        item = self.mutant
        return {
            "file": item.file,
            "line": item.line,
            "operator": item.operator,
            "before": item.before,
            "after": item.after,
            "room": self.room,
            "killed_by": self.killed_by,
            "how": self.how,
            "tests": self.tests,
            "seconds": round(self.seconds, 1),
        }


def is_compiled(file: str) -> bool:
    """Whether a module may be called by compiled loops, which a kept cache would not notice."""
    folder = (ROOT / file).parent
    return any("numba import" in path.read_text() for path in folder.glob("*.py"))


def verdict(mutant: Mutant, times: Path, tests: Sequence[str] = ()) -> Verdict:
    """Ask stage after stage of the tests of a mutant, or given ones alone, until one fails."""
    is_interpreted = is_compiled(mutant.file)
    asked, seconds = 0, 0.0
    outcome = Outcome(None, "untested", 0.0)
    stages = [[test] for test in tests] or stages_of(mutant.file)
    for stage, usual in _affordable(stages, is_interpreted, times):
        outcome = judge(Trial(mutant, ROOT, stage, is_interpreted, 10 + 3 * usual))
        asked, seconds = asked + len(stage), seconds + outcome.seconds
        if outcome.failed is not None:
            break
    room = room_of(mutant.file)
    return Verdict(mutant, room, outcome.failed, outcome.end, asked, seconds)


def _affordable(
    stages: Stages, is_interpreted: bool, times: Path
) -> Iterator[tuple[Sequence[str], float]]:
    """Yield stages with the time that they take, without what is not known to pass, or too long."""
    left = _AT_MOST
    for stage in stages:
        kept: dict[str, float] = {}
        for test in stage:
            is_judge = test in JUDGES
            is_asked = is_judge or left > _SHORTEST
            usual = _usual(test, is_interpreted, times) if is_asked else None
            if usual is not None and (is_judge or usual <= left):
                left -= usual
                kept[test] = usual
        if kept:
            yield list(kept), sum(kept.values())


def _usual(test: str, is_interpreted: bool, times: Path) -> float | None:
    """Return the time that a file of tests takes while nothing is planted, if it passes."""
    kept = times / f"{test.replace('/', '-')}-{is_interpreted}"
    if not kept.exists():
        limit = 4 * _LONGEST if test in JUDGES else _LONGEST
        outcome = judge(Trial(None, ROOT, (test,), is_interpreted, limit))
        kept.write_text(f"{outcome.seconds if outcome.end == 'passed' else math.inf}")
    usual = float(kept.read_text() or math.inf)
    return usual if math.isfinite(usual) else None


def verdicts(
    mutants: Sequence[Mutant], jobs: int, times: Path, tests: Sequence[str] = ()
) -> Iterator[Verdict]:
    """Yield what becomes of mutants, in their order.

    Args:
        mutants: They.
        jobs: How many are tried at once.
        times: Folder in which the time of every file of tests is kept.
        tests: Files that are asked; by default those that belong to each mutant.
    """
    with ProcessPoolExecutor(jobs, get_context("fork")) as pool:
        yield from pool.map(partial(verdict, times=times, tests=tests), mutants)
