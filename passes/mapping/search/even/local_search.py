"""Local search over even mappings, with the vectorised cost model.

A *move* takes one prime factor from one place (temporal loops of a level, or a fan-out) to another;
a *flip* changes the stationary operand of one level; an *exchange* is two opposite moves
between the same places. A step looks at all moves, then at all moves with all flips, then at all
exchanges, and takes the best of the first of these neighbourhoods that has a better mapping;
a search ends where none has. A mapping that does not fit is first brought to fit: the less it
overflows, the better.
The result is never worse than the start. Searches from several starts share their evaluations.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .....ir.workload import OPERANDS
from ....analysis.batches.batch import BatchCost
from .space import EvenBatch, EvenSpace, joined, with_all_orders

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_OVERFLOW = 1e60
_PART = 4000
_NEIGHBOURHOODS = 3


@dataclass(frozen=True)
class Moves:
    """All moves of a space, as columns of equal length.

    Places are columns of the flattened factors: temporal by slot and dimension, then spatial.

    Attributes:
        source: Where the factor is taken from.
        target: Where it goes.
        prime: The factor.
        source_slot: Slot or fan-out of the source.
        target_slot: Slot or fan-out of the target.
    """

    source: Ints
    target: Ints
    prime: Ints
    source_slot: Ints
    target_slot: Ints


def moves_of(space: EvenSpace) -> Moves:
    """Return all moves."""
    width = len(space.dims)
    fanouts = [fanout.name for fanout in space.arch.fanouts]
    places: dict[str, list[tuple[int, int]]] = {dim: [] for dim in space.dims}
    for slot in range(len(space.slots)):
        for column, dim in enumerate(space.dims):
            places[dim].append((slot * width + column, slot))
    for column, (name, dim) in enumerate(space.unrollable):
        at = len(space.slots) * width + column
        places[dim].append((at, len(space.slots) + fanouts.index(name)))
    rows = [
        (source[0], target[0], prime, source[1], target[1])
        for dim, prime, _ in space.primes
        for source in places[dim]
        for target in places[dim]
        if source is not target
    ]
    table = np.array(rows, np.int64).reshape(-1, 5)
    return Moves(table[:, 0], table[:, 1], table[:, 2], table[:, 3], table[:, 4])


@dataclass(frozen=True)
class Polished:
    """Mappings after local search.

    Attributes:
        batch: The mappings.
        values: Their objectives; infinite where nothing that fits was found.
        evaluations: Mappings looked at.
    """

    batch: EvenBatch
    values: Floats
    evaluations: int

    @property
    def best(self) -> int:
        """The best of the mappings."""
        return int(self.values.argmin())


Measure = Callable[[BatchCost], Floats]
"""What is minimised: one value per mapping; of mappings that do not fit it is disregarded."""


def polish(starts: EvenBatch, measure: Measure, *, rounds: int = 400) -> Polished:
    """Return the local optima that mappings lead to.

    Args:
        starts: Mappings; they need not fit.
        measure: What is minimised.
        rounds: Steps at most.
    """
    search = _Search(starts.space, measure)
    rows = [starts.take([row]) for row in range(len(starts))]
    found = search.best([with_all_orders(row) for row in rows])
    tried = [0] * len(rows)
    for _ in range(rounds):
        active = [row for row in range(len(rows)) if tried[row] < _NEIGHBOURHOODS]
        if not active:
            break
        near = search.best([search.neighbours(found[row][0], tried[row]) for row in active])
        for row, other in zip(active, near, strict=True):
            better = other[1] < found[row][1]
            found[row] = other if better else found[row]
            tried[row] = 0 if better else tried[row] + 1
    values = np.array([value for _, value in found])
    return Polished(
        joined([batch for batch, _ in found]),
        np.where(values < _OVERFLOW, values, np.inf),
        search.evaluations,
    )


class _Search:
    def __init__(self, space: EvenSpace, measure: Measure) -> None:
        self.space = space
        self.measure = measure
        self.moves = moves_of(space)
        self.evaluations = 0

    def values(self, batch: EvenBatch) -> Floats:
        """Return what is compared: the objective, or how far a mapping overflows."""
        self.evaluations += len(batch)
        cost = batch.cost()
        return np.where(cost.fits, self.measure(cost), _OVERFLOW * cost.overflow)

    def best(self, groups: Sequence[EvenBatch]) -> list[tuple[EvenBatch, float]]:
        """Return the best of each group."""
        whole = joined(groups)
        parts = [
            self.values(whole.take(np.arange(begin, min(begin + _PART, len(whole)))))
            for begin in range(0, len(whole), _PART)
        ]
        values = np.concatenate(parts) if parts else np.zeros(0)
        found: list[tuple[EvenBatch, float]] = []
        begin = 0
        for group in groups:
            own = values[begin : begin + len(group)]
            begin += len(group)
            at = int(own.argmin()) if len(group) else 0
            found.append((group.take([at]), float(own[at])) if len(group) else (group, np.inf))
        return found

    def neighbours(self, start: EvenBatch, which: int) -> EvenBatch:
        """Return one of the neighbourhoods of a mapping."""
        factors = _flat(start)
        possible = np.flatnonzero(factors[self.moves.source] % self.moves.prime == 0)
        if which == 0:
            return self._moved(start, factors, possible)
        if which == 1:
            return self._flipped(self._moved(start, factors, possible))
        return self._moved(start, factors, *self._opposite(possible))

    def _moved(
        self, start: EvenBatch, factors: Ints, first: Ints, second: Ints | None = None
    ) -> EvenBatch:
        """Return the mappings after single moves (and the start), or after pairs of moves."""
        count = len(first) + (second is None)
        table = np.repeat(factors[None], count, axis=0)
        rows = np.arange(len(first))
        for chosen in (first,) if second is None else (first, second):
            table[rows, self.moves.source[chosen]] //= self.moves.prime[chosen]
            table[rows, self.moves.target[chosen]] *= self.moves.prime[chosen]
        return _unflat(start, table)

    def _flipped(self, batch: EvenBatch) -> EvenBatch:
        """Return the mappings as they are, and with each single flip."""
        variants = [batch.stationary]
        for slot, movable in enumerate(self.space.movable):
            for operand in movable if len(movable) > 1 else ():
                other = batch.stationary.copy()
                other[:, slot] = OPERANDS.index(operand)
                variants.append(other)
        rows = np.tile(np.arange(len(batch)), len(variants))
        return replace(batch.take(rows), stationary=np.concatenate(variants))

    def _opposite(self, possible: Ints) -> tuple[Ints, Ints]:
        """Return pairs of moves that exchange two factors between two slots."""
        moves = self.moves
        slots = moves.source_slot[possible], moves.target_slot[possible]
        opposite = (slots[0][:, None] == slots[1]) & (slots[1][:, None] == slots[0])
        first, second = np.nonzero(np.triu(opposite, 1))
        first, second = possible[first], possible[second]
        useful = moves.source[first] != moves.target[second]
        return first[useful], second[useful]


def _flat(batch: EvenBatch) -> Ints:
    return np.concatenate((batch.temporal[0].ravel(), batch.spatial[0]))


def _unflat(start: EvenBatch, table: Ints) -> EvenBatch:
    slots, width = start.temporal.shape[1:]
    return EvenBatch(
        start.space,
        table[:, : slots * width].reshape(len(table), slots, width),
        table[:, slots * width :],
        np.repeat(start.stationary, len(table), axis=0),
    )
