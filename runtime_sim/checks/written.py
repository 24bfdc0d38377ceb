"""Which bytes hold something: a read of any other is an error.

Off chip, inputs and constants are there from the start; everything else, and every byte on chip, an
instruction must have written. What lies between tensors never counts.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from ...ir.errors import SimulationError
from ...ir.isa.instructions import Space
from ...ir.isa.program import Program, SymbolKind
from ..functional.machine import Memory
from ..functional.region import Lattice
from .placed import Placed

_GIVEN = (SymbolKind.INPUT, SymbolKind.CONSTANT)


class WrittenBytes:
    """A flag per byte of all memories; no byte ever loses it."""

    def __init__(self, program: Program, memories: Sequence[Memory]) -> None:
        self._memories = memories
        self._flags = [np.zeros(memory.bytes.size, np.uint8) for memory in memories]
        self._given = sorted(
            (symbol.address, symbol.address + symbol.type.bytes)
            for symbol in program.symbols
            if symbol.kind in _GIVEN
        )

    def observe(self, touched: Sequence[Placed]) -> None:
        """Take account of what an instruction reads and then writes, and none before it did.

        No byte loses its flag, so the same bytes need not be looked at again.

        Raises:
            SimulationError: It reads a byte that nothing has written; names the byte.
        """
        for placed in touched:
            if placed.writes:
                for lattice in placed.touch.region.lattices:
                    self._of(placed, lattice)[...] = 1
            else:
                self._check(placed)

    def _check(self, placed: Placed) -> None:
        memory = self._memories[placed.memory]
        if memory.space is Space.DRAM and self._is_given(placed):
            return
        for lattice in placed.touch.region.lattices:
            flags = self._of(placed, lattice)
            if not flags.all():
                index = np.unravel_index(int(np.argmin(flags)), flags.shape)
                steps = zip(index, lattice.strides, strict=True)
                inside = lattice.offset + sum(int(i) * stride for i, stride in steps)
                byte = placed.touch.access.address + inside
                raise SimulationError(
                    f"reads byte {byte:#x} of {memory.name}, which nothing has written"
                )

    def _is_given(self, placed: Placed) -> bool:
        """Whether a read lies in one input or constant; if not, mark those that it meets.

        So most of these, which may be large, are never marked.
        """
        low, high = placed.low, placed.high
        first = max(bisect_right(self._given, (low, high)) - 1, 0)
        for start, end in islice(self._given, first, None):
            if start <= low and high <= end:
                return True
            if start >= high:
                break
            if low < end:
                self._flags[placed.memory][start:end] = 1
        return False

    def _of(self, placed: Placed, lattice: Lattice) -> npt.NDArray[np.uint8]:
        flags: Any = self._flags[placed.memory]
        start = placed.touch.access.address + lattice.offset
        return np.ndarray(lattice.shape, np.uint8, flags, start, lattice.strides)
