"""Which elements of a tensor a tile covers, whatever view its operator has of the tensor."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .graph import Tile


@dataclass(frozen=True, slots=True)
class Region:
    """Elements ``offset + sum(index * stride)`` of a tensor in row-major order.

    Attributes:
        offset: The first element.
        shape: Extents.
        strides: Distance along each axis [element].
    """

    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def end(self) -> int:
        """One past the last element."""
        reach = sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True))
        return self.offset + reach + 1

    def within(self, elements: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the entries of a one-dimensional array, one entry per element, as a view."""
        size = elements.itemsize
        strides = tuple(stride * size for stride in self.strides)
        return np.ndarray(self.shape, elements.dtype, elements, self.offset * size, strides)


def region_of(tile: Tile) -> Region:
    """Return the elements of its tensor that a tile covers."""
    axes = tuple(zip(tile.box, tile.view, strict=True))
    return Region(
        sum(axis.start * stride for axis, stride in axes),
        tile.shape,
        tuple(axis.step * stride for axis, stride in axes),
    )


def base_of(tile: Tile) -> int:
    """Return the address of the tensor that a resident tile is part of."""
    assert tile.address is not None
    return tile.address - region_of(tile).offset * tile.element_bytes
