"""What a search tries, and what it knows so far: tilings, their times, metrics and limits."""

import math
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..bounds import Bound, timed_bound
from ..candidate import Candidate, SearchEffort
from ..kernel.arrays import APART, BALANCED, DONE, EAGER, FURTHEST, ISSUED, Goal, Ints, TilingArrays
from ..kernel.drive import result_of, schedule_in_order
from ..kernel.goal import metric
from ..latency import TileTimer
from ..options import FlexerOptions, Metric
from ..problem import Dataflow, TimedTiling, timed
from ..site import Site
from ..tilings import Tiling

Rows: TypeAlias = list[tuple[float, int, Tiling]]
"""Tilings with the bound of their metric and a number, the least bound first."""

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
"""How orders that are known beforehand may use the scratchpad; the best counts."""


@dataclass(slots=True)
class Trials:
    """One operator's tilings and limits; local to one search.

    Attributes:
        site: The operator.
        options: Of the search.
        timer: Times of tiles.
        effort: What was looked at.
        most: Cycles and bytes that a schedule may have at most.
        timed: Tilings whose times are known, by number.
        best_of: The best static schedule of each tiling, by number.
    """

    site: Site
    options: FlexerOptions
    timer: TileTimer
    effort: SearchEffort = field(default_factory=SearchEffort)
    most: tuple[float, float] = (math.inf, math.inf)
    timed: dict[int, TimedTiling] = field(default_factory=dict[int, TimedTiling])
    best_of: dict[int, Candidate] = field(default_factory=dict[int, Candidate])
    _least: dict[int, float] = field(default_factory=dict[int, float])

    @property
    def npus(self) -> int:
        """Number of NPUs."""
        return len(self.site.arch.npus)

    def value_of(self, bound: Bound, timing: TimedTiling | None = None) -> float:
        """Return the metric of a bound."""
        return metric(self.goal(math.inf, timing), bound.cycles, bound.bytes)

    def goal(self, limit: float, timing: TimedTiling | None = None, slack: float = 1.0) -> Goal:
        """Return what is minimised.

        Args:
            limit: A schedule that reaches it is given up.
            timing: The tiling; without it, the energy of its tiles counts as zero.
            slack: How many times the limit is allowed, and the cycles and bytes.
        """
        most = slack * self.most[0], slack * self.most[1]
        if self.options.metric is not Metric.ENERGY:
            return self.options.goal(slack * limit, most=most)
        dram = self.site.arch.off_chip
        byte_pj = min(dram.read_energy, dram.write_energy) * 8 / dram.word_bits
        fixed = 0.0 if timing is None else self._tile_energy(timing)
        return self.options.goal(slack * limit, fixed, byte_pj, most)

    def _tile_energy(self, timing: TimedTiling) -> float:
        """Return the energy of all tile operations below off-chip memory [pJ]."""
        _, shape_of = timing.tiling.shapes
        energies = [row[0].fresh.energy_pj for row in timing.nests]
        shapes: list[int] = shape_of.tolist()
        return sum(energies[shape] for shape in shapes)

    def allows(self, found: Candidate) -> bool:
        """Whether a schedule takes no more cycles and bytes than it may."""
        return found.cycles <= self.most[0] and found.bytes <= self.most[1]

    def time(self, number: int, tiling: Tiling) -> TimedTiling:
        """Return a tiling with times, worked out once."""
        if number not in self.timed:
            self.timed[number] = timed(tiling, self.timer)
        return self.timed[number]

    def least(self, number: int) -> float:
        """Return the bound of the metric of a tiling whose times are known."""
        if number not in self._least:
            timing = self.timed[number]
            self._least[number] = self.value_of(timed_bound(timing), timing)
        return self._least[number]

    def in_order(
        self,
        timing: TimedTiling,
        dataflow: Dataflow,
        problem: TilingArrays,
        sets: tuple[Ints, Ints],
        memory: int,
        goal: Goal,
        scheduler: str,
    ) -> Candidate | None:
        """Return the schedule of a known order, ``None`` where it is given up.

        Args:
            timing: The tiling.
            dataflow: The loop order in which operations of ``problem`` are numbered.
            problem: The tiling's arrays in that order.
            sets: Operations, and the sizes of their sets.
            memory: Who makes space.
            goal: What is minimised, and when to give up.
            scheduler: Who made the order.
        """
        status, state = schedule_in_order(problem, *sets, memory, goal, False)
        self.effort.ordered += int(state.scalar[ISSUED])
        if status != DONE:
            self.effort.abandoned += 1
            return None
        return measured(state, goal, timing, dataflow, sets, memory, scheduler)


def measured(
    state: Any,
    goal: Goal,
    timing: TimedTiling,
    dataflow: Dataflow,
    sets: tuple[Ints, Ints],
    memory: int,
    scheduler: str,
) -> Candidate:
    """Return a schedule that was run to its end; see :meth:`Trials.in_order`.

    Args:
        state: Of the kernel, at the end.
        goal: What is minimised.
        timing: The tiling.
        dataflow: Order of its loops.
        sets: Order of operations, and sizes of sets.
        memory: Rule of the memory.
        scheduler: Who ordered them.
    """
    cycles, bytes = result_of(state)
    return Candidate(
        value=metric(goal, cycles, bytes),
        cycles=cycles,
        bytes=bytes,
        timing=timing,
        dataflow=dataflow,
        order=sets[0],
        group=sets[1],
        memory=memory,
        scheduler=scheduler,
    )
