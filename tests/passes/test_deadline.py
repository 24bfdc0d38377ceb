"""A deadline cuts searches, not what is proven of their results; without one no clock decides."""

import math
import time

import pytest

from accnn.backend.load import load_architecture
from accnn.ir.workload import Workload
from accnn.passes.deadline import NEVER, Deadline
from accnn.passes.mapping.jobs import TIME_WAS_UP, MapJob
from accnn.passes.mapping.mapper import MappingStatus
from accnn.passes.mapping.problem import MappingProblem
from accnn.passes.mapping.recipes.cosa import Cosa
from accnn.passes.mapping.recipes.in_tiles import InTiles, in_haste, in_tiles
from accnn.passes.mapping.recipes.output_stationary import OutputStationary

PROBLEM = MappingProblem(workload=Workload(P=4, C=8, K=8), arch=load_architecture("simba"))


def test_a_deadline_is_over_once_its_time_has_come() -> None:
    assert Deadline.after(None) == NEVER
    assert (NEVER.left, NEVER.is_over) == (math.inf, False)
    later, now = Deadline.after(3600.0), Deadline.after(0.0)
    assert 3500 < later.left <= 3600
    assert not later.is_over
    assert (now.left, now.is_over) == (0.0, True)
    assert Deadline(time.monotonic() - 1.0).is_over


@pytest.mark.parametrize("seconds", [None, 3600.0])
def test_a_job_in_time_asks_its_mapper(seconds: float | None) -> None:
    mapper = in_tiles(Cosa(), 1)
    job = MapJob(PROBLEM, mapper, in_haste(mapper), Deadline.after(seconds))

    assert job.solve().mapper == "cosa"
    assert job == MapJob(PROBLEM, mapper)


def test_a_job_that_is_late_asks_the_greedy_mapper_and_says_so() -> None:
    mapper = in_tiles(Cosa(), 1)
    found = MapJob(PROBLEM, mapper, in_haste(mapper), Deadline.after(0.0)).solve()

    assert (found.mapper, found.status) == ("output-stationary", MappingStatus.FALLBACK)
    assert (found.note, found.bound) == (TIME_WAS_UP, None)
    PROBLEM.check(found.nest)


def test_who_is_quick_has_nobody_in_its_place() -> None:
    greedy = in_tiles(OutputStationary(), 4)

    assert in_haste(greedy) is None
    assert in_haste(InTiles(mapper=OutputStationary(), npus=4)) == greedy
    assert MapJob(PROBLEM, greedy, None, Deadline.after(0.0)).solve().note != TIME_WAS_UP
