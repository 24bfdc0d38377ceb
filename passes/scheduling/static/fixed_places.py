"""Addresses for many tiles at once, where taking them one by one leaves space in pieces.

Which operations touch a tile is known beforehand. So tiles are blocks over positions in the order
of issue, which are packed: all tiles together where that is possible, those that are fetched from
some positions before their first use on. Else only inner tiles, which can neither leave nor move,
are packed into the end of the scratchpad's range. Other tiles get what is before it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ....ir.isa.instructions import Space
from ....ir.tiles.graph import Role, TileGraph
from ..engine.blocks import Block, pack_greedily, peak_bytes
from ..engine.kernel.arrays import IssueOrder
from .demand import FIXED, demands

_LOADED = frozenset({Role.W, Role.I, Role.PARAM})
"""Roles of tiles that come from off-chip memory."""

_SPARE = (1.0, 1.05, 1.1, 1.2, 1.35)
"""How many times their peak inner tiles may take, the least first."""

_AHEAD = (16, 8, 4, 2, 1)
"""From how many positions before their first use on fetched tiles have their place."""

_REPAIRS = 5
"""How often a tile that did not fit is taken first, for each order of packing."""


@dataclass(frozen=True, slots=True)
class FixedPlaces:
    """Where tiles lie, and what is left for others.

    Attributes:
        addresses: First byte of each tile whose place is known, by its number.
        since: Position in the order of issue from which on it is a tile's.
        ranges: First byte and size of the range of each space that other tiles may use.
    """

    addresses: Mapping[int, int]
    since: Mapping[int, int]
    ranges: Mapping[Space, tuple[int, int]]


NOWHERE = FixedPlaces({}, {}, {})
"""No tile's place is known."""


def fixed_places(
    graph: TileGraph, order: IssueOrder, ranges: Mapping[Space, tuple[int, int]]
) -> Iterator[FixedPlaces]:
    """Yield places for tiles of a graph: for all of them, then for the inner ones.

    Args:
        graph: Tiles and operations.
        order: Operations as they are issued.
        ranges: First byte and size of the range of each space that tiles may use.
    """
    lives = demands(graph, order).get((Space.GB, 0), ())
    inner = {tile: block for tile, block in lives if _is_read_here(graph, tile)}
    if inner:
        yield from _of_all(graph, lives, ranges)
        yield from _of_inner(inner, ranges)


def _is_read_here(graph: TileGraph, tile: int) -> bool:
    """Whether a tile is made here and read here."""
    return graph.tiles[tile].role in FIXED and tile in graph.readers


def _of_all(
    graph: TileGraph,
    lives: Sequence[tuple[int, Block]],
    ranges: Mapping[Space, tuple[int, int]],
) -> Iterator[FixedPlaces]:
    """Yield places for all tiles if those that are fetched have theirs early enough."""
    base, size = ranges[Space.GB]
    whole: dict[int, Block] = {}
    for tile, block in lives:
        known = whole.get(tile, block)
        first, last = min(known.first, block.first), max(known.last, block.last)
        whole[tile] = replace(block, first=first, last=last)
    for ahead in _AHEAD:
        blocks = {
            tile: replace(block, first=max(0, block.first - ahead))
            if graph.tiles[tile].role in _LOADED
            else block
            for tile, block in whole.items()
        }
        found = pack_greedily(tuple(blocks.values()), size, repairs=_REPAIRS)
        if found is not None:
            places = {tile: base + at for tile, at in zip(blocks, found, strict=True)}
            since = {tile: block.first for tile, block in blocks.items()}
            yield FixedPlaces(places, since, {**ranges, Space.GB: (base, 0)})
            return


def _of_inner(
    blocks: Mapping[int, Block], ranges: Mapping[Space, tuple[int, int]]
) -> Iterator[FixedPlaces]:
    """Yield places for inner tiles, those that leave most for others first."""
    base, size = ranges[Space.GB]
    since = {tile: block.first for tile, block in blocks.items()}
    peak, known = peak_bytes(tuple(blocks.values())), set[int]()
    for spare in _SPARE:
        budget = int(spare * peak)
        if budget >= size:
            break
        found = pack_greedily(tuple(blocks.values()), budget, repairs=_REPAIRS)
        if found is None:
            continue
        ends = (at + block.bytes for at, block in zip(found, blocks.values(), strict=True))
        taken = max(ends)
        if taken not in known:
            known.add(taken)
            top = base + size - taken
            places = {tile: top + at for tile, at in zip(blocks, found, strict=True)}
            yield FixedPlaces(places, since, {**ranges, Space.GB: (base, size - taken)})
