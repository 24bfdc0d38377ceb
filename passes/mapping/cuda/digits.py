"""Coordinates as sums of loop variables.

Every loop of a nest is a digit of one coordinate: its variable times the product of the extents of
the digits behind it. Temporal loops stand in their order. Unrolled loops stand in front of the
temporal ones that run within the inputs a thread keeps, so that the rows and columns of a tile of
inputs are neighbours, whichever memory keeps it.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ....ir.mapping import LoopNest
from ....ir.workload import DIMS, Dim


@dataclass(frozen=True, slots=True, kw_only=True)
class Digit:
    """A loop, as a digit of the coordinate that it runs over.

    Attributes:
        name: Of its variable.
        dim: Which coordinate.
        extent: Of the loop.
        weight: What one step adds to the coordinate.
        position: Among the temporal loops; ``None`` where it is unrolled.
        fanout: What it is unrolled over; empty for a temporal loop.
    """

    name: str
    dim: Dim
    extent: int
    weight: int
    position: int | None
    fanout: str = ""

    def is_within(self, start: int, *, threads: bool) -> bool:
        """Whether the digit runs within a tile that starts at a loop.

        Args:
            start: Of the tile, among the temporal loops.
            threads: Whether the tile is that of all threads together.
        """
        return threads if self.position is None else self.position >= start


def digits_of(nest: LoopNest, inputs: int) -> Mapping[Dim, tuple[Digit, ...]]:
    """Return the digits of every coordinate, the most significant ones first.

    Args:
        nest: The loops.
        inputs: Where the inputs that a thread keeps start, among the temporal loops.
    """
    found: dict[Dim, tuple[Digit, ...]] = {}
    for dim in DIMS:
        loops = [
            (f"{dim.lower()}{position}", loop.extent, position, "")
            for position, loop in enumerate(nest.temporal)
            if loop.dim is dim
        ]
        unrolled = [
            (f"{dim.lower()}_{number}", loop.extent, None, loop.fanout)
            for number, loop in enumerate(nest.spatial)
            if loop.dim is dim
        ]
        outer = sum(position < inputs for _, _, position, _ in loops)
        found[dim] = _weighted(dim, [*loops[:outer], *unrolled, *loops[outer:]])
    return found


def _weighted(dim: Dim, loops: Sequence[tuple[str, int, int | None, str]]) -> tuple[Digit, ...]:
    """Return loops, outermost first, as digits."""
    extents = [extent for _, extent, _, _ in loops]
    behind = list(itertools.accumulate(reversed(extents), lambda one, two: one * two, initial=1))
    weights = reversed(behind[:-1])
    return tuple(
        Digit(name=name, dim=dim, extent=extent, weight=weight, position=position, fanout=fanout)
        for (name, extent, position, fanout), weight in zip(loops, weights, strict=True)
    )


def coordinate(digits: Iterable[Digit]) -> str:
    """Return the sum of some digits of one coordinate as an expression, in brackets."""
    return added((digit.name, digit.weight) for digit in digits)


def added(terms: Iterable[tuple[str, int]]) -> str:
    """Return expressions times numbers, added up, in brackets."""
    parts = [name if weight == 1 else f"{name} * {weight}" for name, weight in terms]
    return parts[0] if len(parts) == 1 and parts[0].isidentifier() else _bracketed(parts)


def _bracketed(parts: Sequence[str]) -> str:
    return f"({' + '.join(parts)})" if parts else "0"
