"""The best schedule of one operator: all viable tilings and dataflows, in order and out of order.

The baseline is the best static order: every viable tiling, every loop order, its innermost loop
unrolled over the NPUs, with the memory and timing rules of the out-of-order schedules. As its
order is known beforehand, it may also give up the tile whose next use is furthest away; the best
of all rules counts. Nothing is left out but what proven bounds exclude.

Out-of-order schedules start from the tilings whose static schedules are best, and the baseline is
one of the candidates: the result is never worse.

References:
    Min, Kwon, Egger: Flexer: Out-of-Order Scheduling for Multi-NPUs. CGO 2023. Algorithm 1,
    lines 1-11; section 5 (baseline).
"""

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TypeAlias

from ....ir.errors import InfeasibleError, Shortage
from ....ir.tile_schedule import TileSchedule
from .bounds import Bound, site_bound, tiling_bound, timed_bound
from .decode import decode
from .kernel.arrays import (
    APART,
    BALANCED,
    DONE,
    EAGER,
    FURTHEST,
    GROUPS,
    ISSUED,
    Choice,
    Goal,
    Ints,
)
from .kernel.drive import result_of, schedule_freely, schedule_in_order
from .kernel.goal import metric
from .latency import TileTimer, profile_energy
from .options import FlexerOptions, Metric
from .orders import Weave, estimate, weaves, woven
from .problem import CANONICAL, Dataflow, TimedTiling, dataflows, timed, unrolled
from .site import Site
from .tilings import REACH, Tiling, viable_tilings

Rows: TypeAlias = list[tuple[float, int, Tiling]]
"""Tilings with the bound of their metric and a number, the least bound first."""

_AT_ONCE = 12
"""Tilings whose ways are tried in turn."""

_WAYS = 36
"""More than the dataflows times the choices of any tiling."""

_WORTH = 6.0
"""Patterns whose estimate is further above the limit are not tried; estimates are rough."""

_NEAR = 1.2
"""Patterns that end this near to the limit are tried with other memory rules."""

STATIC_MEMORIES = (
    EAGER + BALANCED,
    EAGER + FURTHEST,
    BALANCED,
    FURTHEST,
    APART + EAGER + BALANCED,
    APART + EAGER + FURTHEST,
    APART + BALANCED,
    APART + FURTHEST,
)
"""How static orders may use the scratchpad; the best counts."""

_FIRST_MEMORIES = (EAGER + FURTHEST, FURTHEST, APART + EAGER + FURTHEST, APART + FURTHEST)
"""With which patterns of blocks are tried first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A schedule that was found, as the decisions that make it.

    Attributes:
        value: Of the metric.
        cycles: Makespan.
        bytes: Transferred between off-chip memory and the chip.
        timing: The tiling.
        dataflow: The loop order.
        order: Operations as issued, numbered in loop order.
        group: Sizes of the sets.
        memory: Who makes room.
        scheduler: Who made it: ``static`` or ``flexer``.
    """

    value: float
    cycles: int
    bytes: int
    timing: TimedTiling
    dataflow: Dataflow
    order: Ints
    group: Ints
    memory: int
    scheduler: str


@dataclass(slots=True)
class Effort:
    """What a search looked at.

    Attributes:
        tilings: Viable ones.
        pruned: Excluded by their bound alone.
        static: Schedules in loop order that were begun.
        free: Schedules out of order that were begun.
        steps: Operations that these scheduled.
        woven: Schedules of blocks that were begun.
        abandoned: Of all, given up before their end.
        cpu_seconds: CPU time.
        static_seconds: Of it, until the best static order was known.
        woven_seconds: Of it, for patterns of blocks.
    """

    tilings: int = 0
    pruned: int = 0
    static: int = 0
    free: int = 0
    steps: int = 0
    woven: int = 0
    abandoned: int = 0
    cpu_seconds: float = 0.0
    static_seconds: float = 0.0
    woven_seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Found:
    """What a search found for one operator.

    Attributes:
        static: The best static order.
        free: The best out-of-order schedule that was completed, ``None`` if none was.
        best: The better of the two.
        bound: What no schedule of the operator can beat.
        effort: What was looked at.
    """

    static: Candidate
    free: Candidate | None
    best: Candidate
    bound: Bound
    effort: Effort = field(compare=False)


@dataclass(slots=True)
class Search:
    """One search, its tilings and what has been found so far."""

    site: Site
    options: FlexerOptions
    timer: TileTimer
    effort: Effort = field(default_factory=Effort)
    _timed: dict[int, TimedTiling] = field(default_factory=dict[int, TimedTiling])
    _best_of: dict[int, Candidate] = field(default_factory=dict[int, Candidate])
    _most: tuple[float, float] = (math.inf, math.inf)

    def run(self) -> Found:
        """Return the best static and the best schedule of all.

        Raises:
            InfeasibleError: The smallest tiles of one operation do not fit together.
        """
        begin = time.process_time()
        bound = site_bound(self.site)
        tilings: tuple[Rows, ...] = self.ranked()
        static = self.best_static(tilings[0], None)
        if self._is_far(static, bound):
            static = self.best_static(tilings[1], static)
        else:
            tilings = tilings[:1]
        self.effort.static_seconds = time.process_time() - begin
        limit = math.inf
        if not self.options.keep_free:
            limit = static.value
            if not self.options.trade:
                self._most = static.cycles, static.bytes
        found: Candidate | None = None
        for rows in tilings:
            better = self.best_woven(rows, limit if found is None else found.value)
            found = better or found
        self.effort.woven_seconds = time.process_time() - begin - self.effort.static_seconds
        every = [row for rows in tilings for row in rows]
        free = self.best_free(every, limit if found is None else found.value) or found
        best = static if free is None or free.value >= static.value else free
        self.effort.cpu_seconds = time.process_time() - begin
        return Found(static=static, free=free, best=best, bound=bound, effort=self.effort)

    def ranked(self) -> tuple[Rows, Rows]:
        """Return viable tilings by the lower bound of their metric: of few and of more operations.

        Raises:
            InfeasibleError: There is none.
        """
        options = self.options
        most = max(options.max_ops, options.more_ops)
        found = viable_tilings(self.site, max_ops=most, ratio=options.ratio)
        if not found:
            raise _too_small(self.site)
        few = max(options.max_ops, REACH * min(tiling.op_count for tiling in found))
        rows = [
            (self.value_of(tiling_bound(tiling)), number, tiling)
            for number, tiling in enumerate(found)
        ]
        rows.sort(key=lambda row: row[:2])
        return (
            [row for row in rows if row[2].op_count <= few],
            [row for row in rows if row[2].op_count > few],
        )

    def _is_far(self, found: Candidate, bound: Bound) -> bool:
        """Whether a schedule is far above the bounds of cycles and of bytes."""
        far = self.options.far
        return found.cycles > far * bound.cycles and found.bytes > far * bound.bytes

    def value_of(self, bound: Bound, timing: TimedTiling | None = None) -> float:
        """Return the metric of a bound."""
        return metric(self.goal(math.inf, timing), bound.cycles, bound.bytes)

    def goal(self, limit: float, timing: TimedTiling | None = None) -> Goal:
        """Return what is minimised."""
        if self.options.metric is not Metric.ENERGY:
            return self.options.goal(limit, most=self._most)
        dram = self.site.arch.off_chip
        byte_pj = min(dram.read_energy, dram.write_energy) * 8 / dram.word_bits
        if timing is None:
            return self.options.goal(limit, 0.0, byte_pj, self._most)
        _, shape_of = timing.tiling.shapes
        energies = [profile_energy(row[0], self.site.arch) for row in timing.profiles]
        shapes: list[int] = shape_of.tolist()
        fixed = sum(energies[shape] for shape in shapes)
        return self.options.goal(limit, fixed, byte_pj, self._most)

    def time(self, number: int, tiling: Tiling) -> TimedTiling:
        """Return a tiling with times, worked out once."""
        if number not in self._timed:
            self._timed[number] = timed(tiling, self.timer)
        return self._timed[number]

    def best_static(self, tilings: Rows, best: Candidate | None) -> Candidate:
        """Return the best schedule in loop order, of some tilings and what is known already."""
        self.effort.tilings += len(tilings)
        for rank, (bound, number, tiling) in enumerate(tilings):
            limit = math.inf if best is None else best.value
            if bound >= limit:
                self.effort.pruned += len(tilings) - rank
                break
            timing = self.time(number, tiling)
            if self.value_of(timed_bound(timing), timing) >= limit:
                self.effort.pruned += 1
                continue
            for found in self._static(timing, limit):
                if number not in self._best_of or found.value < self._best_of[number].value:
                    self._best_of[number] = found
                if best is None or found.value < best.value:
                    best = found
        if best is None:
            raise _too_small(self.site)
        return best

    def _static(self, timing: TimedTiling, limit: float) -> Iterator[Candidate]:
        """Yield schedules of a tiling in loop order; those beyond 1.1 times the limit are not."""
        for dataflow in dataflows(timing.tiling):
            problem, _ = timing.in_order(dataflow)
            order, group = unrolled(problem.reads, problem.latency.shape[1])
            for memory in STATIC_MEMORIES:
                goal = self.goal(1.1 * limit, timing)
                self.effort.static += 1
                status, state = schedule_in_order(problem, order, group, memory, goal, False)
                if status != DONE:
                    self.effort.abandoned += 1
                    continue
                cycles, bytes = result_of(state)
                yield Candidate(
                    value=metric(goal, cycles, bytes),
                    cycles=cycles,
                    bytes=bytes,
                    timing=timing,
                    dataflow=dataflow,
                    order=order,
                    group=group,
                    memory=memory,
                    scheduler="static",
                )

    def best_woven(self, tilings: Rows, limit: float) -> Candidate | None:
        """Return the best schedule below a limit that walks blocks to and fro, ``None`` if none.

        Patterns are tried in the order of their estimates; the best ones with every memory rule.
        """
        ranked = sorted(self._estimated(tilings, limit), key=lambda row: row[:2])
        best: Candidate | None = None
        good: list[tuple[float, int, TimedTiling, Weave]] = []
        for rank, (value, _, timing, weave) in enumerate(ranked[: self.options.weaves]):
            if value >= _WORTH * limit:
                break
            ends = math.inf
            for memory in _FIRST_MEMORIES:
                found = self._woven(timing, weave, memory, limit, _NEAR)
                if found is None:
                    continue
                ends = min(ends, found.value)
                if found.value < limit and self._is_allowed(found):
                    best, limit = found, found.value
            if ends < math.inf:
                good.append((ends, rank, timing, weave))
        for _, _, timing, weave in sorted(good, key=lambda row: row[:2])[
            : self.options.weaves // 8
        ]:
            for memory in STATIC_MEMORIES:
                if memory in _FIRST_MEMORIES:
                    continue
                found = self._woven(timing, weave, memory, limit)
                if found is not None and found.value < limit:
                    best, limit = found, found.value
        return best

    def _estimated(
        self, tilings: Rows, limit: float
    ) -> Iterator[tuple[float, int, TimedTiling, Weave]]:
        """Yield patterns of tilings that may stay below a limit, with their estimated metric."""
        count = 0
        for _, number, _ in tilings:
            timing = self._timed.get(number)
            if timing is None or self.value_of(timed_bound(timing), timing) >= limit:
                continue
            for weave in weaves(timing.tiling, len(self.site.arch.npus)):
                about = estimate(timing, weave)
                if about is not None:
                    count += 1
                    yield self.value_of(about, timing), count, timing, weave

    def _is_allowed(self, found: Candidate) -> bool:
        """Whether a schedule takes no more cycles and bytes than it may."""
        return found.cycles <= self._most[0] and found.bytes <= self._most[1]

    def _woven(
        self, timing: TimedTiling, weave: Weave, memory: int, limit: float, slack: float = 1.0
    ) -> Candidate | None:
        """Return the schedule of a pattern, ``None`` where it is not below a limit.

        Args:
            timing: The tiling.
            weave: The pattern.
            memory: Who makes room.
            limit: Of the metric.
            slack: How many times the limit is allowed, and the cycles and bytes.
        """
        order, group = woven(timing.tiling, weave, len(self.site.arch.npus))
        goal = self.goal(slack * limit, timing)
        goal = goal._replace(
            most_cycles=slack * goal.most_cycles, most_bytes=slack * goal.most_bytes
        )
        status, state = schedule_in_order(timing.problem, order, group, memory, goal, False)
        self.effort.woven += 1
        if status != DONE:
            self.effort.abandoned += 1
            return None
        cycles, bytes = result_of(state)
        return Candidate(
            value=metric(goal, cycles, bytes),
            cycles=cycles,
            bytes=bytes,
            timing=timing,
            dataflow=CANONICAL,
            order=order,
            group=group,
            memory=memory,
            scheduler="flexer",
        )

    def best_free(self, tilings: Rows, limit: float) -> Candidate | None:
        """Return the best out-of-order schedule below a limit, ``None`` where none was found."""
        best: Candidate | None = None
        for number, tiling, turn in _turns(self._promising(tilings)):
            if self.value_of(tiling_bound(tiling)) >= limit:
                continue
            timing = self.time(number, tiling)
            ways = _diagonal(self._flows(number, timing), self.options.choices)
            if turn >= len(ways) or self.value_of(timed_bound(timing), timing) >= limit:
                continue
            if self.effort.steps >= self.options.steps:
                break
            found = self._free(timing, *ways[turn], limit)
            if found is not None and found.value < limit:
                best, limit = found, found.value
        return best

    def _promising(self, tilings: Rows) -> Rows:
        """Return tilings, those with the best static schedules first, then by bound."""
        known = [row for row in tilings if row[1] in self._best_of]
        known.sort(key=lambda row: (self._best_of[row[1]].value, row[1]))
        others = [row for row in tilings if row[1] not in self._best_of]
        mixed: Rows = []
        while known or others:
            mixed += known[:2] + others[:1]
            known, others = known[2:], others[1:]
        return mixed

    def _flows(self, number: int, timing: TimedTiling) -> list[Dataflow]:
        """Return the loop orders that break ties, the best static one first."""
        every = list(dataflows(timing.tiling))
        if number in self._best_of:
            first = self._best_of[number].dataflow
            every.sort(key=lambda flow: flow != first)
        return every

    def _free(
        self, timing: TimedTiling, dataflow: Dataflow, choice: Choice, limit: float
    ) -> Candidate | None:
        """Return the out-of-order schedule of a tiling, and of its order with foresight."""
        problem, _ = timing.in_order(dataflow)
        goal = self.goal(limit, timing)
        status, state = schedule_freely(problem, choice, goal)
        self.effort.free += 1
        self.effort.steps += int(state.scalar[ISSUED])
        if status != DONE:
            self.effort.abandoned += 1
            return None
        order, group = state.order, state.group[: state.scalar[GROUPS]]
        cycles, bytes = result_of(state)
        found = Candidate(
            value=metric(goal, cycles, bytes),
            cycles=cycles,
            bytes=bytes,
            timing=timing,
            dataflow=dataflow,
            order=order,
            group=group,
            memory=choice.memory,
            scheduler="flexer",
        )
        for memory in (EAGER + FURTHEST, FURTHEST):
            tighter = self.goal(found.value, timing)
            status, again = schedule_in_order(problem, order, group, memory, tighter, False)
            if status == DONE:
                cycles, bytes = result_of(again)
                value = metric(goal, cycles, bytes)
                found = replace(found, value=value, cycles=cycles, bytes=bytes, memory=memory)
        return found


def _turns(rows: Rows) -> Iterator[tuple[int, Tiling, int]]:
    """Yield tilings with the way to try: the first ways of a few tilings, then their next ones."""
    for first in range(0, len(rows), _AT_ONCE):
        for turn in range(_WAYS):
            for _, number, tiling in rows[first : first + _AT_ONCE]:
                yield number, tiling, turn


def _diagonal(flows: list[Dataflow], choices: tuple[Choice, ...]) -> list[tuple[Dataflow, Choice]]:
    """Return all pairs, those of early flows and early choices first."""
    pairs = sorted(
        product(range(len(flows)), range(len(choices))), key=lambda pair: (sum(pair), pair)
    )
    return [(flows[flow], choices[choice]) for flow, choice in pairs]


def adopt(candidate: Candidate, site: Site) -> Candidate:
    """Return the same decisions for an operator that differs only in names and addresses."""
    timing = candidate.timing
    twin = TimedTiling(Tiling(site, timing.tiling.sizes), timing.profiles)
    return replace(candidate, timing=twin)


def schedule_of(candidate: Candidate, bound: Bound) -> TileSchedule:
    """Return a candidate as a frozen schedule."""
    timing = candidate.timing
    problem, order = timing.in_order(candidate.dataflow)
    goal = FlexerOptions().goal(math.inf)
    _, state = schedule_in_order(
        problem, candidate.order, candidate.group, candidate.memory, goal, True
    )
    assert result_of(state) == (candidate.cycles, candidate.bytes)
    return decode(timing, order, state, candidate.scheduler, bound.cycles)


def _too_small(site: Site) -> InfeasibleError:
    return InfeasibleError(
        f"the tiles of one operation of %{site.op.name} do not fit together",
        shortage=Shortage(
            resource=site.arch.scratchpad,
            demand=site.place.workspace_bytes + 1,
            capacity=site.place.workspace_bytes,
        ),
    )
