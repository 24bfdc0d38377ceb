"""SALSA and LOMA as mappers, on several machines."""

from dataclasses import replace

import pytest

from accnn.backend.load import load_architecture
from accnn.ir.errors import InfeasibleError
from accnn.ir.mapping import SpatialLoop
from accnn.ir.workload import Dim, Operand, Workload
from accnn.passes.analysis.cost import evaluate
from accnn.passes.analysis.zigzag import zigzag_cost
from accnn.passes.mapping.base import (
    MapOptions,
    MappingStatus,
    Objective,
    Rules,
    check_nest,
    with_workspace,
)
from accnn.passes.mapping.output_stationary import OutputStationary
from accnn.passes.mapping.registry import find_mapper
from accnn.passes.mapping.salsa.engine import SearchOptions
from accnn.passes.mapping.salsa.mapper import Salsa
from accnn.passes.mapping.salsa.polish import polish
from accnn.passes.mapping.salsa.selection import Rounds

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


@pytest.mark.parametrize("objective", Objective)
@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("name", ARCHS)
def test_every_layer_maps_to_every_machine(name, layer, objective):
    arch = machine(name)

    result = QUICK.map(LAYERS[layer], arch, options=MapOptions(objective=objective))

    check_nest(result.nest, arch, frozenset())
    assert result.status is MappingStatus.HEURISTIC
    assert result.objective == objective.of(evaluate(result.nest, arch))
    assert 0 < result.bound <= result.objective
    assert result.gap == pytest.approx(result.objective / result.bound - 1)
    baseline = OutputStationary().map(LAYERS[layer], arch, options=MapOptions(objective=objective))
    assert result.objective <= baseline.objective * 1.05


@pytest.mark.parametrize("resident", [frozenset({Operand.I}), frozenset({Operand.O})])
def test_workspace_and_placement_are_heeded(resident):
    arch = machine("simba")

    result = QUICK.map(SMALL, arch, workspace=20_000, resident=resident)

    check_nest(result.nest, with_workspace(arch, 20_000), resident)
    assert not any(
        item.operand in resident and item.level == arch.scratchpad
        for item in result.nest.allocations
    )


def test_given_loops_are_unrolled_and_nothing_else():
    arch = machine("eyeriss")

    result = find_mapper("salsa").map(SMALL, arch, options=MapOptions(spatial=GIVEN))

    assert result.nest.spatial == GIVEN


def test_given_loops_that_do_not_fit_are_refused():
    too_many = (SpatialLoop(Dim.P, 28, "column"),)

    with pytest.raises(InfeasibleError, match="spatial unrolling does not fit"):
        QUICK.map(SMALL, machine("eyeriss"), options=MapOptions(spatial=too_many))


@pytest.mark.parametrize("mapper", ["salsa", "loma"])
def test_energy_is_searched_by_zigzags_rules_when_these_count(mapper):
    arch = machine("eyeriss")
    spatial = (*GIVEN, SpatialLoop(Dim.K, 4, "row"))

    ours, theirs = (
        find_mapper(mapper).map(
            SMALL,
            arch,
            options=MapOptions(objective=Objective.ENERGY, rules=rules, spatial=spatial),
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
    options = MapOptions(objective=Objective.ENERGY, rules=Rules.ZIGZAG, spatial=spatial)

    result = find_mapper("salsa").map(SMALL, arch, options=options)

    assert "in ZigZag's room only: a tile does not fit: gb: needs" in result.note
    with pytest.raises(InfeasibleError):
        result.nest.verify(arch)


def test_the_same_question_has_the_same_answer():
    arch = machine("edge-1m")

    assert QUICK.map(SMALL, arch) == QUICK.map(SMALL, arch)


def test_a_memory_too_small_for_one_element_is_named():
    arch = machine("eyeriss")
    levels = tuple(
        replace(level, capacity=1) if level.name == "ab" else level for level in arch.levels
    )

    with pytest.raises(InfeasibleError, match="one step of the unrolled loops") as info:
        QUICK.map(SMALL, replace(arch, levels=levels))

    assert info.value.shortage is not None
    assert info.value.shortage.resource == "ab"


def test_loma_is_never_better_with_fewer_loops():
    arch = machine("eyeriss")
    options = MapOptions(objective=Objective.ENERGY, spatial=GIVEN)

    salsa, loma = (
        find_mapper(name).map(SMALL, arch, options=options) for name in ("salsa", "loma")
    )

    assert salsa.objective <= loma.objective
    assert loma.note.startswith("exhaustive: ")


@pytest.mark.parametrize("name", ["simba", "eyeriss"])
def test_polish_keeps_the_unrolling_and_never_worsens(name):
    arch = machine(name)
    options = MapOptions(objective=Objective.ENERGY)
    before = OutputStationary().map(SMALL, arch, options=options).nest

    after = polish(before, arch, options=options)

    after.verify(arch)
    assert after.spatial == before.spatial
    assert evaluate(after, arch).energy_pj < evaluate(before, arch).energy_pj
    assert polish(after, arch, options=options) is after
