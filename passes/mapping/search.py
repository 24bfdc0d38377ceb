"""Mappers that draw or enumerate even mappings: yardsticks, and oracles for tests.

- ``random``: the best of five valid mappings drawn uniformly, as in CoSA's evaluation.
- ``random-pruned``: draws that fill the array first and take every order of loops that matters;
  as many evaluations as it is told (by default about what a minute of CPU time allows).
- ``exhaustive``: every mapping without padding; refuses spaces that are too large.

Work is limited by evaluations, not by time, so results are the same on every machine.
"""

import itertools
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...ir.arch import Architecture
from ...ir.errors import InfeasibleError, OptionError
from ...ir.proof import Scope
from ...ir.workload import Operand, Workload
from .base import (
    NOTHING_RESIDENT,
    MapOptions,
    MappingResult,
    MappingStatus,
    check_nest,
    held_resident,
    with_workspace,
)
from .even import EvenBatch, EvenSpace, even_space, stationary_choices, with_all_orders
from .measures import measure_of
from .sampling import draw_filling, draw_uniform

_PART = 4000


@dataclass(frozen=True, slots=True)
class _Best:
    batch: EvenBatch
    value: float
    evaluations: int


def _result(
    name: str, best: _Best, space: EvenSpace, started: tuple[float, float], *, proven: bool
) -> MappingResult:
    nest = best.batch.nest(0)
    check_nest(nest, space.arch, space.resident)
    return MappingResult(
        nest=nest,
        mapper=name,
        status=MappingStatus.OPTIMAL if proven else MappingStatus.HEURISTIC,
        objective=best.value,
        bound=best.value if proven else None,
        scope=Scope.EVEN_NESTS if proven else None,
        seconds=time.perf_counter() - started[0],
        cpu_seconds=time.process_time() - started[1],
        note=f"{best.evaluations} evaluations",
    )


def _started() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def _better(best: _Best | None, batch: EvenBatch, options: MapOptions) -> _Best | None:
    """Return the best so far and what a batch adds to it."""
    cost = batch.cost()
    values = np.where(cost.fits, measure_of(options.objective)(cost), np.inf)
    at = int(values.argmin())
    count = len(batch) + (0 if best is None else best.evaluations)
    if math.isinf(values[at]) and best is None:
        return None
    if best is not None and not values[at] < best.value:
        return _Best(best.batch, best.value, count)
    return _Best(batch.take([at]), float(values[at]), count)


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomBest:
    """The best of a few valid mappings drawn uniformly.

    Attributes:
        name: Spelling on the command line.
        valid: How many valid mappings to look at.
        most: Draws after which the search gives up.
    """

    name: str = "random"
    valid: int = 5
    most: int = 4_000_000

    def map(
        self,
        workload: Workload,
        arch: Architecture,
        *,
        workspace: int | None = None,
        resident: frozenset[Operand] = NOTHING_RESIDENT,
        options: MapOptions = MapOptions(),  # noqa: B008 - frozen
    ) -> MappingResult:
        """Return the best of the first valid draws; see :class:`~.base.Mapper`."""
        started = _started()
        machine = with_workspace(arch, workspace)
        space = even_space(workload, machine, held_resident(arch, resident))
        rng = np.random.default_rng(options.seed)
        best: _Best | None = None
        drawn = valid = 0
        while valid < self.valid and drawn < self.most:
            batch = draw_uniform(space, _PART, rng)
            drawn += len(batch)
            fits = np.flatnonzero(batch.cost().fits)[: self.valid - valid]
            valid += len(fits)
            if len(fits):
                best = _better(best, batch.take(fits), options)
        if best is None:
            raise InfeasibleError(f"none of {drawn} random mappings fits")
        return _result(self.name, best, space, started, proven=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomPruned:
    """Many draws that fill the array, each with every order that matters.

    Attributes:
        name: Spelling on the command line.
        evaluations: How many mappings are looked at unless the options say otherwise.
    """

    name: str = "random-pruned"
    evaluations: int = 10_000_000

    def map(
        self,
        workload: Workload,
        arch: Architecture,
        *,
        workspace: int | None = None,
        resident: frozenset[Operand] = NOTHING_RESIDENT,
        options: MapOptions = MapOptions(),  # noqa: B008 - frozen
    ) -> MappingResult:
        """Return the best of all draws; see :class:`~.base.Mapper`."""
        started = _started()
        machine = with_workspace(arch, workspace)
        space = even_space(workload, machine, held_resident(arch, resident))
        rng = np.random.default_rng(options.seed)
        budget = self.evaluations if options.evaluations is None else options.evaluations
        choices = len(stationary_choices(space))
        best: _Best | None = None
        used = 0
        while used < budget:
            drawn = draw_filling(space, _PART, rng)
            used += len(drawn)
            kept = np.flatnonzero(drawn.cost().overflow <= 2.0)
            for begin in range(0, len(kept), max(1, _PART // choices)):
                part = drawn.take(kept[begin : begin + max(1, _PART // choices)])
                best = _better(best, with_all_orders(part), options)
                used += len(part) * choices
                if used >= budget:
                    break
        if best is None:
            raise InfeasibleError(f"none of {used} random mappings fits")
        return _result(self.name, best, space, started, proven=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exhaustive:
    """Every even mapping without padding.

    Attributes:
        name: Spelling on the command line.
        most: Mappings that are still looked at.
    """

    name: str = "exhaustive"
    most: int = 3_000_000

    def map(
        self,
        workload: Workload,
        arch: Architecture,
        *,
        workspace: int | None = None,
        resident: frozenset[Operand] = NOTHING_RESIDENT,
        options: MapOptions = MapOptions(),  # noqa: B008 - frozen
    ) -> MappingResult:
        """Return the best even mapping; see :class:`~.base.Mapper`.

        Raises:
            OptionError: There are more mappings than ``most``.
        """
        started = _started()
        machine = with_workspace(arch, workspace)
        space = even_space(workload, machine, held_resident(arch, resident))
        count = assignments(space) * len(stationary_choices(space))
        if count > self.most:
            raise OptionError(
                f"{workload} has {count} mappings, more than {self.most}",
                hint="exhaustive search is for small workloads; use cosa",
            )
        best: _Best | None = None
        for part in _all_mappings(space):
            best = _better(best, with_all_orders(part), options)
        if best is None:
            raise InfeasibleError(f"no even mapping of {workload} fits")
        return _result(self.name, best, space, started, proven=True)


def assignments(space: EvenSpace) -> int:
    """Return how many ways there are to give all prime factors to places."""
    return math.prod(
        math.comb(many + len(_places(space, str(dim))) - 1, many) for dim, _, many in space.primes
    )


def _places(space: EvenSpace, dim: str) -> list[int]:
    width = len(space.dims)
    column = [str(item) for item in space.dims].index(dim)
    temporal = [slot * width + column for slot in range(len(space.slots))]
    offset = len(space.slots) * width
    spatial = [offset + at for at, (_, other) in enumerate(space.unrollable) if other == dim]
    return temporal + spatial


def _all_mappings(space: EvenSpace) -> Iterator[EvenBatch]:
    """Yield all assignments of prime factors in parts."""
    slots, width = len(space.slots), len(space.dims)
    columns = slots * width + len(space.unrollable)
    tables: list[np.ndarray] = []
    for dim, prime, many in space.primes:
        options = list(itertools.combinations_with_replacement(_places(space, str(dim)), many))
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
