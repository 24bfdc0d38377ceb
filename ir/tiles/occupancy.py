"""Check that engines, and bytes on chip, serve one thing at a time."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ..errors import VerifyError
from ..isa.instructions import Space, Unit
from .events import INWARDS, TRANSFERS, Event, Placement, TileEvents
from .graph import Role, TileGraph
from .regions import Region, base_of, region_of


def verify_exclusive(schedule: TileEvents) -> None:
    """No engine does two things at once; queues are in order.

    The MAC array computes one thing at a time; meanwhile the buffers of the next one may fill, and
    the sums of those before leave, in order.

    Raises:
        VerifyError: Names the event.
    """
    latest: dict[tuple[Unit, int], Event] = {}
    for number, event in enumerate(schedule.events):
        queue = (event.unit, event.index)
        _verify_phases(number, event)
        if queue in latest:
            _verify_turn(number, event, latest[queue])
        latest[queue] = event


def _verify_phases(number: int, event: Event) -> None:
    if not 0 <= event.start <= event.begin <= event.done <= event.end:
        raise VerifyError(
            f"event {number} ({event.kind}) runs {event.start}..{event.end}, and computes "
            f"{event.begin}..{event.done}"
        )
    if event.unit is not Unit.MX and (event.fill or event.drain):
        raise VerifyError(
            f"event {number} ({event.kind}) fills or drains, which {event.unit} cannot"
        )


def _verify_turn(number: int, event: Event, before: Event) -> None:
    """Check an event against the one before it in its queue."""
    engine = f"{event.unit}{event.index}"
    if event.start < before.begin:
        raise VerifyError(
            f"event {number} ({event.kind}) starts at {event.start} on {engine}, where another "
            f"waits to begin at {before.begin}"
        )
    if event.begin < before.done:
        raise VerifyError(
            f"event {number} ({event.kind}) runs {event.begin}..{event.done} on {engine}, which is "
            f"busy until {before.done}"
        )
    if event.end < before.end:
        raise VerifyError(
            f"event {number} ({event.kind}) ends at {event.end} on {engine}, before the one ahead "
            f"of it at {before.end}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Span:
    """Addresses that a tile, or a resident tensor, holds from its first to its last touch.

    Of a resident tensor, ``windows`` are its tiles and ``numbers`` the events that touch them.
    """

    start: int
    end: int
    low: int
    high: int
    tile: int
    windows: frozenset[int] = frozenset()
    numbers: tuple[int, ...] = ()


def _placed_span(
    schedule: TileEvents, item: Placement, touching: Mapping[tuple[int, int], list[int]]
) -> _Span:
    """Return what a placement holds.

    Raises:
        VerifyError: No event touches it.
    """
    tile = schedule.graph.tiles[item.tile]
    numbers = touching.get((item.tile, tile.space.owner(item.npu)), [])
    first = bisect_left(numbers, item.first_event)
    last = bisect_right(numbers, item.last_event)
    events = [schedule.events[number] for number in numbers[first:last]]
    if not tile.space.is_shared and schedule.events[item.first_event].unit is Unit.DMA:
        events.append(schedule.events[item.first_event])
    if not events:
        raise VerifyError(f"placement of tile {item.tile} is touched by no event")
    holding = [_holding(event, tile.role) for event in events]
    return _Span(
        start=min(start for start, _ in holding),
        end=max(end for _, end in holding),
        low=item.address,
        high=item.address + tile.occupied,
        tile=item.tile,
    )


def _holding(event: Event, role: Role) -> tuple[int, int]:
    """Return from when to when an event needs the block of a tile.

    The array reads operands from the start on until it is done, and writes new sums only once it
    computes: it may start where the operation before it reads what it takes over.
    """
    if event.unit is not Unit.MX:
        return event.start, event.end
    if role is Role.PSUM:
        return (event.begin if event.clear else event.start), event.end
    return event.start, event.done


def _touching(schedule: TileEvents) -> Mapping[tuple[int, int], list[int]]:
    """Numbers of the events that touch each tile, ascending, by tile and NPU.

    The NPU of shared spaces is 0; transfers to private ones are left out.
    """
    found: dict[tuple[int, int], list[int]] = defaultdict(list)
    for number, event in enumerate(schedule.events):
        for tile in _tiles_of(schedule.graph, event):
            if schedule.graph.tiles[tile].space.is_shared:
                found[(tile, 0)].append(number)
            elif event.unit is not Unit.DMA:
                found[(tile, event.index)].append(number)
    return found


def _tiles_of(graph: TileGraph, event: Event) -> frozenset[int]:
    if event.kind in TRANSFERS:
        return frozenset({event.subject})
    op = graph.ops[event.subject]
    return frozenset((*op.reads, op.out))


def _resident_spans(
    schedule: TileEvents, touching: Mapping[tuple[int, int], list[int]]
) -> list[_Span]:
    """Return what resident tensors hold; one that is brought in anew counts anew.

    One that is there from the start holds its addresses from then on.
    """
    tiles = schedule.graph.tiles
    windows: dict[tuple[str, int], list[int]] = defaultdict(list)
    for number, tile in enumerate(tiles):
        if tile.is_resident:
            windows[(tile.tensor, base_of(tile))].append(number)
    spans: list[_Span] = []
    for (tensor, base), numbers in windows.items():
        end = max(region_of(tiles[number]).end for number in numbers)
        high = base + end * tiles[numbers[0]].element_bytes
        events = sorted({event for number in numbers for event in touching.get((number, 0), ())})
        for part in _residences(schedule, events):
            role = tiles[numbers[0]].role
            holding = [_holding(schedule.events[number], role) for number in part]
            spans.append(
                _Span(
                    start=0
                    if tensor in schedule.graph.preloaded
                    else min(start for start, _ in holding),
                    end=max(end for _, end in holding),
                    low=base,
                    high=high,
                    tile=numbers[0],
                    windows=frozenset(numbers),
                    numbers=part,
                )
            )
    return spans


def _residences(schedule: TileEvents, numbers: list[int]) -> list[tuple[int, ...]]:
    """Split the events that touch a resident tensor where it is brought in."""
    parts: list[list[int]] = []
    for number in numbers:
        if not parts or schedule.events[number].kind in INWARDS:
            parts.append([])
        parts[-1].append(number)
    return [tuple(part) for part in parts]


def _is_written_over(schedule: TileEvents, old: _Span, new: _Span) -> bool:
    """Whether a resident tensor takes the place of another one element by element.

    An element is touched as one of the new tensor only once all that touches it as one of the old
    one has ended; the same event may read the old one and write the new one.
    """
    tiles = schedule.graph.tiles
    is_alike = old.low == new.low and tiles[old.tile].element_bytes == tiles[new.tile].element_bytes
    if not (old.windows and new.windows and is_alike):
        return False
    elements = (max(old.high, new.high) - old.low) // tiles[old.tile].element_bytes
    latest, others = np.zeros(elements, np.int64), np.zeros(elements, np.int64)
    by = np.full(elements, -1, np.int64)
    for number, region in _touched(schedule, old):
        end, before = schedule.events[number].end, region.within(latest)
        runner_up, who = region.within(others), region.within(by)
        is_other, is_later = who != number, end > before
        runner_up[...] = np.maximum(runner_up, np.where(is_other, np.minimum(end, before), 0))
        who[is_later], before[is_later] = number, end
    for number, region in _touched(schedule, new):
        ended = np.where(region.within(by) == number, region.within(others), region.within(latest))
        if (ended > schedule.events[number].start).any():
            return False
    return True


def _touched(schedule: TileEvents, span: _Span) -> Iterator[tuple[int, Region]]:
    """Yield the events that touch a resident tensor, each with the elements."""
    for number in span.numbers:
        for tile in _tiles_of(schedule.graph, schedule.events[number]) & span.windows:
            yield number, region_of(schedule.graph.tiles[tile])


def verify_no_overlap(schedule: TileEvents) -> None:
    """No two placements or resident tensors share a byte at the same time.

    Raises:
        VerifyError: Names both tiles.
    """
    by_space: dict[tuple[str, int], list[_Span]] = defaultdict(list)
    touching = _touching(schedule)
    for item in schedule.placements:
        space = schedule.graph.tiles[item.tile].space
        by_space[(space, item.npu)].append(_placed_span(schedule, item, touching))
    by_space[(Space.GB, 0)] += _resident_spans(schedule, touching)
    for spans in by_space.values():
        spans.sort(key=lambda span: span.start)
        active: list[_Span] = []
        for span in spans:
            active = [other for other in active if other.end > span.start]
            for other in active:
                shares = span.low < other.high and other.low < span.high
                if shares and not _is_written_over(schedule, other, span):
                    raise VerifyError(
                        f"tiles {other.tile} and {span.tile} overlap at cycle {span.start}, "
                        f"address {max(span.low, other.low)}"
                    )
            active.append(span)
