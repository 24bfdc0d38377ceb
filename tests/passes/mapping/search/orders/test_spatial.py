"""Unrollings: of the machine's dataflow, and all maximal ones."""

import math

import pytest

from accnn.backend.load import load_architecture
from accnn.ir.errors import InfeasibleError, VerifyError
from accnn.ir.mapping import Loop, SpatialLoop, even_nest
from accnn.ir.workload import Dim, Workload
from accnn.passes.mapping.problem import MappingProblem, Objective
from accnn.passes.mapping.recipes.output_stationary import OutputStationary
from accnn.passes.mapping.search.orders.spatial import (
    all_unrollings,
    dataflow_unrolling,
    least_price,
)

EYERISS = load_architecture("eyeriss.toml")
WORKLOAD = Workload(R=3, P=7, Q=7, C=6, K=10)


@pytest.mark.parametrize(
    ("workload", "expected"),
    [
        (Workload(R=3, S=3, P=28, Q=28, C=128, K=128), "P14 on column, R3 on row, K4 on row"),
        (Workload(R=7, S=7, P=112, Q=112, C=3, K=64), "P14 on column, R7 on row"),
        (Workload(P=7, Q=7, C=2048, K=512), "P7 on column, K2 on column, K8 on row"),
        (Workload(C=9216, K=4096), "K8 on column, C12 on row"),
        (Workload(P=14, Q=14, C=384, K=96), "P14 on column, K12 on row"),
    ],
    ids=str,
)
def test_rows_of_a_row_stationary_array_hold_filter_rows_first(workload, expected):
    found = dataflow_unrolling(workload, EYERISS)

    assert ", ".join(f"{loop.dim}{loop.extent} on {loop.fanout}" for loop in found) == expected


@pytest.mark.parametrize("padding", [False, True], ids=["divisors", "padding"])
@pytest.mark.parametrize("name", ["simba", "eyeriss", "gpu-k80", "edge-1m"])
def test_enumerated_unrollings_are_allowed_and_differ(name, padding):
    machine = single(name)

    found = all_unrollings(
        MappingProblem(workload=WORKLOAD, arch=machine), padding=padding, beam=40
    )

    assert len(found) == len(set(found)) > 1
    for unrolling in found:
        nest_of(WORKLOAD, machine, unrolling).verify(machine)


@pytest.mark.parametrize("name", ["simba", "eyeriss", "gpu-k80", "edge-1m"])
def test_no_unrolled_loop_can_be_made_longer(name):
    machine = single(name)

    for unrolling in all_unrollings(MappingProblem(workload=WORKLOAD, arch=machine), beam=40):
        for fanout in machine.fanouts:
            for dim in fanout.dims:
                left = steps_of(WORKLOAD, unrolling)[dim]
                for factor in range(2, left + 1):
                    if left % factor == 0:
                        longer = (*unrolling, SpatialLoop(dim, factor, fanout.name))
                        with pytest.raises((InfeasibleError, VerifyError)):
                            nest_of(WORKLOAD, machine, longer).verify(machine)


def test_padding_takes_the_least_extent_of_equal_steps():
    workload = Workload(P=15, K=12)

    found = all_unrollings(MappingProblem(workload=workload, arch=EYERISS), padding=True)

    columns = {loop.extent for item in found for loop in item if loop.dim is Dim.P}
    assert columns == {8}  # 8 to 14 all leave two steps


def test_the_cheapest_unrolling_comes_first():
    workload = Workload(P=14, K=12)

    first, *_ = all_unrollings(MappingProblem(workload=workload, arch=EYERISS))

    assert math.prod(loop.extent for loop in first) == 14 * 12


def test_a_beam_keeps_the_first_ones():
    problem = MappingProblem(workload=WORKLOAD, arch=EYERISS)
    whole = all_unrollings(problem)

    assert len(all_unrollings(problem, beam=5)) == 5 < len(whole)


def test_a_workload_of_one_step_is_not_unrolled():
    assert all_unrollings(MappingProblem(workload=Workload(), arch=EYERISS)) == ((),)
    assert dataflow_unrolling(Workload(), EYERISS) == ()


def test_the_largest_workloads_overflow_no_number():
    workload = Workload(P=2**31 - 1, Q=2**31 - 1, K=64, C=8)

    found = least_price(MappingProblem(workload=workload, arch=EYERISS), padding=True, beam=24)

    children = math.prod(fanout.size for fanout in EYERISS.fanouts)
    assert found >= math.prod(workload.dims.values()) / children


@pytest.mark.parametrize("objective", [Objective.LATENCY, Objective.ENERGY, Objective.EDP])
@pytest.mark.parametrize("name", ["eyeriss", "gpu-k80", "edge-1m"])
def test_no_nest_costs_less_than_the_steps_of_the_cheapest_unrolling(name, objective):
    for workload in (WORKLOAD, Workload(R=3, S=3, P=14, Q=14, C=64, K=96), Workload(C=512, K=100)):
        problem = MappingProblem(workload=workload, arch=single(name), objective=objective)

        assert least_price(problem, padding=True) <= OutputStationary().map(problem).objective


def single(name):
    machine = load_architecture(f"{name}.toml")
    return machine.for_npu(machine.npus[0])


def steps_of(workload, unrolling):
    left = dict(workload.dims)
    for loop in unrolling:
        left[loop.dim] = math.ceil(left[loop.dim] / loop.extent)
    return left


def nest_of(workload, machine, unrolling):
    steps = [Loop(dim, extent) for dim, extent in steps_of(workload, unrolling).items()]
    return even_nest(workload, machine, {machine.off_chip.name: steps}, unrolling)
