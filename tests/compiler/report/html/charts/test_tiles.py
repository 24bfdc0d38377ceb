"""Pictures of tile schedules show every event at its time, and every stay at its address."""

from accnn.compiler.report.html.charts.event_times import event_times
from accnn.ir.isa.instructions import Space
from tests.compiler.report.html.conftest import Made
from tests.compiler.report.html.pages import Element, bars_of, boxes_of, parse
from tests.tiles import tiles_of


def charts(made: Made) -> list[Element]:
    return [
        item
        for item in parse(made.page).all("figure")
        if (item.attrs["id"] or "").startswith("tiles-")
    ]


def test_every_event_has_a_bar_at_the_simulators_time(flexer: Made):
    schedule = tiles_of(flexer.module)
    times = event_times(schedule, flexer.simulation)

    assert times.are_simulated
    for chart, numbers in zip(charts(flexer), schedule.by_step.values(), strict=True):
        spans = [times.spans[number] for number in numbers]
        bars = [bar for path in chart.all("svg")[0].all("path") for bar in bars_of(path)]
        assert sorted(bars) == sorted(spans)


def test_every_stay_in_the_scratchpad_has_a_box(flexer: Made):
    schedule = tiles_of(flexer.module)
    tiles = schedule.graph.tiles
    for step, chart in enumerate(charts(flexer)):
        stays = [
            stay
            for stay in schedule.placements
            if tiles[stay.tile].space is Space.GB and schedule.events[stay.first_event].step == step
        ]
        pictures = chart.all("svg")[1:]
        boxes = [box for item in pictures for path in item.all("path") for box in boxes_of(path)]
        size = 262144

        assert sorted((top, bottom) for _, _, top, bottom in boxes) == sorted(
            (size - stay.address - tiles[stay.tile].bytes, size - stay.address) for stay in stays
        )


def test_boxes_that_share_an_address_do_not_share_time(flexer: Made):
    for chart in charts(flexer):
        boxes = [
            box
            for item in chart.all("svg")[1:]
            for path in item.all("path")
            for box in boxes_of(path)
        ]
        for number, (left, right, top, bottom) in enumerate(boxes):
            for other in boxes[:number]:
                apart = right <= other[0] or other[1] <= left
                assert apart or bottom <= other[2] or other[3] <= top


def test_rows_lead_to_their_pictures(flexer: Made):
    root = parse(flexer.page)
    names = {item.attrs["id"] for item in charts(flexer)}
    links = {item.attrs["href"] for item in root.all("a")}

    assert {f"#{name}" for name in names} <= links


def test_every_operator_leads_to_its_own_picture_where_tiles_cross_operators(across: Made):
    root = parse(across.page)
    rows = [item for item in root.all("tbody") if (item.attrs.get("id") or "").startswith("op-")]

    assert len(charts(across)) == len(rows) == len(across.report.operators)
    for number, row in enumerate(rows):
        assert f"#tiles-{number}" in {item.attrs["href"] for item in row.all("a")}
