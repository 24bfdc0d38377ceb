"""SALSA and LOMA as mappers, on several machines."""

import re
from dataclasses import replace

import pytest

from accnn.backend.load import load_architecture
from accnn.ir.errors import InfeasibleError
from accnn.ir.mapping import SpatialLoop
from accnn.ir.workload import Dim, Operand, Workload
from accnn.passes.analysis.cost import evaluate
from accnn.passes.analysis.zigzag import zigzag_cost
from accnn.passes.mapping.mapper import MappingStatus
from accnn.passes.mapping.problem import SEARCHED, MappingProblem, Objective, Rules
from accnn.passes.mapping.recipes.output_stationary import OutputStationary
from accnn.passes.mapping.recipes.salsa import Salsa
from accnn.passes.mapping.registry import find_mapper
from accnn.passes.mapping.search.orders.engine import SearchOptions
from accnn.passes.mapping.search.orders.polish import polish
from accnn.passes.mapping.search.orders.selection import Rounds
from tests.thinned import thinned

ARCHS = ("simba", "eyeriss", "edge-1m", "flexer-arch5")
LAYERS = {
    "first": Workload(R=7, S=7, P=112, Q=112, C=3, K=64, stride=(2, 2)),
    "depthwise": Workload(R=3, S=3, P=14, Q=14, G=96),
    "product": Workload(C=512, K=1000),
    "odd": Workload(R=3, S=1, P=13, Q=11, C=7, K=5, dilation=(2, 1)),
    "one": Workload(),
}
QUICK = Salsa(
    search=SearchOptions(restarts=1, descents=6, iterations=300),
    rounds=Rounds(tried=8, descents=1, semifinalists=3, longer=1, finalists=1),
    beam=20,
)
SMALL = Workload(R=3, S=3, P=28, Q=28, C=128, K=128)
GIVEN = (SpatialLoop(Dim.P, 14, "column"), SpatialLoop(Dim.R, 3, "row"))


def machine(name):
    arch = load_architecture(f"{name}.toml")
    return arch.for_npu(arch.npus[0])


@pytest.mark.parametrize("name", ARCHS)
def test_extents_are_padded_only_where_they_may_be(name: str) -> None:
    """Extents that are prime are where padding pays most."""
    primes = Workload(R=3, S=3, P=13, Q=13, C=37, K=53)
    problem = MappingProblem(workload=primes, arch=machine(name))

    padded, plain = (QUICK.map(replace(problem, padding=item)) for item in (True, False))

    assert padded.nest.padding
    assert not plain.nest.padding
    assert padded.objective < plain.objective


@pytest.mark.parametrize(
    ("name", "layer", "objective"), [*thinned(ARCHS, [*LAYERS], SEARCHED, one_in=4)]
)
def test_every_layer_maps_to_every_machine(name, layer, objective):
    arch = machine(name)

    result = QUICK.map(MappingProblem(workload=LAYERS[layer], arch=arch, objective=objective))

    MappingProblem(workload=result.nest.workload, arch=arch).check(result.nest)
    assert result.status is MappingStatus.HEURISTIC
    assert result.objective == objective.of(evaluate(result.nest, arch))
    assert 0 < result.bound <= result.objective
    assert result.gap == pytest.approx(result.objective / result.bound - 1)
    baseline = OutputStationary().map(
        MappingProblem(workload=LAYERS[layer], arch=arch, objective=objective)
    )
    assert result.objective <= baseline.objective * 1.05


@pytest.mark.parametrize("resident", [frozenset({Operand.I}), frozenset({Operand.O})])
def test_workspace_and_placement_are_heeded(resident):
    arch = machine("simba")

    result = QUICK.map(
        MappingProblem(workload=SMALL, arch=arch, workspace=20_000, resident=resident)
    )

    MappingProblem(
        workload=result.nest.workload, arch=arch, workspace=20_000, resident=resident
    ).check(result.nest)
    assert not any(
        item.operand in resident and item.level == arch.scratchpad
        for item in result.nest.allocations
    )


def test_given_loops_are_unrolled_and_nothing_else():
    arch = machine("eyeriss")

    result = find_mapper("salsa").map(MappingProblem(workload=SMALL, arch=arch, spatial=GIVEN))

    assert result.nest.spatial == GIVEN


def test_given_loops_that_do_not_fit_are_refused():
    too_many = (SpatialLoop(Dim.P, 28, "column"),)

    with pytest.raises(InfeasibleError, match="spatial unrolling does not fit"):
        QUICK.map(MappingProblem(workload=SMALL, arch=machine("eyeriss"), spatial=too_many))


@pytest.mark.parametrize("mapper", ["salsa", "loma"])
def test_energy_is_searched_by_zigzags_rules_when_these_count(mapper):
    arch = machine("eyeriss")
    spatial = (*GIVEN, SpatialLoop(Dim.K, 4, "row"))

    ours, theirs = (
        find_mapper(mapper).map(
            MappingProblem(
                workload=SMALL, arch=arch, objective=Objective.ENERGY, rules=rules, spatial=spatial
            )
        )
        for rules in (Rules.ACCNN, Rules.ZIGZAG_SOUND)
    )

    theirs.nest.verify(arch)
    assert theirs.objective == pytest.approx(zigzag_cost(theirs.nest, arch).energy, rel=1e-12)
    assert theirs.objective <= zigzag_cost(ours.nest, arch).energy
    assert theirs.bound is theirs.scope is None


def test_a_nest_that_fits_in_zigzags_idea_of_room_alone_says_so():
    arch = machine("eyeriss")
    spatial = (*GIVEN, SpatialLoop(Dim.K, 4, "row"))

    result = find_mapper("salsa").map(
        MappingProblem(
            workload=SMALL,
            arch=arch,
            objective=Objective.ENERGY,
            rules=Rules.ZIGZAG,
            spatial=spatial,
        )
    )

    assert "fits by ZigZag's rules only: a tile does not fit: gb: needs" in result.note
    with pytest.raises(InfeasibleError):
        result.nest.verify(arch)


def evaluations(note):
    """Return the evaluations that a note names, and nothing else beside the engine."""
    found = re.fullmatch(r"annealing: (\d+) evaluations", note)
    assert found is not None, note
    return int(found[1])


@pytest.mark.parametrize("asked", [30_000, 300_000])
def test_a_search_takes_about_the_evaluations_that_are_asked_for(asked):
    problem = MappingProblem(
        workload=SMALL, arch=machine("eyeriss"), spatial=GIVEN, evaluations=asked
    )

    taken = evaluations(find_mapper("salsa").map(problem).note)

    assert asked / 2 < taken < 2 * asked


def test_the_same_question_has_the_same_answer():
    arch = machine("edge-1m")

    assert QUICK.map(MappingProblem(workload=SMALL, arch=arch)) == QUICK.map(
        MappingProblem(workload=SMALL, arch=arch)
    )


def test_a_memory_too_small_for_one_element_is_named():
    arch = machine("eyeriss")
    levels = tuple(
        replace(level, capacity=1) if level.name == "ab" else level for level in arch.levels
    )

    with pytest.raises(InfeasibleError, match="one step of the unrolled loops") as info:
        QUICK.map(MappingProblem(workload=SMALL, arch=replace(arch, levels=levels)))

    assert info.value.shortage is not None
    assert info.value.shortage.resource == "ab"


def test_loma_is_never_better_with_fewer_loops():
    arch = machine("eyeriss")
    problem = MappingProblem(workload=SMALL, arch=arch, objective=Objective.ENERGY, spatial=GIVEN)

    salsa, loma = (find_mapper(name).map(problem) for name in ("salsa", "loma"))

    assert salsa.objective <= loma.objective
    assert loma.note.startswith("exhaustive: ")


@pytest.mark.parametrize("name", ["simba", "eyeriss"])
def test_polish_keeps_the_unrolling_and_never_worsens(name):
    arch = machine(name)
    problem = MappingProblem(workload=SMALL, arch=arch, objective=Objective.ENERGY)
    before = OutputStationary().map(problem).nest

    after = polish(before, problem)

    after.verify(arch)
    assert after.spatial == before.spatial
    assert evaluate(after, arch).energy_pj < evaluate(before, arch).energy_pj
    assert polish(after, problem) is after
