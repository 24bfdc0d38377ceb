"""Which bytes hold something: a read of any other is an error.

Off chip, inputs and constants are there from the start; everything else, and every byte on chip, an
instruction must have written. What lies between tensors never counts.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..ir.errors import SimulationError
from ..ir.isa import Space
from ..ir.program import Program, SymbolKind
from .accesses import Touch, Way
from .machine import Memory
from .region import Lattice, Region

_GIVEN = (SymbolKind.INPUT, SymbolKind.CONSTANT)


class WrittenBytes:
    """A flag per byte of all memories; no byte ever loses it."""

    def __init__(self, program: Program, memories: Mapping[tuple[Space, int], Memory]) -> None:
        self._memories = memories
        self._flags = {
            key: np.zeros(memory.bytes.size, np.uint8) for key, memory in memories.items()
        }
        for symbol in program.symbols:
            if symbol.kind in _GIVEN:
                end = symbol.address + symbol.type.bytes
                self._flags[Space.DRAM, 0][symbol.address : end] = 1
        self._settled: dict[tuple[Space, int, int, int], Region] = {}
        """Accesses known to touch written bytes only; regions by identity, which they keep."""

    def observe(self, touched: Sequence[Touch]) -> None:
        """Take account of what an instruction reads and then writes.

        Raises:
            SimulationError: It reads a byte that nothing has written; names the byte.
        """
        for touch in touched:
            access = touch.access
            key = (access.space, access.npu, access.address, id(touch.region))
            if key in self._settled:
                continue
            if touch.way is Way.READ:
                self._check(touch)
            else:
                self._mark(touch)
            self._settled[key] = touch.region

    def _check(self, touch: Touch) -> None:
        for lattice in touch.region.lattices:
            flags = self._of(touch, lattice)
            if not flags.all():
                index = np.unravel_index(int(np.argmin(flags)), flags.shape)
                steps = zip(index, lattice.strides, strict=True)
                inside = lattice.offset + sum(int(i) * stride for i, stride in steps)
                memory = self._memories[touch.access.space, touch.access.npu]
                byte = touch.access.address + inside
                raise SimulationError(
                    f"reads byte {byte:#x} of {memory.name}, which nothing has written"
                )

    def _mark(self, touch: Touch) -> None:
        for lattice in touch.region.lattices:
            self._of(touch, lattice)[...] = 1

    def _of(self, touch: Touch, lattice: Lattice) -> npt.NDArray[np.uint8]:
        flags: Any = self._flags[touch.access.space, touch.access.npu]
        start = touch.access.address + lattice.offset
        return np.ndarray(lattice.shape, np.uint8, flags, start, lattice.strides)
