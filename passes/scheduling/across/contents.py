"""When what events read was written, tile by tile and, between operators, cell by cell."""

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ....ir.tiles.touches import Accesses, OffChip, OnChip, Storage, Touch

Times: TypeAlias = npt.NDArray[np.int64]
"""Per cell of a tensor, when it was written [cycle]."""


@dataclass(slots=True)
class Contents:
    """What has been written so far; local to one scheduling run."""

    accesses: Accesses
    _tiles: dict[Storage, int] = field(default_factory=dict[Storage, int])
    _tensors: dict[Storage, Times] = field(default_factory=dict[Storage, Times])

    def copy(self) -> "Contents":
        """Return contents that may go on in another way."""
        tensors = {storage: times.copy() for storage, times in self._tensors.items()}
        return Contents(self.accesses, dict(self._tiles), tensors)

    def written(self, touch: Touch) -> int:
        """Return when all that is read was written; 0 for what was there before [cycle]."""
        if touch.cells is None:
            return self._tiles.get(touch.storage, 0)
        if touch.storage not in self._tensors:
            return 0
        return int(self._tensors[touch.storage][list(touch.cells)].max())

    def write(self, touch: Touch, end: int) -> None:
        """Note that something is written at a cycle."""
        storage = touch.storage
        if touch.cells is None:
            self._tiles[storage] = max(self._tiles.get(storage, 0), end)
            return
        assert isinstance(storage, OnChip | OffChip)
        if storage not in self._tensors:
            self._tensors[storage] = np.zeros(self.accesses.parts(storage), np.int64)
        self._tensors[storage][list(touch.cells)] = end

    def forget(self, storage: Storage) -> None:
        """Note that a tensor is about to be brought in anew."""
        self._tensors.pop(storage, None)
