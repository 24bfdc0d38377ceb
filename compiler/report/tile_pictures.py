"""Pictures of a tile schedule as SVG: who works when, and what lies where in the scratchpad."""

from collections.abc import Iterator
from html import escape

from ...ir.isa import Space, Unit
from ...ir.tile_schedule import Event, EventKind, Placement, TileSchedule
from ...ir.tiles import Role

_WIDTH, _LEFT, _LANE = 960, 64, 18
_COLOURS = {
    EventKind.LOAD: "#4c78a8",
    EventKind.STORE: "#54a24b",
    EventKind.SPILL: "#e45756",
    EventKind.RETRIEVE: "#f58518",
    EventKind.COMPUTE: "#b279a2",
    EventKind.FINISH: "#9d755d",
}
_ROLES = {
    Role.W: "#4c78a8",
    Role.I: "#72b7b2",
    Role.O: "#54a24b",
    Role.PSUM: "#f58518",
    Role.PARAM: "#9d755d",
}
_ORDER = (Unit.MX, Unit.VX, Unit.ST, Unit.LD, Unit.DMA)


def gantt(schedule: TileSchedule) -> str:
    """Return one lane per engine, NPUs first, then DMA channels; time runs to the right [cycle]."""
    lanes = sorted(
        {(event.unit, event.index) for event in schedule.events},
        key=lambda lane: (lane[0] is Unit.DMA, lane[1], _ORDER.index(lane[0])),
    )
    row = {lane: number for number, lane in enumerate(lanes)}
    height = _LANE * len(lanes)
    parts = [_label(_LANE * number, f"{unit}{index}") for (unit, index), number in row.items()]
    for number, event in enumerate(schedule.events):
        left, right = _x(schedule, event.start), _x(schedule, event.end)
        top = _LANE * row[(event.unit, event.index)] + 2
        title = _title(schedule, number, event)
        parts.append(_box(left, top, right - left, _LANE - 4, _COLOURS[event.kind], title))
    return _picture(parts, height, _legend(height, _COLOURS), schedule)


def scratchpad_map(schedule: TileSchedule, size: int, height: int = 320) -> str:
    """Return the stays of tiles in the scratchpad: time to the right, addresses upwards.

    Args:
        schedule: What is drawn.
        size: Of the scratchpad [byte].
        height: Of the picture [pixel].
    """
    parts = [_label(0, f"{size} B"), _label(height - _LANE, "0")]
    for stay in schedule.placements:
        tile = schedule.graph.tiles[stay.tile]
        if tile.space is not Space.GB:
            continue
        start, end = _span(schedule, stay)
        left, right = _x(schedule, start), _x(schedule, end)
        tall = height * tile.bytes / size
        top = height * (1 - stay.address / size) - tall
        title = f"{tile.role} of %{tile.tensor}: {tile.bytes} B at {stay.address}, {start}..{end}"
        parts.append(_box(left, top, right - left, tall, _ROLES[tile.role], title))
    return _picture(parts, height, _legend(height, _ROLES), schedule)


def _span(schedule: TileSchedule, stay: Placement) -> tuple[int, int]:
    """Return the cycles between the first and the last event of a stay."""
    first, last = schedule.events[stay.first_event], schedule.events[stay.last_event]
    return first.start, max(first.end, last.end)


def _x(schedule: TileSchedule, cycle: int) -> float:
    return _LEFT + (_WIDTH - _LEFT) * cycle / max(1, schedule.cycles)


def _title(schedule: TileSchedule, number: int, event: Event) -> str:
    graph = schedule.graph
    if event.kind in (EventKind.COMPUTE, EventKind.FINISH):
        what = f"operation {event.subject} of %{graph.ops[event.subject].operator}"
    else:
        tile = graph.tiles[event.subject]
        what = f"{tile.role} of %{tile.tensor}, {tile.bytes} B"
    return f"{number}: {event.kind} {what}, {event.start}..{event.end}"


def _box(x: float, y: float, width: float, height: float, colour: str, title: str) -> str:
    return (
        f'<rect x="{x:.2f}" y="{y:.2f}" width="{max(width, 0.3):.2f}" height="{height:.2f}" '
        f'fill="{colour}" stroke="white" stroke-width="0.2"><title>{escape(title)}</title></rect>'
    )


def _label(y: float, text: str) -> str:
    return f'<text x="0" y="{y + 13:.1f}" font-size="11">{escape(text)}</text>'


def _legend(y: float, colours: dict[EventKind, str] | dict[Role, str]) -> Iterator[str]:
    for number, (name, colour) in enumerate(colours.items()):
        x = _LEFT + 110 * number
        yield _box(x, y + 24, 10, 10, colour, name.value)
        yield f'<text x="{x + 14}" y="{y + 33}" font-size="11">{escape(name.value)}</text>'


def _picture(parts: list[str], height: int, legend: Iterator[str], schedule: TileSchedule) -> str:
    end = f'<text x="{_WIDTH}" y="{height + 14}" font-size="11" text-anchor="end">'
    parts = [*parts, f"{end}{schedule.cycles} cycles</text>", *legend]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height + 44}" '
        f'width="100%" font-family="sans-serif">'
    )
    return "\n".join([head, *parts, "</svg>\n"])
