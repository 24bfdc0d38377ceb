"""What groups are expected to take, against what their tiles take."""

import pytest

from accnn.backend.load import load_architecture
from accnn.ir.graph_schedule import Group
from accnn.passes.scheduling.fusion.expected import ExpectedCycles
from tests.networks import NetworkBuilder, per_tensor
from tests.passes.tiling.groups.fused import bottleneck, compile_fused, fire, inverted
from tests.thinned import thinned
from tests.tiles import tiles_of


@pytest.mark.parametrize(
    ("make", "arch", "rows"),
    [*thinned([bottleneck, inverted, fire], ["simba", "edge-1m"], [2, 4, 7], one_in=4)],
)
def test_it_is_near_what_tiles_take(make, arch: str, rows: int):
    graph, data = make(28)
    group = Group(members=tuple(op.name for op in graph.ops), rows=rows)
    machine = load_architecture(arch)
    budget = machine.whole_capacity(machine.scratchpad)

    expected = ExpectedCycles(graph, machine, budget).of(group)

    found = tiles_of(compile_fused(graph, data, arch, (group,)).module).cycles
    assert 0.4 * found < expected < 1.3 * found


def test_a_group_of_the_vector_unit_takes_as_long_as_that():
    net = NetworkBuilder()
    x = net.input("x", (1, 16, 8, 8))
    y = net.op("add", (x, x), "y", quant=per_tensor(0.1))
    graph = net.build(net.op("mul", (y, y), "z", quant=per_tensor(0.1)))
    machine = load_architecture("simba")

    expected = ExpectedCycles(graph, machine, 3 << 16).of(Group(members=("y", "z"), rows=2))

    elements = 2 * 16 * 8 * 8
    assert expected >= elements / machine.vector.lanes


def test_lower_stripes_are_expected_to_take_no_less():
    """A filter of each channel reads more rows again, and nests begin more often."""
    graph, _ = inverted(28)
    machine = load_architecture("simba")
    expects = ExpectedCycles(graph, machine, machine.whole_capacity(machine.scratchpad))
    members = tuple(op.name for op in graph.ops)

    one, seven = (expects.of(Group(members=members, rows=rows)) for rows in (1, 7))

    assert seven < one
