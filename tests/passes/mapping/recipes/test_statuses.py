"""What CoSA and SALSA say of a nest: its value, its bound, and whether anything better is left."""

import itertools
import math
from dataclasses import replace

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from accnn.backend.load import load_architecture
from accnn.ir.errors import InfeasibleError
from accnn.ir.workload import Dim, Operand, Workload
from accnn.passes.analysis.cost import evaluate
from accnn.passes.analysis.zigzag import zigzag_cost
from accnn.passes.mapping.certificate.certify import SpaceOptimum
from accnn.passes.mapping.certificate.padding import PaddedExtents
from accnn.passes.mapping.mapper import MappingStatus
from accnn.passes.mapping.problem import SEARCHED, MappingProblem, Objective, Rules
from accnn.passes.mapping.recipes import cosa
from accnn.passes.mapping.recipes.cosa import Cosa, _better
from accnn.passes.mapping.recipes.output_stationary import OutputStationary
from accnn.passes.mapping.recipes.salsa import Salsa
from accnn.passes.mapping.search.first_nests import Uneven
from accnn.passes.mapping.search.orders.engine import SearchOptions
from accnn.passes.mapping.search.orders.selection import Rounds
from accnn.passes.mapping.search.orders.spatial import all_unrollings, dataflow_unrolling
from accnn.passes.mapping.search.uneven import improve_unevenly
from tests.thinned import examples

SIMBA = load_architecture("simba.toml")
NARROW = Workload(K=7)
PROBLEM = MappingProblem(workload=NARROW, arch=SIMBA)
VALUES = st.sampled_from([50.0, 99.0, 99.5, 99.61, 100.0, 101.0, math.inf])


@pytest.mark.parametrize(
    ("bound", "proven", "status"),
    [
        (100.0, True, MappingStatus.OPTIMAL),
        (120.0, True, MappingStatus.OPTIMAL),  # an uneven nest, better than all even ones
        (99.61, True, MappingStatus.OPTIMAL),
        (99.59995, True, MappingStatus.OPTIMAL),  # less by a rounding
        (99.5998, True, MappingStatus.BOUNDED),
        (99.59, True, MappingStatus.BOUNDED),
        (99.59, False, MappingStatus.BOUNDED),
        (100.0, False, MappingStatus.BOUNDED),
    ],
)
def test_optimal_is_what_is_proven_to_lie_within_the_gap(bound, proven, status):
    found = SpaceOptimum(nest=None, value=100.0, bound=bound, proven=proven)

    assert Cosa()._status(found) is status


OPTIMA = st.builds(
    SpaceOptimum,
    nest=st.just(OutputStationary().map(PROBLEM).nest),
    value=VALUES,
    bound=VALUES,
    proven=st.booleans(),
)


@given(OPTIMA, OPTIMA)
def test_of_two_spaces_a_bound_holds_where_it_holds_for_both(first, second):
    both = _better(first, second)

    assert both.value == min(first.value, second.value)
    assert both.bound == min(first.bound, second.bound)
    assert both.proven == (first.proven and second.proven)
    assert both.nest is (second if second.value < first.value else first).nest


EXTENTS = (7, 8, 16, 32)
"""Of the channels: the own ones, those that are searched, and two that are tried."""


def nest_of(extents):
    """Return some nest of exactly these extents."""
    problem = replace(PROBLEM, workload=NARROW.resized(extents), padding=False)
    return OutputStationary().map(problem).nest


def padded(extent):
    return {**NARROW.dims, Dim.K: extent}


@settings(max_examples=examples(60), deadline=None, derandomize=True, phases=[Phase.generate])
@given(st.data())
def test_the_best_of_all_spaces_is_kept_with_the_least_of_their_bounds(data):
    own, searched, *tried = (
        SpaceOptimum(
            nest=nest_of(padded(extent)),
            value=data.draw(VALUES.filter(math.isfinite)),
            bound=data.draw(VALUES.filter(math.isfinite)),
            proven=data.draw(st.booleans()),
        )
        for extent in EXTENTS
    )
    uneven = data.draw(st.none() | st.builds(Uneven, st.just(searched.nest), VALUES))
    optima = dict(zip(EXTENTS, (own, searched, *tried), strict=True))
    asked = []

    def solved(space, effort, cutoff=math.inf):
        found = optima[space.extents[Dim.K]]
        asked.append(found)
        if found.value < cutoff:
            return found
        return replace(found, nest=None, value=math.inf)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cosa, "solve_space", solved)
        patch.setattr(cosa, "padding_may_pay", lambda space: True)
        patch.setattr(cosa, "search_padded", lambda space: uneven)
        patch.setattr(cosa, "least_steps", lambda problem, extents: 1e9)
        patch.setattr(
            cosa,
            "candidates",
            lambda problem, *, below, count: tuple(
                PaddedExtents(extents=padded(extent), cycles=1.0) for extent in EXTENTS
            ),
        )
        found = Cosa(pad_above=1e-9)._solve(PROBLEM)

    assert own in asked and tried[0] in asked and tried[1] in asked
    values = [item.value for item in asked]
    if uneven is not None and uneven.value < 0.996 * own.value:
        values.append(uneven.value)
    assert found.value == min(values)
    assert found.bound == min(item.bound for item in asked)
    assert found.proven == all(item.proven for item in asked)
    assert found.nest is not None


NOTHING = SpaceOptimum(nest=None, value=math.inf, bound=8.0, proven=False)


def refuse(self, problem):
    raise InfeasibleError(f"{self.name} finds nothing")


def test_where_the_program_finds_nothing_others_step_in_and_the_result_says_so(monkeypatch):
    monkeypatch.setattr(Cosa, "_solve", lambda self, problem: NOTHING)
    searched, greedy = Salsa().map(PROBLEM), OutputStationary().map(PROBLEM)

    for stand_in, found in (("salsa", searched), ("output-stationary", greedy)):
        result = Cosa().map(PROBLEM)

        assert (result.mapper, result.status) == ("cosa", MappingStatus.FALLBACK)
        assert result.note.endswith(stand_in)
        assert (result.nest, result.objective) == (found.nest, found.objective)
        assert (result.bound, result.scope) == (found.bound, found.scope)
        monkeypatch.setattr(Salsa, "find", refuse)

    monkeypatch.setattr(OutputStationary, "find", refuse)
    with pytest.raises(InfeasibleError, match="salsa finds nothing"):
        Cosa().map(PROBLEM)


@pytest.mark.parametrize("is_even", [False, True])
def test_only_extents_that_were_tried_are_bounded_where_nothing_is_padded(monkeypatch, is_even):
    found = SpaceOptimum(nest=nest_of(padded(7)), value=9.0, bound=8.0, proven=True)
    monkeypatch.setattr(cosa, "solve_space", lambda *given: found)
    monkeypatch.setattr(cosa, "search_padded", lambda space: pytest.fail("padded"))

    assert Cosa()._solve(replace(PROBLEM, padding=False, even=is_even)) is found


@pytest.mark.parametrize(("value", "is_solved"), [(99.7, False), (99.59, True)])
def test_padded_extents_are_solved_where_a_nest_gains_more_than_the_gap(
    monkeypatch, value, is_solved
):
    own = SpaceOptimum(nest=nest_of(padded(7)), value=100.0, bound=8.0, proven=True)
    spaces = []
    monkeypatch.setattr(cosa, "solve_space", lambda space, *given: spaces.append(space) or own)
    monkeypatch.setattr(cosa, "padding_may_pay", lambda space: True)
    monkeypatch.setattr(cosa, "search_padded", lambda space: Uneven(nest_of(padded(8)), value))
    monkeypatch.setattr(cosa, "least_steps", lambda *given: 0.0)

    found = Cosa(pad_above=1e-9)._solve(PROBLEM)

    assert [space.extents[Dim.K] for space in spaces] == ([7, 8] if is_solved else [7])
    assert found.value == (value if is_solved else 100.0)


WIDE = Workload(P=64, C=64, K=64)


@pytest.mark.parametrize(
    ("objective", "value", "steps", "is_enough"),
    [
        (Objective.LATENCY, 1.049, 1e9, True),  # fast
        (Objective.LATENCY, 1e9, 1.049, True),  # the array could be
        (Objective.LATENCY, 1.051, 1.051, False),
        (Objective.EDP, 1e9, 1.049, True),
        (Objective.EDP, 1.0, 1.051, False),
        (Objective.ENERGY, 1e9, 1e9, True),
    ],
)
def test_nothing_is_padded_where_that_cannot_help(monkeypatch, objective, value, steps, is_enough):
    problem = MappingProblem(workload=WIDE, arch=SIMBA, objective=objective)
    value, steps = value * problem.cycles_bound, steps * problem.cycles_bound
    found = SpaceOptimum(nest=None, value=value, bound=8.0, proven=True)
    padded = []
    monkeypatch.setattr(cosa, "solve_space", lambda *given: found)
    monkeypatch.setattr(cosa, "padding_may_pay", lambda space: False)
    monkeypatch.setattr(cosa, "least_steps", lambda *given: steps)
    monkeypatch.setattr(cosa, "candidates", lambda *given, **named: padded.append(named) or ())

    assert Cosa(pad_above=1.05)._solve(problem) is found
    assert padded == ([] if is_enough else [{"below": steps, "count": 3}])


QUICK = Salsa(
    search=SearchOptions(restarts=1, descents=1, iterations=1),
    rounds=Rounds(tried=2, descents=1, semifinalists=1, longer=1, finalists=1),
    beam=5,
)
SMALL = Workload(R=3, P=6, C=10, K=12)


@pytest.mark.parametrize("objective", SEARCHED)
def test_no_single_step_improves_what_salsa_finds(objective):
    """Where time counts: its allocation is exact for the energy alone."""
    problem = MappingProblem(workload=SMALL, arch=SIMBA, objective=objective)

    found = QUICK.map(problem)

    assert found.objective == problem.value(found.nest)
    if objective is not Objective.ENERGY:
        again = improve_unevenly(found.nest, problem, objective.of)
        assert problem.value(again) == found.objective


@pytest.mark.parametrize("objective", SEARCHED)
def test_what_is_to_be_even_is(objective):
    problem = MappingProblem(workload=SMALL, arch=SIMBA, objective=objective, even=True)

    nest = QUICK.map(problem).nest

    for level in SIMBA.levels[1:]:
        starts = {item.start for item in nest.allocations if item.level == level.name}
        assert len(starts) <= 1, level.name


@pytest.mark.parametrize("padding", [False, True])
def test_unrollings_of_both_kinds_come_in_turn_the_dataflows_own_first(padding):
    problem = MappingProblem(workload=Workload(P=7, C=10, K=12), arch=SIMBA, padding=padding)
    kinds = [
        all_unrollings(problem, padding=kind, beam=QUICK.beam)
        for kind in (False, True)
        if padding or not kind
    ]

    first, *others = QUICK._unrollings(problem)

    assert first == dataflow_unrolling(problem.workload, problem.machine)
    assert len({first, *others}) == 1 + len(others)
    assert {first, *others} == {first, *itertools.chain(*kinds)}
    ranks = [min(kind.index(item) for kind in kinds if item in kind) for item in others]
    assert ranks == sorted(ranks)


@pytest.mark.parametrize("objective", SEARCHED)
def test_by_zigzags_rules_energy_is_zigzags_and_time_ours(objective):
    problem = MappingProblem(
        workload=SMALL, arch=SIMBA, objective=objective, rules=Rules.ZIGZAG_SOUND
    )

    found = QUICK.map(problem)

    energy = zigzag_cost(found.nest, problem.machine).energy
    cycles = evaluate(found.nest, problem.machine).cycles
    values = {Objective.LATENCY: cycles, Objective.ENERGY: energy, Objective.EDP: energy * cycles}
    assert found.objective == pytest.approx(values[objective], rel=1e-12)


def test_by_zigzags_rules_nothing_is_bounded_and_nothing_moved_by_ours():
    problem = MappingProblem(workload=SMALL, arch=SIMBA, rules=Rules.ZIGZAG_SOUND)

    found = QUICK.map(problem)

    assert found.bound is found.scope is None
    assert found.objective == problem.value(found.nest)
    assert found.status is MappingStatus.HEURISTIC
    assert {item.operand for item in found.nest.allocations} == set(Operand)
