"""Pictures of tile schedules are well-formed and show every event and stay once."""

from xml.etree import ElementTree

from accnn.compiler.report.tile_pictures import gantt, scratchpad_map
from accnn.ir.isa import Space
from accnn.ir.tile_schedule import TileSchedule
from tests.flow import compile_graph
from tests.networks import residual_network

RECT = "{http://www.w3.org/2000/svg}rect"


def schedule() -> TileSchedule:
    module = compile_graph(*residual_network(), "flexer-arch5", budget=16384, tiles="flexer").module
    return max(module.tile_schedules, key=lambda item: len(item.events))


def test_a_gantt_chart_has_one_box_per_event_and_kind():
    item = schedule()

    boxes = list(ElementTree.fromstring(gantt(item)).iter(RECT))

    assert len(boxes) == len(item.events) + 6
    assert max(float(box.get("x", 0)) + float(box.get("width", 0)) for box in boxes) <= 961


def test_a_map_of_the_scratchpad_has_one_box_per_stay_and_role():
    item = schedule()
    shared = [stay for stay in item.placements if item.graph.tiles[stay.tile].space is Space.GB]

    boxes = list(ElementTree.fromstring(scratchpad_map(item, 262144)).iter(RECT))

    assert len(boxes) == len(shared) + 5
    assert all(float(box.get("y", 0)) >= 0 for box in boxes)
