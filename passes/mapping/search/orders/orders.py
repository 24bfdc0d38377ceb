"""The orders of some loops on one problem, as the kernel sees them."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from .....ir.errors import OptionError
from .....ir.mapping import Loop
from .....ir.workload import DIMS, OPERANDS, REDUCTION, RELEVANT
from .kernel.records import (
    MOST_LOOPS,
    Ints,
    Loops,
    OrderRecord,
    Tiles,
    loops_of,
    new_candidates,
    new_rows,
    new_state,
)
from .loops import count_orders
from .machine import UnrolledProblem


@dataclass(frozen=True, kw_only=True)
class OrderSpace:
    """All orders of some loops; orders are arrays of indices of the distinct loops.

    Attributes:
        problem: What is searched.
        kinds: The distinct loops, sorted.
        loops: The same as arrays.
        first: The first order in lexicographic sequence ``[n]``.
        count: How many orders there are.
        scratch: Arrays of the kernel; what is in it never changes a result.
    """

    problem: UnrolledProblem
    kinds: tuple[Loop, ...]
    loops: Loops
    first: Ints
    count: int
    scratch: tuple[Tiles, Tiles, OrderRecord]

    @classmethod
    def of(cls, problem: UnrolledProblem, every: Sequence[Loop]) -> Self:
        """Return the orders of some loops.

        Args:
            problem: What is searched.
            every: All loops, equal ones repeated.

        Raises:
            OptionError: There are more loops than the kernel can order.
        """
        if len(every) > MOST_LOOPS:
            raise OptionError(f"{len(every)} loops, at most {MOST_LOOPS}", hint="limit the loops")
        counts = Counter(every)
        kinds = tuple(sorted(counts, key=lambda loop: (DIMS.index(loop.dim), loop.extent)))
        multiplicity = np.array([counts[loop] for loop in kinds], np.int64)
        return cls(
            problem=problem,
            kinds=kinds,
            loops=_loops(kinds, multiplicity),
            first=np.repeat(np.arange(len(kinds)), multiplicity),
            count=count_orders(every),
            scratch=(new_rows(math.prod(multiplicity + 1)), new_candidates(), new_state()),
        )

    def indices_of(self, order: Sequence[Loop]) -> Ints:
        """Return an order of loops as indices."""
        return np.array([self.kinds.index(loop) for loop in order], np.int64)

    def loops_in(self, order: Ints) -> tuple[Loop, ...]:
        """Return an order of indices as loops."""
        return tuple(self.kinds[int(kind)] for kind in order)

    def nearest(self, model: Sequence[Loop]) -> Ints:
        """Return an order like that of other loops, e.g. of another unrolling.

        Loops that both have stand as in the model; others stand next to their dimension's
        innermost one, or outermost.
        """
        left = Counter(self.loops_in(self.first))
        found: list[Loop] = []
        for loop in model:
            if left[loop] > 0:
                left[loop] -= 1
                found.append(loop)
        for loop in sorted(left.elements(), key=self.kinds.index):
            places = [at for at, other in enumerate(found) if other.dim is loop.dim]
            found.insert(places[-1] + 1 if places else 0, loop)
        return self.indices_of(found)

    @property
    def sums_innermost(self) -> Ints:
        """An order that always fits: loops of sums inside, so that outputs can be finished."""
        summed = np.array([self.kinds[kind].dim in REDUCTION for kind in self.first], np.bool_)
        return self.first[np.argsort(summed, kind="stable")]


def _loops(kinds: Sequence[Loop], counts: Ints) -> Loops:
    turns = [[loop.dim in RELEVANT[x] for loop in kinds] for x in OPERANDS]
    return loops_of(
        {
            "kinds": len(kinds),
            "dims": np.array([DIMS.index(loop.dim) for loop in kinds]),
            "extents": np.array([loop.extent for loop in kinds]),
            "counts": counts,
            "radix": np.cumprod([1, *(counts + 1)])[:-1],
            "turns": np.array(turns),
        }
    )
