"""Addresses for all inner tiles at once, where taking them one by one leaves space in pieces.

Inner tiles can neither leave nor move, and which operations touch them is known beforehand. So they
are blocks over positions in the order of issue, packed into the end of the scratchpad's range.
Other tiles get what is before it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ....ir.isa.instructions import Space
from ....ir.tiles.graph import Role, TileGraph
from ..engine.blocks import pack_greedily, peak_bytes
from .demand import demands
from .issue_order import Turn

_SPARE = (1.0, 1.05, 1.1, 1.2, 1.35)
"""How many times their peak inner tiles may take, the least first."""

_REPAIRS = 5
"""How often a tile that did not fit is taken first, for each order of packing."""


@dataclass(frozen=True, slots=True)
class FixedPlaces:
    """Where inner tiles lie, and what is left for others.

    Attributes:
        addresses: First byte of each inner tile, by its number.
        ranges: First byte and size of the range of each space that other tiles may use.
    """

    addresses: Mapping[int, int]
    ranges: Mapping[Space, tuple[int, int]]


def fixed_places(
    graph: TileGraph, order: Sequence[Turn], ranges: Mapping[Space, tuple[int, int]]
) -> Iterator[FixedPlaces]:
    """Yield places for the inner tiles of a graph, those that leave most for others first.

    Args:
        graph: Tiles and operations.
        order: Operations as they are issued.
        ranges: First byte and size of the range of each space that tiles may use.
    """
    lives = demands(graph, order).get((Space.GB, 0), ())
    blocks = {tile: block for tile, block in lives if graph.tiles[tile].role is Role.INNER}
    if not blocks:
        return
    base, size = ranges[Space.GB]
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
            yield FixedPlaces(places, {**ranges, Space.GB: (base, size - taken)})
