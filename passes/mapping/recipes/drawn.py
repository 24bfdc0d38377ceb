"""Mappers that draw or enumerate even mappings: yardsticks, and oracles for tests.

- ``random``: the best of five valid mappings drawn uniformly, as in CoSA's evaluation.
- ``random-pruned``: draws that fill the array first and take every order of loops that matters;
  as many evaluations as it is asked for (by default about what a minute of CPU time allows).
- ``exhaustive``: every mapping without padding; refuses spaces that are too large.

Work is limited by evaluations, not by time, so results are the same on every machine.
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ....ir.errors import InfeasibleError, OptionError
from ....ir.proof import Scope
from ..mapper import Mapper, MappingResult, MappingStatus
from ..problem import MappingProblem
from ..search.even.draws import draw_filling, draw_uniform, places_of
from ..search.even.space import (
    EvenBatch,
    EvenSpace,
    even_space,
    stationary_choices,
    with_all_orders,
)

_PART = 4000


@dataclass(frozen=True, slots=True)
class _Best:
    batch: EvenBatch
    value: float
    evaluations: int


def _result(name: str, best: _Best, *, proven: bool, samples: int = 0) -> MappingResult:
    nest = best.batch.nest(0)
    best.batch.space.problem.check(nest)
    return MappingResult(
        nest=nest,
        mapper=name,
        status=MappingStatus.OPTIMAL if proven else MappingStatus.HEURISTIC,
        objective=best.value,
        bound=best.value if proven else None,
        scope=Scope.EVEN_NESTS if proven else None,
        note=f"{best.evaluations} evaluations" + (f" of {samples} samples" if samples else ""),
    )


def _better(best: _Best | None, batch: EvenBatch) -> _Best | None:
    """Return the best so far and what a batch adds to it."""
    cost = batch.cost()
    values = np.where(cost.fits, batch.space.problem.objective.of(cost), np.inf)
    at = int(values.argmin())
    count = len(batch) + (0 if best is None else best.evaluations)
    if math.isinf(values[at]) and best is None:
        return None
    if best is not None and not values[at] < best.value:
        return _Best(best.batch, best.value, count)
    return _Best(batch.take([at]), float(values[at]), count)


@dataclass(frozen=True, kw_only=True)
class RandomBest(Mapper):
    """The best of a few valid mappings drawn uniformly.

    Attributes:
        name: Spelling on the command line.
        valid: How many valid mappings to look at.
        most: Draws after which the search gives up.
    """

    name: str = "random"
    valid: int = 5
    most: int = 4_000_000

    def find(self, problem: MappingProblem) -> MappingResult:
        """Return the best of the first valid draws."""
        space = even_space(problem)
        rng = np.random.default_rng(problem.seed)
        best: _Best | None = None
        drawn = valid = samples = 0
        while valid < self.valid and drawn < self.most:
            batch = draw_uniform(space, _PART, rng)
            fits = np.flatnonzero(batch.cost().fits)[: self.valid - valid]
            valid += len(fits)
            samples = drawn + (int(fits[-1]) + 1 if valid == self.valid else len(batch))
            drawn += len(batch)
            if len(fits):
                best = _better(best, batch.take(fits))
        if best is None:
            raise InfeasibleError(f"none of {drawn} random mappings fits")
        return _result(self.name, best, proven=False, samples=samples)


@dataclass(frozen=True, kw_only=True)
class RandomPruned(Mapper):
    """Many draws that fill the array, each with every order that matters.

    Attributes:
        name: Spelling on the command line.
        evaluations: How many mappings are looked at unless the options say otherwise.
    """

    name: str = "random-pruned"
    evaluations: int = 10_000_000

    def find(self, problem: MappingProblem) -> MappingResult:
        """Return the best of all draws."""
        space = even_space(problem)
        rng = np.random.default_rng(problem.seed)
        budget = self.evaluations if problem.evaluations is None else problem.evaluations
        choices = len(stationary_choices(space))
        best: _Best | None = None
        used = 0
        while used < budget:
            drawn = draw_filling(space, _PART, rng)
            used += len(drawn)
            kept = np.flatnonzero(drawn.cost().overflow <= 2.0)
            for begin in range(0, len(kept), max(1, _PART // choices)):
                part = drawn.take(kept[begin : begin + max(1, _PART // choices)])
                best = _better(best, with_all_orders(part))
                used += len(part) * choices
                if used >= budget:
                    break
        if best is None:
            raise InfeasibleError(f"none of {used} random mappings fits")
        return _result(self.name, best, proven=False)


@dataclass(frozen=True, kw_only=True)
class Exhaustive(Mapper):
    """Every even mapping without padding.

    Attributes:
        name: Spelling on the command line.
        most: Mappings that are still looked at.
    """

    name: str = "exhaustive"
    most: int = 3_000_000

    def find(self, problem: MappingProblem) -> MappingResult:
        """Return the best even mapping.

        Raises:
            OptionError: There are more mappings than ``most``.
        """
        space = even_space(problem)
        count = assignments(space) * len(stationary_choices(space))
        if count > self.most:
            raise OptionError(
                f"{problem.workload} has {count} mappings, more than {self.most}",
                hint="exhaustive search is for small workloads; use cosa",
            )
        best: _Best | None = None
        for part in _all_mappings(space):
            best = _better(best, with_all_orders(part))
        if best is None:
            raise InfeasibleError(f"no even mapping of {problem.workload} fits")
        return _result(self.name, best, proven=True)


def assignments(space: EvenSpace) -> int:
    """Return how many ways there are to give all prime factors to places."""
    return math.prod(
        math.comb(many + len(places_of(space, dim)) - 1, many) for dim, _, many in space.primes
    )


def _all_mappings(space: EvenSpace) -> Iterator[EvenBatch]:
    """Yield all assignments of prime factors in parts."""
    slots, width = len(space.slots), len(space.dims)
    columns = slots * width + len(space.unrollable)
    tables: list[np.ndarray] = []
    for dim, prime, many in space.primes:
        options = list(itertools.combinations_with_replacement(places_of(space, dim), many))
        table = np.ones((len(options), columns), np.int64)
        for row, chosen in enumerate(options):
            for place in chosen:
                table[row, place] *= prime
        tables.append(table)
    whole = np.ones((1, columns), np.int64)
    first = max(range(len(tables)), key=lambda at: len(tables[at]), default=None)
    outer = [table for at, table in enumerate(tables) if at != first]
    for rows in itertools.product(*(range(len(table)) for table in outer)):
        chosen = [table[row] for table, row in zip(outer, rows, strict=True)]
        fixed = np.prod([*chosen, whole[0]], axis=0)
        part = fixed * (whole if first is None else tables[first])
        yield EvenBatch(
            space,
            part[:, : slots * width].reshape(len(part), slots, width),
            part[:, slots * width :],
            np.zeros((len(part), slots), np.int64),
        )
