"""The drawing of the network: boxes in layers, none on another, shortcuts beside them."""

import re
from itertools import combinations, pairwise

import pytest

from accnn.compiler.report.html.network_graph import MOST_BOXES, network_graph, unit_reads
from accnn.ir.graph import Graph
from accnn.ir.report import OperatorReport
from tests.networks import residual_network

GRAPH, _ = residual_network()
NAMES = [op.name for op in GRAPH.ops]


def reports(*units: tuple[str, ...]) -> list[OperatorReport]:
    """Return reports of units: of one operator each, or of several that run together."""
    return [
        OperatorReport(
            name="+".join(unit),
            kind="conv2d",
            cycles=100 * (number + 1),
            members=unit if len(unit) > 1 else (),
        )
        for number, unit in enumerate(units)
    ]


ALONE = reports(*((name,) for name in NAMES))


def test_who_reads_from_whom_is_what_the_graph_says() -> None:
    reads = unit_reads(GRAPH, ALONE)
    assert reads is not None

    for number, op in enumerate(GRAPH.ops):
        makers = {NAMES.index(name) for name in op.operands if name in NAMES}
        assert reads[number] == makers
    assert any(len(makers) > 1 for makers in reads.values())  # the shortcut
    assert unit_reads(GRAPH, ALONE[1:]) is None


def test_what_runs_together_is_one_box_and_reads_nothing_from_itself() -> None:
    together = reports(tuple(NAMES[:3]), *((name,) for name in NAMES[3:]))
    reads = unit_reads(GRAPH, together)
    drawn = network_graph(GRAPH, together, {})
    assert reads is not None and drawn is not None

    assert reads[0] == frozenset()
    assert all(at not in makers for at, makers in reads.items())
    assert len(drawn.boxes[0].members) == 3
    assert drawn.boxes[0].height > drawn.boxes[1].height
    assert "1 fused group among them" in drawn.description


def test_boxes_lie_below_what_they_read_from_and_on_no_other() -> None:
    drawn, reads = network_graph(GRAPH, ALONE, {NAMES[0]: "first"}), unit_reads(GRAPH, ALONE)
    assert drawn is not None and reads is not None

    for one, other in combinations(drawn.boxes, 2):
        apart_x = one.x + one.width <= other.x or other.x + other.width <= one.x
        apart_y = one.y + one.height <= other.y or other.y + other.height <= one.y
        assert apart_x or apart_y
    for box in drawn.boxes:
        assert box.x >= 0 and box.x + box.width <= drawn.width
        assert box.y + box.height <= drawn.height
        for maker in reads[box.number]:
            assert drawn.boxes[maker].y + drawn.boxes[maker].height < box.y
    assert drawn.boxes[0].name == "first"


def test_every_tensor_between_boxes_has_a_path_that_begins_and_ends_at_them() -> None:
    drawn, reads = network_graph(GRAPH, ALONE, {}), unit_reads(GRAPH, ALONE)
    assert drawn is not None and reads is not None

    assert len(drawn.edges) == sum(map(len, reads.values()))
    around = [path for path in drawn.edges if "H" in path]
    assert around and len(around) < len(drawn.edges)
    right = max(box.x + box.width for box in drawn.boxes)
    for path in around:  # out to a lane beside all boxes, down, and back
        x, y, lane, to, end = map(int, re.findall(r"-?\d+", path))
        assert right < lane < drawn.width
        assert any(x == box.x + box.width and box.y < y < box.y + box.height for box in drawn.boxes)
        assert any(
            end == box.x + box.width and box.y < to < box.y + box.height for box in drawn.boxes
        )


def test_heat_is_the_share_of_the_hottest_and_unknown_figures_are_left_out() -> None:
    drawn = network_graph(GRAPH, ALONE, {})
    assert drawn is not None

    heats = [box.costs[0].heat for box in drawn.boxes]
    assert heats[-1] == 1.0
    assert all(before < after for before, after in pairwise(heats))
    assert drawn.boxes[0].costs[0].text.startswith("100 cycles, ")
    assert {cost.text for box in drawn.boxes for cost in box.costs[1:]} == {""}


@pytest.mark.parametrize("count", [0, MOST_BOXES + 1])
def test_nothing_and_too_much_are_not_drawn(count: int) -> None:
    graph = Graph(name="g", inputs=(), constants=(), ops=(), outputs=())

    assert network_graph(graph, [ALONE[0]] * count, {}) is None
