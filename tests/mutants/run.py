"""Which mutants are killed, and by which test."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from fcntl import LOCK_EX, flock
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path

from tests.mutants.covered import JUDGES, ROOT, room_of, stages_of
from tests.mutants.mutants import Mutant
from tests.mutants.trial import Outcome, Trial, judge
from tests.mutants.watch import Seen, read, written

# Time of processors: what else a machine does is not to decide which tests are asked.
AT_MOST = 45.0  # s: what tests take in all, the judges of everything aside
_WATCHED = 150.0  # s: what is watched of a file of tests
_IMPORTS = 60.0  # s: what imports and collection may take
_SLACK = 10.0  # s: what a test may take, however quick it and its file usually are
_FACTOR = 3  # times that a test may take longer than usual


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a mutant.

    Attributes:
        mutant: It.
        room: Where it is counted.
        killed_by: Test that failed, hung or died; ``None`` where it survived.
        how: ``passed``, ``failed``, ``died``, ``hung``, or ``untested``.
        tests: Tests that were asked.
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
    return any("ir.compiled import" in path.read_text() for path in folder.glob("*.py"))


@dataclass(frozen=True, slots=True)
class Questions:
    """How mutants are tried.

    Attributes:
        times: Folder that keeps what tests were seen to do.
        tests: Files that are asked; by default those that belong to each mutant.
        at_most: Time of processors that tests take in all, the judges of everything aside [s].
        far: Whether tests are asked last that import what imports the mutant's module.
    """

    times: Path
    tests: Sequence[str] = ()
    at_most: float = AT_MOST
    far: bool = False


def verdict(mutant: Mutant, questions: Questions) -> Verdict:
    """Ask stage after stage of the tests of a mutant until one fails."""
    is_interpreted = is_compiled(mutant.file)
    asked, seconds = 0, 0.0
    outcome = Outcome(None, "untested", 0.0)
    for files, limits in _stages(mutant, is_interpreted, questions):
        outcome = judge(Trial(mutant, ROOT, files, is_interpreted, _IMPORTS, limits))
        asked, seconds = asked + len(limits), seconds + outcome.seconds
        if outcome.failed is not None:
            break
    room = room_of(mutant.file)
    return Verdict(mutant, room, outcome.failed, outcome.end, asked, seconds)


def _stages(
    mutant: Mutant, is_interpreted: bool, questions: Questions
) -> Iterator[tuple[Sequence[str], Mapping[str, float]]]:
    """Yield files, and of their tests those that may notice a mutant, with what each may take [s].

    The quickest tests of a stage are chosen, whatever file they are in. The quickest file comes
    first then, and of a file the quickest test.
    """
    left = questions.at_most
    stages = [questions.tests] if questions.tests else stages_of(mutant.file, far=questions.far)
    function = None if mutant.function is None else (mutant.file, mutant.function)
    for stage in stages:
        is_judge = stage[0] in JUDGES
        files = stage if is_judge or left > 0 else ()
        seen = {file: _seen(file, is_interpreted, questions.times) for file in files}
        chosen: dict[str, list[Seen]] = {}
        for seconds, file, item in _quickest_first(seen):
            if item.may_notice(function) and (is_judge or seconds <= left):
                left -= 0 if is_judge else seconds
                chosen.setdefault(file, []).append(item)
        limits: dict[str, float] = {}
        ordered = sorted(chosen, key=lambda file: sum(item.seconds for item in chosen[file]))
        for file in ordered:
            slack = _SLACK + sum(item.seconds for item in seen[file])
            limits |= {item.test: slack + _FACTOR * item.seconds for item in chosen[file]}
        if limits:
            yield ordered, limits


def _quickest_first(seen: Mapping[str, Sequence[Seen]]) -> list[tuple[float, str, Seen]]:
    """Return the tests of some files, the quickest first, each with its time [s] and its file."""
    every = [(item.seconds, file, item) for file, items in seen.items() for item in items]
    return sorted(every, key=lambda one: one[0])


@cache
def _seen(file: str, is_interpreted: bool, times: Path) -> tuple[Seen, ...]:
    """Return what the tests of a file do while nothing is planted, as far as they pass.

    Who comes while somebody else is watching them waits for the answer.
    """
    kept = times / f"{file.replace('/', '-')}-{is_interpreted}.json"
    with kept.open("a+") as stored:
        flock(stored, LOCK_EX)
        stored.seek(0)
        known = stored.read()
        if not known:
            known = written(judge(Trial(None, ROOT, (file,), is_interpreted, _WATCHED)).seen)
            stored.write(known)
    return read(known)


def verdicts(mutants: Sequence[Mutant], jobs: int, questions: Questions) -> Iterator[Verdict]:
    """Yield what becomes of mutants, in their order.

    Args:
        mutants: They.
        jobs: How many are tried at once.
        questions: What is asked.
    """
    with ProcessPoolExecutor(jobs, get_context("fork")) as pool:
        yield from pool.map(partial(verdict, questions=questions), mutants)
