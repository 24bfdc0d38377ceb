"""What groups are chosen for: time, energy, or both."""

from collections.abc import Mapping
from functools import cache

import pytest

from accnn.backend.load import load_architecture
from accnn.ir.graph import Graph
from accnn.ir.graph_schedule import GraphSchedule
from accnn.passes.mapping.problem import Objective
from accnn.passes.scheduling.check import check_schedule
from accnn.passes.scheduling.cosma.schedule import Cosma
from accnn.passes.scheduling.cosma.traffic.tiled import Terms, TiledTraffic
from accnn.passes.scheduling.fusion import Fuse
from tests.flow import Compiled, compile_graph
from tests.inputs import Array
from tests.networks import NetworkBuilder

FASTER = (Objective.LATENCY, Objective.NETWORK)


def stack(channels: int, rows: int, columns: int) -> tuple[Graph, Mapping[str, Array]]:
    """Return three filters that are faster one by one: a few rows leave nests little choice."""
    net = NetworkBuilder()
    x = net.input("x", (1, channels, rows, columns))
    b = net.conv(net.conv(x, "a", channels, 3), "b", channels, 3)
    return net.build(net.conv(b, "c", 8, 3)), net.data


@cache
def plan_of(objective: Objective, shape: tuple[int, int, int], budget: int) -> GraphSchedule:
    graph, arch = stack(*shape)[0], load_architecture("simba")
    exact = TiledTraffic(Terms(graph, arch, objective=objective))
    cosma = Cosma(arch=arch, budget=budget, latency=0.02, fuse=Fuse.GROUPS, objective=objective)
    _, plan = cosma.measured(graph, exact, exact.ahead, exact.of)
    check_schedule(graph, plan, arch)
    return plan


def members(objective: Objective, shape: tuple[int, int, int], budget: int) -> int:
    return sum(len(group.members) for group in plan_of(objective, shape, budget).groups)


@pytest.mark.parametrize("objective", [*Objective])
def test_groups_that_take_longer_are_for_energy(objective: Objective):
    shape, budget = (8, 16, 64), 12_000

    assert members(objective, shape, budget) == (0 if objective in FASTER else 3)


def test_of_energy_and_time_together_bytes_have_to_be_worth_the_cycles():
    """What moves 40,256 bytes moves 19,904 as a group, and takes too long for that."""
    shape, budget = (16, 12, 48), 12_000

    assert members(Objective.ENERGY, shape, budget) == 3
    assert members(Objective.EDP, shape, budget) == 0


@cache
def compiled(objective: Objective) -> Compiled:
    graph, data = stack(8, 16, 64)
    return compile_graph(
        graph, data, "simba", budget=12_000, scheduler="cosma", objective=objective
    )


@pytest.mark.parametrize("objective", [Objective.ENERGY, Objective.EDP])
def test_programs_with_such_groups_are_right_and_take_less_energy(objective: Objective):
    fast, saving = compiled(Objective.LATENCY).run(), compiled(objective).run(detect_races=True)

    assert compiled(objective).wrong(saving) == []
    assert saving.energy_pj < 0.8 * fast.energy_pj
    if objective is Objective.EDP:
        assert saving.energy_pj * saving.cycles < fast.energy_pj * fast.cycles
