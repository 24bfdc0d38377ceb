"""Which groups are estimated to be possible in how much of a scratchpad."""

import pytest

from accnn.backend.load import load_architecture
from accnn.ir.graph_schedule import Group
from accnn.ir.groups import group_op
from accnn.passes.scheduling.cosma.traffic.groups import group_traffic
from accnn.passes.scheduling.cosma.traffic.model import comfortable
from accnn.passes.scheduling.map_groups import line_bytes
from tests.passes.tiling.groups.fused import inverted


@pytest.mark.parametrize(
    ("scratchpad", "tiles", "is_possible"),
    [
        (65536, 8192, True),
        (65536, 8191, False),
        (1 << 20, 8192, True),
        (1 << 20, 8191, False),
        (9000, 1125, True),
        (9000, 1124, False),
    ],
)
def test_lines_leave_an_eighth_of_a_small_scratchpad_for_tiles(scratchpad, tiles, is_possible):
    graph, _ = inverted(28)
    group = Group(members=tuple(op.name for op in graph.ops), rows=1)
    op = group_op(graph, group)

    model = group_traffic(graph, group, load_architecture("simba"), comfortable(scratchpad))

    lines = line_bytes(graph, group)
    assert (model(op, frozenset(), lines + tiles) is not None) == is_possible
