"""Tiles in shared memory and in registers: their sizes, and where an element lies."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ....ir.workload import RELEVANT, Dim, Operand, Workload
from .digits import Digit, added, coordinate

_WINDOWS = ((Dim.P, Dim.R), (Dim.Q, Dim.S))
"""Coordinates of outputs and of filters that make up rows and columns of inputs."""
_ORDER = (Dim.N, Dim.G, Dim.K, Dim.C, Dim.P, Dim.Q, Dim.R, Dim.S)


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """The rows, or the columns, of a tile of inputs.

    Attributes:
        outputs: Digits of the output coordinate within the tile.
        taps: Digits of the filter coordinate within the tile.
        stride: From output to output [element].
        dilation: From tap to tap [element].
    """

    outputs: tuple[Digit, ...]
    taps: tuple[Digit, ...]
    stride: int
    dilation: int

    @property
    def _counts(self) -> tuple[int, int]:
        return extent_of(self.outputs), extent_of(self.taps)

    @property
    def _span(self) -> int:
        outputs, taps = self._counts
        return (outputs - 1) * self.stride + (taps - 1) * self.dilation + 1

    @property
    def is_dense(self) -> bool:
        """Whether everything from the first to the last is kept, not only what is touched."""
        return self._span < math.prod(self._counts)

    @property
    def size(self) -> int:
        """Rows or columns that are kept."""
        return self._span if self.is_dense else math.prod(self._counts)

    def index(self) -> str:
        """Return which of them belongs to the loop variables."""
        steps = (self.stride, self.dilation) if self.is_dense else (self._counts[1], 1)
        parts = (coordinate(self.outputs), coordinate(self.taps))
        return added((part, step) for part, step in zip(parts, steps, strict=True) if part != "0")

    def distance(self, index: str) -> str:
        """Return how far one that is kept lies from the first one, in the whole tensor."""
        taps = self._counts[1]
        if self.is_dense:
            return index
        return f"({index} / {taps} * {self.stride} + {index} % {taps} * {self.dilation})"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptTile:
    """Elements of an operand that are kept.

    Attributes:
        operand: The tensor.
        name: Of the array.
        start: From which temporal loop inwards.
        inside: Digits that run within the tile, of the coordinates of the operand.
        workload: What is computed.
    """

    operand: Operand
    name: str
    start: int
    inside: tuple[Digit, ...]
    workload: Workload

    @property
    def axes(self) -> tuple[Axis, ...]:
        """Rows and columns, of inputs only."""
        if self.operand is not Operand.I:
            return ()
        steps = zip(_WINDOWS, self.workload.stride, self.workload.dilation, strict=True)
        return tuple(
            Axis(
                outputs=tuple(digit for digit in self.inside if digit.dim is output),
                taps=tuple(digit for digit in self.inside if digit.dim is tap),
                stride=stride,
                dilation=dilation,
            )
            for (output, tap), stride, dilation in steps
        )

    @property
    def plain(self) -> tuple[Digit, ...]:
        """Digits that are no part of rows and columns."""
        windows = {dim for pair in _WINDOWS for dim in pair} if self.axes else set[Dim]()
        return tuple(digit for digit in self.inside if digit.dim not in windows)

    @property
    def size(self) -> int:
        """Elements."""
        return extent_of(self.plain) * math.prod(axis.size for axis in self.axes)

    def index(self) -> str:
        """Return where the element lies that belongs to the loop variables."""
        radices = [digit.extent for digit in self.plain] + [axis.size for axis in self.axes]
        values = [digit.name for digit in self.plain] + [axis.index() for axis in self.axes]
        weights = [math.prod(radices[at + 1 :]) for at in range(len(radices))]
        return added(pair for pair in zip(values, weights, strict=True) if pair[0] != "0")


def tile_of(
    operand: Operand,
    name: str,
    start: int,
    digits: Mapping[Dim, Sequence[Digit]],
    workload: Workload,
    *,
    threads: bool,
) -> KeptTile:
    """Return the tile of an operand that starts at a loop.

    Args:
        operand: The tensor.
        name: Of the array.
        start: Among the temporal loops.
        digits: Of all coordinates.
        workload: What is computed.
        threads: Whether it is that of all threads together.
    """
    dims = [dim for dim in _ORDER if dim in RELEVANT[operand]]
    inside = [
        digit for dim in dims for digit in digits[dim] if digit.is_within(start, threads=threads)
    ]
    return KeptTile(
        operand=operand, name=name, start=start, inside=tuple(inside), workload=workload
    )


def extent_of(digits: Sequence[Digit]) -> int:
    """Return how many values some digits take together."""
    return math.prod(digit.extent for digit in digits)
