"""What a run has found once is not asked again, but for what more time would find better."""

from dataclasses import dataclass

import pytest

from accnn.backend.load import load_architecture
from accnn.ir.errors import InfeasibleError
from accnn.ir.workload import Workload
from accnn.passes.deadline import NEVER, Deadline
from accnn.passes.mapping.jobs import TIME_WAS_UP, KnownNests, MapJob, unobserved
from accnn.passes.mapping.mapper import Mapper, MappingResult
from accnn.passes.mapping.problem import MappingProblem
from accnn.passes.mapping.registry import find_mapper

GREEDY = find_mapper("output-stationary")
PROBLEMS = [
    MappingProblem(workload=Workload(K=channels, C=4), arch=load_architecture("simba-8x8"))
    for channels in (2, 4)
]
ASKED: list[MappingProblem] = []


@dataclass(frozen=True)
class Noting(Mapper):
    """The greedy mapper, which notes what it is asked; nothing fits it where it says so."""

    name = "noting"
    refuses: bool = False

    def find(self, problem: MappingProblem) -> MappingResult:
        ASKED.append(problem)
        if self.refuses:
            raise InfeasibleError("too large")
        return GREEDY.find(problem)


@pytest.fixture(autouse=True)
def nothing_asked():
    ASKED.clear()


def jobs(deadline: Deadline = NEVER, *, refuses: bool = False) -> list[MapJob]:
    return [MapJob(item, Noting(refuses=refuses), GREEDY, deadline) for item in PROBLEMS]


def test_equal_questions_are_asked_once():
    known, (one, other) = KnownNests(), jobs()

    first = known.solve([one, other, one], unobserved)
    again = known.solve([other, one], unobserved)

    assert PROBLEMS == ASKED
    assert first == (again[1], again[0], again[1])
    assert [item.nest for item in again[::-1]] == [GREEDY.map(item).nest for item in PROBLEMS]


def test_that_nothing_fits_is_an_answer_and_asked_again():
    known, (one, _) = KnownNests(), jobs(refuses=True)

    answers = [known.solve([one, one], unobserved) for _ in range(2)]

    assert all(isinstance(item, InfeasibleError) for pair in answers for item in pair)
    assert [PROBLEMS[0]] * 2 == ASKED
    assert not known.by_job


def test_what_was_found_in_haste_is_not_kept():
    known, (late, _), (one, _) = KnownNests(), jobs(Deadline.after(0.0)), jobs()

    (hasty,) = known.solve([late], unobserved)
    (found,) = known.solve([one], unobserved)

    assert (hasty.note, found.note) == (TIME_WAS_UP, "")
    assert known.by_job == {one: found}


def test_progress_counts_what_is_new():
    known, (one, other), seen = KnownNests(), jobs(), []
    known.solve([one], unobserved)

    known.solve([one, other], lambda *at: seen.append(at))

    assert seen == [(0, 1, other), (1, 1, None)]
