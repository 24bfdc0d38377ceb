"""Schedules that a search has found, as the decisions that make them."""

import math
from dataclasses import dataclass, field, replace

from ....ir.tiles.schedule import TileSchedule
from .bounds import Bound
from .decode import decode
from .kernel.arrays import Ints
from .kernel.drive import result_of, schedule_in_order
from .options import FlexerOptions
from .problem import Dataflow, TimedTiling
from .site import Site
from .tilings import Tiling


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A schedule that was found, as the decisions that make it.

    Attributes:
        value: Of the metric.
        cycles: Makespan, as the kernel estimates it while it searches; in the end, by the clock.
        bytes: Transferred between off-chip memory and the chip.
        timing: The tiling.
        dataflow: The loop order.
        order: Operations as issued, numbered in loop order.
        group: Sizes of the sets.
        memory: Who makes space.
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
class SearchEffort:
    """What a search looked at.

    Attributes:
        tilings: Viable ones.
        pruned: Excluded by their bound alone.
        skipped: Not tried, for as many operations as allowed were issued.
        static: Schedules in loop order that were begun.
        ordered: Operations that schedules in an order known beforehand issued.
        free: Schedules out of order that were begun.
        steps: Operations that these scheduled.
        blocks: Schedules of blocks that were begun.
        abandoned: Of all, given up before their end.
        cpu_seconds: CPU time.
        static_seconds: Of it, until the best static order was known.
        block_seconds: Of it, for patterns of blocks.
    """

    tilings: int = 0
    pruned: int = 0
    skipped: int = 0
    static: int = 0
    ordered: int = 0
    free: int = 0
    steps: int = 0
    blocks: int = 0
    abandoned: int = 0
    cpu_seconds: float = 0.0
    static_seconds: float = 0.0
    block_seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class SearchOutcome:
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
    effort: SearchEffort = field(compare=False)


def adopt(candidate: Candidate, site: Site) -> Candidate:
    """Return the same decisions for an operator that differs only in names and addresses."""
    timing = candidate.timing
    twin = TimedTiling(Tiling(site, timing.tiling.sizes), timing.nests)
    return replace(candidate, timing=twin)


def schedule_of(candidate: Candidate, bound: Bound) -> TileSchedule:
    """Return a candidate as a frozen schedule."""
    timing = candidate.timing
    problem, order = timing.in_order(candidate.dataflow)
    goal = FlexerOptions().goal(math.inf)
    _, state = schedule_in_order(
        problem, candidate.order, candidate.group, candidate.memory, goal, True
    )
    assert result_of(state)[1] == candidate.bytes
    return decode(timing, order, state, candidate.scheduler, bound.cycles)
