import pytest

from accnn.backend.load import catalogue, load_architecture
from accnn.ir.errors import InfeasibleError
from accnn.ir.workload import REDUCTION, Dim, Operand, Workload
from accnn.passes.analysis.cost import evaluate
from accnn.passes.mapping.problem import MappingProblem
from accnn.passes.mapping.recipes.output_stationary import (
    OutputStationary,
    map_output_stationary,
    unrollings,
)

WORKLOADS = (
    Workload(R=3, S=3, P=14, Q=14, C=64, K=96),
    Workload(R=7, S=7, P=28, Q=28, C=3, K=13, stride=(2, 2)),
    Workload(R=3, S=3, P=14, Q=14, G=96),
    Workload(P=197, C=64, K=197, G=12),
    Workload(C=2048, K=1001),
)


@pytest.mark.parametrize("entry", catalogue(), ids=lambda entry: entry.name)
@pytest.mark.parametrize("workload", WORKLOADS, ids=str)
def test_finds_a_valid_nest_on_every_target(entry, workload):
    arch = load_architecture(entry.name + ".toml")

    result = map_output_stationary(workload, arch)

    result.nest.verify(arch)
    cost = evaluate(result.nest, arch)
    assert cost.cycles >= cost.cycles_lower_bound
    assert cost.energy_pj >= cost.energy_lower_bound_pj


def test_tiles_take_half_of_the_workspace():
    arch = load_architecture("simba.toml")
    workload = Workload(R=3, S=3, P=56, Q=56, C=64, K=64)

    nest = (
        OutputStationary().map(MappingProblem(workload=workload, arch=arch, workspace=20_000)).nest
    )

    assert sum(amount for _, amount in nest.bytes_at(arch, "gb")) <= 10_000
    MappingProblem(workload=nest.workload, arch=arch, workspace=20_000).check(nest)


def test_resident_operands_take_no_workspace_and_no_offchip_traffic():
    arch = load_architecture("simba.toml")
    workload = Workload(R=3, S=3, P=56, Q=56, C=64, K=64)
    resident = frozenset({Operand.I, Operand.O})

    nest = (
        OutputStationary()
        .map(MappingProblem(workload=workload, arch=arch, workspace=2, resident=resident))
        .nest
    )

    assert nest.bytes_at(arch, "gb") == ()
    cost = evaluate(nest, arch, placement=resident)
    assert {item.operand for item in cost.traffic if item.place == "dram"} == {Operand.W}


def test_says_what_is_short_where_nothing_fits():
    arch = load_architecture("simba.toml")

    with pytest.raises(InfeasibleError, match="gb: needs .* short of"):
        OutputStationary().map(
            MappingProblem(workload=Workload(P=4, C=4, K=4), arch=arch, workspace=2)
        )


def test_few_channels_are_added_up_rather_than_spread_over_the_accumulators():
    """Three channels fill no adder of eight; eight outputs would, and wait for their sums."""
    arch = load_architecture("simba.toml")
    workload = Workload(R=7, S=7, P=112, Q=112, C=3, K=64, stride=(2, 2))

    found = map_output_stationary(workload, arch)
    inner = [loop.dim for loop in found.nest.spatial if loop.fanout == arch.fanouts[-1].name]

    assert set(inner) <= REDUCTION
    assert found.objective <= 1.1 * evaluate(found.nest, arch).compute_cycles


def test_an_adder_that_channels_fill_is_unrolled_in_one_way():
    arch = load_architecture("simba.toml")
    full = unrollings(Workload(R=3, S=3, P=14, Q=14, C=64, K=96), arch)
    few = unrollings(Workload(R=3, S=3, P=14, Q=14, C=3, K=96), arch)
    name = arch.fanouts[-1].name

    def inner(spatial):
        return {(loop.dim, loop.extent) for loop in spatial if loop.fanout == name}

    assert {frozenset(inner(item)) for item in full} == {frozenset({(Dim.C, 8)})}
    assert len({frozenset(inner(item)) for item in few}) == 2
