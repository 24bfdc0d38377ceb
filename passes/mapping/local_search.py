"""Best-improvement local search over even mappings, with the vectorised cost model.

A *move* takes one prime factor from one place (temporal loops of a level, or a fan-out) to another;
a *swap* is two opposite moves between the same places; a *flip* changes the stationary operand of
one level. Each round looks at all moves with all flips, and at swaps where these bring nothing,
and takes the best; it ends where nothing is better. A mapping that does not fit is first brought
to fit: the less it overflows, the better. The result is never worse than the start.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...ir.workload import OPERANDS
from ..analysis.batch import BatchCost
from .even import EvenBatch, EvenSpace, with_all_orders

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_OVERFLOW = 1e60
_PART = 4000


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
    """A mapping after local search.

    Attributes:
        batch: The mapping, a batch of one.
        value: Its objective; infinite where nothing that fits was found.
        evaluations: Mappings looked at.
    """

    batch: EvenBatch
    value: float
    evaluations: int


Measure = Callable[[BatchCost], Floats]
"""What is minimised: one value per mapping; of mappings that do not fit it is disregarded."""


def polish(
    start: EvenBatch,
    measure: Measure,
    *,
    rounds: int = 200,
    swaps: bool = True,
) -> Polished:
    """Return the local optimum that a mapping leads to.

    Args:
        start: A batch of one mapping; it need not fit.
        measure: What is minimised.
        rounds: Improvements at most.
        swaps: Whether swaps are tried where moves bring nothing.
    """
    search = _Search(start.space, measure)
    best, value = search.best(with_all_orders(start))
    for _ in range(rounds):
        found, better = search.step(best, value, swaps)
        if not better < value:
            break
        best, value = found, better
    final = value if value < _OVERFLOW else float("inf")
    return Polished(best, final, search.evaluations)


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

    def best(self, batch: EvenBatch) -> tuple[EvenBatch, float]:
        """Return the best of a batch."""
        found, value = batch.take([0]), float("inf")
        for begin in range(0, len(batch), _PART):
            part = batch.take(np.arange(begin, min(begin + _PART, len(batch))))
            values = self.values(part)
            at = int(values.argmin())
            if values[at] < value:
                found, value = part.take([at]), float(values[at])
        return found, value

    def step(self, start: EvenBatch, value: float, swaps: bool) -> tuple[EvenBatch, float]:
        """Return the best neighbour."""
        factors = _flat(start)
        possible = np.flatnonzero(factors[self.moves.source] % self.moves.prime == 0)
        moved = self._moved(start, factors, possible)
        found, better = self.best(self._flipped(moved))
        if better < value or not swaps:
            return found, better
        firsts, seconds = self._opposite(possible)
        if not len(firsts):
            return found, better
        swapped = self._moved(start, factors, firsts, seconds)
        return min((found, better), self.best(swapped), key=lambda item: item[1])

    def _moved(
        self, start: EvenBatch, factors: Ints, first: Ints, second: Ints | None = None
    ) -> EvenBatch:
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
