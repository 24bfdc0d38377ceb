"""Ways to unroll a workload, and products of what they unroll."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ....ir.workload import DIMS, Dim

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Unrollings:
    """``U`` ways to unroll a workload. Products are made once: nests of a search share the ways.

    Attributes:
        loops: Fan-out and dimension of each unrolled loop.
        extents: Extents of these loops ``[U, len(loops)]``.
    """

    loops: tuple[tuple[str, Dim], ...]
    extents: Ints

    def __len__(self) -> int:
        return len(self.extents)

    @cached_property
    def rows(self) -> tuple[tuple[int, ...], ...]:
        """The extents of each way."""
        found: list[list[int]] = self.extents.tolist()
        return tuple(map(tuple, found))

    def steps(self, fanouts: Collection[str] | None = None, dims: Collection[Dim] = DIMS) -> Ints:
        """Return how many steps each way makes one ``[U]``.

        Args:
            fanouts: Over which fan-outs; all if ``None``.
            dims: Along which dimensions.
        """
        key = None if fanouts is None else frozenset(fanouts), frozenset(dims)
        if key not in self._steps:
            columns = [
                column
                for column, (name, dim) in enumerate(self.loops)
                if (fanouts is None or name in fanouts) and dim in dims
            ]
            self._steps[key] = self.extents[:, columns].prod(axis=1)
        return self._steps[key]

    @cached_property
    def _steps(self) -> dict[tuple[frozenset[str] | None, frozenset[Dim]], Ints]:
        return {}

    def over(self, fanouts: Collection[str]) -> Ints:
        """Return what is unrolled over some fan-outs in each dimension ``[U, 8]``.

        Args:
            fanouts: Their names.
        """
        key = frozenset(fanouts)
        if key not in self._over:
            found = np.ones((len(self), len(DIMS)), np.int64)
            for column, (name, dim) in enumerate(self.loops):
                if name in fanouts:
                    found[:, DIMS.index(dim)] *= self.extents[:, column]
            self._over[key] = found
        return self._over[key]

    @cached_property
    def _over(self) -> dict[frozenset[str], Ints]:
        return {}
