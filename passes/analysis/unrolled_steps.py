"""In how few steps an array can run a workload, extents rounded up to what is unrolled.

Filters of 7x7 on three channels do not fill sixteen rows: whatever is unrolled, some multipliers
wait. Each step of an array works on a box of at most as many elements along each dimension as all
fan-outs together unroll, so that ``product(ceil(extent / unrolled))`` steps are needed at least;
even, uneven and padded nests are alike in this. What can be unrolled is limited by the fan-outs
that may: of any set of them, the dimensions that no other may unroll share the sizes.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, combinations

from ...ir.arch import Architecture, Fanout
from ...ir.workload import REDUCTION, Dim, Workload


def fewest_steps(workload: Workload, arch: Architecture) -> int:
    """Return a lower bound of the steps in which one NPU runs a workload.

    Joint limits on fan-outs are left out, which makes the bound lower.

    Args:
        workload: What is computed.
        arch: The machine.
    """
    dims = sorted((dim for dim in Dim if workload.dims[dim] > 1), key=workload.dims.__getitem__)
    extents = [workload.dims[dim] for dim in dims]
    return _Search(extents, list(_limits(dims, arch.fanouts))).fewest()


def _limits(dims: Sequence[Dim], fanouts: Sequence[Fanout]) -> Iterator[tuple[frozenset[int], int]]:
    """Yield dimensions, by position, and the most that can be unrolled of them together."""
    sizes: dict[frozenset[int], int] = {}
    for fanout in fanouts:
        usable = frozenset(place for place, dim in enumerate(dims) if _may_unroll(fanout, dim))
        sizes[usable] = sizes.get(usable, 1) * fanout.size
    kinds = list(sizes)
    for some in chain.from_iterable(combinations(kinds, n) for n in range(len(kinds) + 1)):
        others = frozenset[int]().union(*(kind for kind in kinds if kind not in some))
        yield frozenset(range(len(dims))) - others, math.prod(map(sizes.__getitem__, some))


def _may_unroll(fanout: Fanout, dim: Dim) -> bool:
    return dim in fanout.dims and (fanout.reduction or dim not in REDUCTION)


@dataclass
class _Search:
    """Tries all numbers of steps along each dimension, the smallest dimension first.

    Attributes:
        extents: Of the dimensions.
        limits: Dimensions, by position, and the most that can be unrolled of them together.
    """

    extents: Sequence[int]
    limits: Sequence[tuple[frozenset[int], int]]

    def fewest(self) -> int:
        """Return the least product of steps."""
        self.best = math.prod(self.extents)
        self._try(0, 1, [limit for _, limit in self.limits])
        return self.best

    @cached_property
    def _rest(self) -> list[int]:
        """The product of the extents from each position on."""
        return [math.prod(self.extents[place:]) for place in range(len(self.extents) + 1)]

    def _try(self, place: int, steps: int, left: list[int]) -> None:
        """Go on from a position, with the steps so far and what each limit still allows."""
        if steps * -(-self._rest[place] // min(left[-1], self._rest[place])) >= self.best:
            return
        if place == len(self.extents):
            self.best = steps
            return
        extent = self.extents[place]
        inside = [place in dims for dims, _ in self.limits]
        most = min(n for n, counts in zip(left, inside, strict=True) if counts)
        for unrolled in _worth_trying(extent, most):
            after = [n // unrolled if counts else n for n, counts in zip(left, inside, strict=True)]
            self._try(place + 1, steps * -(-extent // unrolled), after)


def _worth_trying(extent: int, most: int) -> list[int]:
    """Return the least factors that each need fewer steps, the largest first."""
    steps = {-(-extent // factor) for factor in range(1, min(extent, most) + 1)}
    return [-(-extent // count) for count in sorted(steps)]


@dataclass(frozen=True, slots=True)
class LeastCycles:
    """How long all NPUs of a machine compute at least; remembers what it was asked.

    Attributes:
        arch: The machine.
    """

    arch: Architecture
    _known: dict[Workload, float] = field(
        default_factory=dict[Workload, float], compare=False, repr=False
    )

    def __call__(self, workload: Workload) -> float:
        """Return the cycles in which the arrays can run a workload at least.

        Args:
            workload: What is computed.
        """
        if workload not in self._known:
            self._known[workload] = self._bound(workload)
        return self._known[workload]

    def _bound(self, workload: Workload) -> float:
        busy = workload.macs / self.arch.all_macs
        if self.arch.all_macs != len(self.arch.npus) * self.arch.macs:
            return busy
        return max(busy, fewest_steps(workload, self.arch) / len(self.arch.npus))
