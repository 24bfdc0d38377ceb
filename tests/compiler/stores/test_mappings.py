import dataclasses
import logging

from accnn.backend.load import load_architecture
from accnn.compiler.mapping.solve import solve_all
from accnn.compiler.stores.mappings import MappingCache, key_of
from accnn.ir.errors import InfeasibleError
from accnn.ir.workload import Operand, Workload
from accnn.passes.deadline import Deadline
from accnn.passes.mapping.jobs import TIME_WAS_UP, MapJob
from accnn.passes.mapping.problem import MappingProblem, Objective
from accnn.passes.mapping.recipes.drawn import RandomBest
from accnn.passes.mapping.recipes.output_stationary import OutputStationary

ARCH = load_architecture("simba.toml")
PROBLEM = MappingProblem(workload=Workload(P=4, C=8, K=8), arch=ARCH)
JOB = MapJob(PROBLEM, OutputStationary())


def asking(**change):
    return MapJob(dataclasses.replace(PROBLEM, **change), OutputStationary())


def test_an_answer_comes_back_as_it_was_stored(tmp_path):
    cache = MappingCache(tmp_path)
    answer = JOB.solve()

    cache.store(key_of(JOB), answer)

    assert cache.find(key_of(JOB)) == answer


def test_everything_that_matters_changes_the_key():
    changes = (
        {"workload": Workload(P=4, C=8, K=9)},
        {"arch": dataclasses.replace(ARCH, mac_energy=1.0)},
        {"workspace": 100},
        {"resident": frozenset({Operand.I})},
        {"objective": Objective.ENERGY},
        {"even": True},
        {"seed": 1},
    )

    others = [MapJob(PROBLEM, OutputStationary(name="other"))]
    others += [asking(**change) for change in changes]

    assert len({key_of(JOB), *map(key_of, others)}) == 1 + len(others)


def test_a_damaged_entry_is_solved_anew(tmp_path, caplog):
    cache = MappingCache(tmp_path)
    cache.store(key_of(JOB), JOB.solve())
    (entry,) = tmp_path.rglob("*.json")
    entry.write_text('{"temporal": 3}')

    with caplog.at_level(logging.WARNING):
        assert cache.find(key_of(JOB)) is None

    assert "solving anew" in caplog.text
    assert solve_all([JOB], cache) == (JOB.solve(),)


def test_equal_questions_are_asked_once_and_answers_keep_their_order(tmp_path):
    other = asking(workload=Workload(P=2, C=2))
    seen = []

    answers = solve_all(
        [JOB, other, JOB], progress=lambda done, total, _: seen.append((done, total))
    )

    assert [answer.nest.workload for answer in answers] == [
        PROBLEM.workload,
        other.problem.workload,
        PROBLEM.workload,
    ]
    assert seen[-1] == (2, 2)


def test_an_answer_that_was_late_is_not_kept(tmp_path):
    cache = MappingCache(tmp_path)
    late = MapJob(PROBLEM, RandomBest(), OutputStationary(), Deadline.after(0.0))

    (answer,) = solve_all([late], cache)

    assert (answer.mapper, answer.note) == ("output-stationary", TIME_WAS_UP)
    assert cache.find(key_of(late)) is None
    (in_time,) = solve_all([MapJob(PROBLEM, RandomBest())], cache)
    assert cache.find(key_of(late)) == in_time


def test_no_answer_is_an_answer():
    (answer,) = solve_all([asking(workspace=2)])

    assert isinstance(answer, InfeasibleError)
    assert answer.shortage is not None
