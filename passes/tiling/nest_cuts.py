"""How a loop nest splits into operations, one instruction of the MAC array each, and descriptors.

    nest (P=56 K=64 C=64) {         operations    for P 8, for K 2: one each
      dram [W I O]
        for P 8, for K 2            descriptor    for C 64 ..: what an instruction runs
      gb [I O], ab [O]
        for C 64 ..

The loops outside of every operand's outermost tile on chip become operations; those inside become
the descriptor of one.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product, takewhile
from typing import TypeAlias

from ...ir.arch import Architecture
from ...ir.errors import VerifyError
from ...ir.mapping import LoopNest
from ...ir.tiles.graph import Range
from ...ir.workload import DIMS, REDUCTION, RELEVANT, Dim, Operand
from .inner_nest import accumulates_inside

Ranges = Mapping[Dim, Range]
"""Which indices along every dimension, in the order of ``DIMS``."""

_Moving: TypeAlias = Sequence[tuple[Dim, Sequence[tuple[int, int]]]]
"""Dimensions, each with the outer loops along it: number, and distance of one step."""

_MOST_ADDITIONS = 64
"""How often an operation adds to each of its sums, at most, if the first time may be apart."""

_JOINED = 4096
"""Outputs for which operands of operators behind are fetched at once, if more are made."""


@dataclass(frozen=True)
class NestCuts:
    """How a nest splits into operations (outside) and descriptors (inside).

    Attributes:
        nest: The loops.
        arch: The machine.
        resident: Operands that lie whole in the scratchpad.
    """

    nest: LoopNest
    arch: Architecture
    resident: frozenset[Operand] = frozenset()

    @cached_property
    def accumulates_inside(self) -> bool:
        """Whether outputs are completed in the NPU's accumulators."""
        return accumulates_inside(self.nest, self.arch)

    def home_start(self, operand: Operand) -> int:
        """Return where the outermost on-chip tile of an operand starts.

        Args:
            operand: The operand.

        Raises:
            VerifyError: The nest keeps it nowhere on chip.
        """
        if operand not in self._home_starts:
            self._home_starts[operand] = self._home_start(operand)
        return self._home_starts[operand]

    @cached_property
    def _home_starts(self) -> dict[Operand, int]:
        return {}

    def _home_start(self, operand: Operand) -> int:
        on_chip = self.nest.of(operand)[1:]
        is_sums = operand is Operand.O and bool(on_chip)
        if operand in self.resident and not (is_sums and on_chip[0].level == self.arch.scratchpad):
            return 0
        if not on_chip:
            raise VerifyError(f"the nest keeps {operand} nowhere on chip")
        return on_chip[0].start

    @cached_property
    def accumulator_start(self) -> int:
        """Where the tile that accumulators hold starts: outside of what leaves it stationary."""
        start = self.nest.of(Operand.O)[-1].start
        while start > 0 and self.nest.temporal[start - 1].dim not in RELEVANT[Operand.O]:
            start -= 1
        return start

    @cached_property
    def boundary(self) -> int:
        """First loop that is left to the instruction's descriptor."""
        outer = max(self.home_start(Operand.W), self.home_start(Operand.I))
        if self.accumulates_inside:
            return max(outer, self.accumulator_start)
        return max(outer, self.home_start(Operand.O))

    @cached_property
    def steps(self) -> tuple[int, ...]:
        """Distance along its own dimension of one step of each temporal loop."""
        inner = dict.fromkeys(DIMS, 1)
        for loop in self.nest.spatial:
            inner[loop.dim] *= loop.extent
        steps: list[int] = []
        for loop in reversed(self.nest.temporal):
            steps.append(inner[loop.dim])
            inner[loop.dim] *= loop.extent
        return tuple(reversed(steps))

    @cached_property
    def sizes(self) -> tuple[Mapping[Dim, int], ...]:
        """The extents of the loops inside of each cut, temporal and spatial.

        From none of the temporal loops outside of it to all.
        """
        found: list[Mapping[Dim, int]] = []
        for cut in range(len(self.nest.temporal) + 1):
            inside = dict.fromkeys(DIMS, 1)
            for loop in (*self.nest.temporal[cut:], *self.nest.spatial):
                inside[loop.dim] *= loop.extent
            found.append(inside)
        return tuple(found)

    def ranges(self, index: tuple[int, ...]) -> Ranges | None:
        """Return the index ranges inside ``len(index)`` outer loops; ``None`` if all padding."""
        at_first, moving = self._cut_ranges[len(index)]
        found = dict(at_first)
        for dim, steps in moving:
            start = sum(index[loop] * step for loop, step in steps)
            stop = min(start + found[dim].stop, self.nest.workload.dims[dim])
            if start >= stop:
                return None
            found[dim] = Range(start, stop)
        return found

    @cached_property
    def _cut_ranges(self) -> tuple[tuple[Ranges, _Moving], ...]:
        """Ranges at the first index of the outer loops of each cut, and how these move them."""
        dims, loops = self.nest.workload.dims, list(enumerate(self.nest.temporal))
        found: list[tuple[Ranges, _Moving]] = []
        for cut, sizes in enumerate(self.sizes):
            at_first = {dim: Range(0, min(size, dims[dim])) for dim, size in sizes.items()}
            steps: dict[Dim, list[tuple[int, int]]] = {}
            for number, loop in loops[:cut]:
                steps.setdefault(loop.dim, []).append((number, self.steps[number]))
            found.append((at_first, tuple(steps.items())))
        return tuple(found)

    @cached_property
    def sums_start(self) -> int:
        """Where the tile of sums starts that one operation finishes."""
        return self.accumulator_start if self.accumulates_inside else self.boundary

    @cached_property
    def joined_start(self) -> int:
        """Where parts of outputs start that operands of operators behind are fetched for.

        They are tiles of outputs where these are small enough; large ones, and all outputs if they
        lie whole in the scratchpad, are cut by the loops inside.
        """
        start = self.home_start(Operand.O)
        while start < self.sums_start and self._outputs(start) > _JOINED:
            start += 1
        return start

    def _outputs(self, start: int) -> int:
        """Return how many outputs the loops from one of them on make."""
        return math.prod(self.sizes[start][dim] for dim in RELEVANT[Operand.O])

    def first_apart(self, ranges: Ranges) -> tuple[Ranges, ...]:
        """Return an operation cut behind its first addition to each sum.

        Loops that add to a sum before the next one count as one addition. The operation is left
        whole where there is one, or very many.

        Args:
            ranges: Index ranges of the operation.
        """
        found: list[Ranges] = []
        count, left = 1, dict(ranges)
        for number in self._first_loops_that_add:
            dim = self.nest.temporal[number].dim
            size, whole = self.sizes[number + 1][dim], left[dim]
            if whole.size > size:
                count *= -(-whole.size // size)
                found.append({**left, dim: Range(whole.start + size, whole.stop)})
                left[dim] = Range(whole.start, whole.start + size)
        return (left, *reversed(found)) if 1 < count <= _MOST_ADDITIONS else (ranges,)

    @cached_property
    def _first_loops_that_add(self) -> tuple[int, ...]:
        """The outermost loops of an operation, if they go through all its sums again and again.

        Those between loops over outputs add, too. With them ResNet-50 takes 0.9 % more cycles on
        ``edge-1m``: weights come again for so many operations.
        """
        if not self.accumulates_inside:
            return ()
        loops = self.nest.temporal
        outputs = (n for n, loop in enumerate(loops) if loop.dim in RELEVANT[Operand.O])
        inside = range(self.boundary, max(outputs, default=0))
        return tuple(takewhile(lambda number: loops[number].dim in REDUCTION, inside))

    @property
    def operations(self) -> int:
        """How many operations there are: indices of the outer loops that are not all padding."""
        dims, sizes = self.nest.workload.dims, self.sizes[self.boundary]
        return math.prod(-(-dims[dim] // size) for dim, size in sizes.items())

    def iterations(self) -> Iterator[tuple[int, ...]]:
        """Yield the loop indices of every operation, in loop order, and of padding."""
        yield from product(*(range(loop.extent) for loop in self.nest.temporal[: self.boundary]))
