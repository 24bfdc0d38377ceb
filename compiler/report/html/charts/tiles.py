"""One operator's tiles: who works when, and what lies where in the scratchpad meanwhile."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from .....ir.isa.instructions import Space, Unit
from .....ir.tiles.events import TRANSFERS, Event, EventKind, Placement
from .....ir.tiles.graph import Role
from .....ir.tiles.schedule import TileSchedule
from .....ir.tiles.touches import Accesses
from ...figures import amount
from ..names import short
from .event_times import Span
from .marks import LANE, Chart, Key, Label, Mark, Panel, PathShape, bars, boxes

_MAP = 220
_FINISH = "finish"
_LOOKS = {
    EventKind.COMPUTE: "blue",
    _FINISH: "teal",
    EventKind.LOAD: "ochre",
    EventKind.STORE: "slate",
    EventKind.SPILL: "red",
    EventKind.RETRIEVE: "purple",
}
_MEANINGS = {
    EventKind.COMPUTE: "tile operation",
    _FINISH: "requantise, finish a tile",
    EventKind.LOAD: "load",
    EventKind.STORE: "store",
    EventKind.SPILL: "spill a partial sum",
    EventKind.RETRIEVE: "retrieve it",
}
_ROLES = {
    Role.W: "ochre",
    Role.I: "blue",
    Role.O: "teal",
    Role.PSUM: "purple",
    Role.PARAM: "slate",
    Role.INNER: "red",
}
_TILES = {
    Role.W: "tile of weights",
    Role.I: "of inputs",
    Role.O: "of outputs",
    Role.PSUM: "of partial sums",
    Role.PARAM: "of parameters",
    Role.INNER: "of what members of a group hand on",
}
_ORDER = (Unit.MX, Unit.VX, Unit.LD, Unit.ST)


@dataclass(frozen=True, slots=True, kw_only=True)
class TileView:
    """The tiles of one operator with the times at which they ran.

    Attributes:
        step: Position of the operator.
        schedule: Of the network.
        spans: Of the events of the network.
        numbers: The events that work for the operator.
        placed: Its tiles on chip, and from their first to their last touch.
        scratchpad: Size of the scratchpad [byte].
    """

    step: int
    schedule: TileSchedule
    spans: Sequence[Span]
    numbers: Sequence[int]
    placed: Mapping[Placement, Span]
    scratchpad: int

    @property
    def marks_needed(self) -> int:
        """How many bars and boxes the picture has."""
        return len(self.numbers) + len(self.placed)


def tile_views(
    schedule: TileSchedule, spans: Sequence[Span], scratchpad: int
) -> Mapping[int, TileView]:
    """Return a view of the tiles of each operator that has events, by its position.

    Args:
        schedule: Of the network.
        spans: Of its events.
        scratchpad: Size of the scratchpad [byte].
    """
    placed: dict[int, dict[Placement, Span]] = defaultdict(dict)
    for item, span in _touched(schedule, spans).items():
        placed[schedule.events[item.first_event].step][item] = span
    return {
        step: TileView(
            step=step,
            schedule=schedule,
            spans=spans,
            numbers=numbers,
            placed=placed[step],
            scratchpad=scratchpad,
        )
        for step, numbers in schedule.by_step.items()
    }


def tile_chart(view: TileView, name: str, *, are_simulated: bool) -> Chart:
    """Return the chart of one operator's tiles.

    Args:
        view: The tiles.
        name: What the operator is called.
        are_simulated: Whether its times are the simulator's; predicted ones otherwise.
    """
    schedule, spans = view.schedule, [view.spans[number] for number in view.numbers]
    events = [schedule.events[number] for number in view.numbers]
    start, end = min(first for first, _ in spans), max(last for _, last in spans)
    operations = sum(event.unit is not Unit.DMA for event in events)
    placed = [item for item in view.placed if schedule.graph.tiles[item.tile].space is Space.GB]
    kinds = {_kind(schedule, event) for event in events}
    roles = {schedule.graph.tiles[item.tile].role for item in placed}
    clock = "simulated" if are_simulated else "predicted"
    return Chart(
        name=f"tiles-{view.step}",
        caption=f"{name}: engines above, tiles in the scratchpad (address upwards) below",
        description=(
            f"{operations:,} tile operations in "
            f"{len(view.numbers):,} events, {clock} cycles {start:,} to {end:,}; "
            f"{amount(schedule.bytes_of(view.numbers), 'B')} moved off chip."
        ),
        unit="cycle",
        start=start,
        end=end,
        panels=(_engines(view), *([_tiles(view, placed)] if placed else [])),
        legend=(
            Key("", "Engines:"),
            *(Key(f"{_LOOKS[kind]} full", _MEANINGS[kind]) for kind in _LOOKS if kind in kinds),
            *([Key("", "Tiles:")] if roles else []),
            *(Key(f"{_ROLES[role]} full", _TILES[role]) for role in _ROLES if role in roles),
        ),
    )


def _engines(view: TileView) -> Panel:
    lanes: dict[tuple[Unit, int], list[int]] = defaultdict(list)
    for number in view.numbers:
        event = view.schedule.events[number]
        lanes[(event.unit, event.index)].append(number)
    order = sorted(lanes, key=_rank)
    return Panel(
        labels=tuple(
            Label(f"{unit}{index}", LANE * row + LANE / 2)
            for row, (unit, index) in enumerate(order)
        ),
        height=LANE * len(order),
        extent=LANE * len(order),
        marks=tuple(
            mark for row, lane in enumerate(order) for mark in _lane(view, lane, lanes[lane], row)
        ),
    )


def _rank(lane: tuple[Unit, int]) -> tuple[int, ...]:
    """NPUs first, then DMA."""
    unit, index = lane
    return (1, index, 0) if unit is Unit.DMA else (0, index, _ORDER.index(unit))


def _lane(
    view: TileView, lane: tuple[Unit, int], numbers: Sequence[int], row: int
) -> Iterator[Mark]:
    """Yield one mark per kind of event and what it works on; neighbours differ in strength."""
    groups: dict[tuple[str, str, str], list[Span]] = defaultdict(list)
    for place, number in enumerate(numbers):
        event = view.schedule.events[number]
        strength = "soft" if place % 2 else "full"
        key = (_kind(view.schedule, event), _what(view.schedule, event), strength)
        groups[key].append(view.spans[number])
    for (kind, what, strength), spans in groups.items():
        yield Mark(
            shape=PathShape.BARS,
            look=f"{_LOOKS[kind]} {strength}",
            path=bars(spans, LANE * row + LANE / 2),
            title=f"{lane[0]}{lane[1]}: {kind} {what}",
        )


def _kind(schedule: TileSchedule, event: Event) -> str:
    """Return the kind of an event; finishing is one of its own."""
    graph = schedule.graph
    if event.kind is EventKind.COMPUTE and graph.finishes(graph.ops[event.subject]):
        return _FINISH
    return event.kind


def _what(schedule: TileSchedule, event: Event) -> str:
    graph = schedule.graph
    if event.kind not in TRANSFERS:
        return short(graph.ops[event.subject].operator)
    tile = graph.tiles[event.subject]
    return f"{tile.role} of {short(tile.tensor)}, {tile.bytes:,} B"


def _tiles(view: TileView, placed: Sequence[Placement]) -> Panel:
    tiles, size = view.schedule.graph.tiles, view.scratchpad
    groups: dict[tuple[Role, str], list[tuple[int, int, int, int]]] = defaultdict(list)
    for place in placed:
        tile = tiles[place.tile]
        top = size - place.address - tile.bytes
        left, right = view.placed[place]
        key = (tile.role, f"{tile.role} of {short(tile.tensor)}: {tile.bytes:,} B")
        groups[key].append((left, right, top, top + tile.bytes))
    return Panel(
        name="tiles",
        labels=(Label(amount(size, "B"), 6), Label("0", _MAP - 6)),
        height=_MAP,
        extent=size,
        marks=tuple(
            Mark(
                shape=PathShape.BOXES,
                look=f"{_ROLES[role]} full edged",
                path=boxes(items),
                title=title,
            )
            for (role, title), items in groups.items()
        ),
    )


def _touched(schedule: TileSchedule, spans: Sequence[Span]) -> Mapping[Placement, Span]:
    """Return the cycles from the first to the last touch of every placement."""
    accesses = Accesses(schedule)
    found: dict[Placement, Span] = {}
    for number, (first, end) in enumerate(spans):
        for touch in accesses.of(number).both:
            if isinstance(touch.storage, Placement):
                start, stop = found.get(touch.storage, (first, end))
                found[touch.storage] = (min(start, first), max(stop, end))
    return found
