"""One memory: who is where, until when its bytes were used, and where space is free first.

Thousands of tiles pass through one memory, and each looks at all ranges: the loops over ranges are
compiled.
"""

# The stubs of NumPy take some scalars for arrays.
# pyright: reportReturnType=false

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accnn.ir.isa.instructions import Space
from accnn.passes.scheduling.engine.kernel.spaces import (
    AT_ONCE,
    END,
    LEFT,
    NEXT_USE,
    claimed,
    earliest,
    empty_spaces,
    free_at,
)

Ints = NDArray[np.int64]

SpaceKey = tuple[Space, int]
"""A space, and the NPU that it belongs to; 0 where NPUs share it."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A content of an address range.

    Attributes:
        number: Among the contents of its memory.
        begin: When all former contents of the range have been used [cycle].
    """

    number: int
    begin: int


class AddressSpace:
    """One memory: address ranges with their latest content, ascending.

    A content that is *live* is a wall until it leaves; then its range may be taken by others.
    """

    def __init__(self) -> None:
        self._spaces = empty_spaces(1, 64, 64)
        self._contents = 0

    def claim(self, low: int, high: int, *, is_live: bool = False) -> Claim:
        """Give a range a new content, which begins when the old ones end.

        Args:
            low: First byte.
            high: Behind the last byte.
            is_live: Whether it is a wall to others until it leaves.
        """
        next_use = AT_ONCE if is_live else LEFT
        begin = -1
        while begin < 0:
            begin = int(claimed(self._spaces, 0, low, high, self._contents, next_use))
            if begin < 0:
                self._grow()
        self._contents += 1
        return Claim(self._contents - 1, begin)

    def _grow(self) -> None:
        """Make space in the arrays for twice as many ranges and contents."""
        old = self._spaces
        new = empty_spaces(1, 2 * old.parts.shape[1], 2 * len(old.contents))
        new.parts[:, : old.parts.shape[1]] = old.parts
        new.contents[: len(old.contents)] = old.contents
        self._spaces = new._replace(counts=old.counts)

    def use(self, claim: Claim, end: int) -> None:
        """Note that a content is used until a cycle."""
        content = self._spaces.contents[claim.number]
        content[END] = max(end, content[END])

    def leave(self, claim: Claim) -> int:
        """Note that a content has been used for the last time; return when that ends [cycle]."""
        self._spaces.contents[claim.number, NEXT_USE] = LEFT
        return int(self._spaces.contents[claim.number, END])

    def free_at(self, low: int, high: int) -> int:
        """Return when the last use of a range so far ends [cycle]."""
        return int(free_at(self._spaces, 0, low, high))

    def earliest(
        self, size: int, blocked: Sequence[tuple[int, int]] | Ints, top: int, quiet: int = 0
    ) -> int | None:
        """Return the address of the space that is free first, ``None`` if there is none.

        Of equal ones the one in the tightest gap between live contents is taken, then the lowest.

        Args:
            size: Bytes that are needed.
            blocked: Ranges that must not be used, beside live contents; ascending.
            top: Size of the memory [byte].
            quiet: Until then nobody can use the space anyway [cycle].
        """
        walls = np.array(blocked, np.int64).reshape(-1, 2)
        address = int(earliest(self._spaces, 0, walls, size, top, quiet))
        return None if address < 0 else address
