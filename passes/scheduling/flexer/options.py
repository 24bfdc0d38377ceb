"""What the out-of-order scheduler can be asked for."""

import math
from dataclasses import dataclass
from enum import StrEnum

from ....ir.errors import OptionError
from .kernel.arrays import (
    BALANCED,
    BENEFIT,
    EAGER,
    FIRST_FIT,
    MIN_SPILL,
    MIN_TRANSFER,
    PRODUCT,
    SMALL_SPILL,
    SUM,
    Choice,
    Goal,
)


class Metric(StrEnum):
    """What the best schedule of an operator has least of.

    ``product`` is the paper's: latency times transferred bytes. ``weighted`` is ``latency **
    (2 - w) * bytes ** w`` with the weight ``w`` of transfers.
    """

    PRODUCT = "product"
    LATENCY = "latency"
    TRANSFERS = "transfers"
    ENERGY = "energy"
    WEIGHTED = "weighted"


class Priority(StrEnum):
    """Which set of operations comes next (section 4.3 and Table 2); ``best`` tries all."""

    BEST = "best"
    DEFAULT = "default"
    MIN_TRANSFER = "min-transfer"
    MIN_SPILL = "min-spill"


class SpaceRule(StrEnum):
    """Who gets which space (section 4.1 and Table 2).

    ``default`` is the paper's order: in place of an equal, best fit, Algorithm 2. ``eager`` takes
    the space that is free first, then Algorithm 2. ``best`` tries both.
    """

    BEST = "best"
    EAGER = "eager"
    DEFAULT = "default"
    FIRST_FIT = "first-fit"
    SMALL_SPILL = "small-spill"


_PRIORITIES = {
    Priority.DEFAULT: BENEFIT,
    Priority.MIN_TRANSFER: MIN_TRANSFER,
    Priority.MIN_SPILL: MIN_SPILL,
}
_MEMORIES = {
    SpaceRule.BEST: (EAGER + BALANCED, BALANCED),
    SpaceRule.EAGER: (EAGER + BALANCED,),
    SpaceRule.DEFAULT: (BALANCED,),
    SpaceRule.FIRST_FIT: (FIRST_FIT,),
    SpaceRule.SMALL_SPILL: (SMALL_SPILL,),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FlexerOptions:
    """Options of a search.

    Attributes:
        metric: What is minimised.
        weight: Of transfers, for ``weighted``, 0 .. 2.
        priority: Which set comes next.
        memory: Which tiles make space.
        max_ops: Largest number of operations of a tiling, see ``viable_tilings`` ...
        more_ops: ... where the best static order of these is ``far`` from the bounds.
        far: How many times the lower bounds of cycles and of bytes that is.
        ratio: How far neighbouring tile sizes differ at least.
        steps: Operations that may be scheduled out of order, over all tries for one operator.
        steps_in_order: Operations that may be issued in orders known beforehand: so many in loop
            order, and as many in blocks, the most promising tilings first.
        keep_free: Whether to look for the best out-of-order schedule even where it is worse than
            the best static one.
        trade: Whether a schedule may take more cycles, or move more bytes, than the best static one
            where its metric is better.
        block_orders: Patterns of blocks that are tried, see ``orders``; zero leaves them out.
        beam: Sets of each size that are extended.
        window: Operations that are considered in each step.
        trials: Complete sets whose memory operations are worked out in each step.
    """

    metric: Metric = Metric.PRODUCT
    weight: float = 1.0
    priority: Priority = Priority.BEST
    memory: SpaceRule = SpaceRule.BEST
    max_ops: int = 1100
    more_ops: int = 2048
    far: float = 1.05
    ratio: float = 1.5
    steps: int = 8_000
    steps_in_order: int = 30_000_000
    keep_free: bool = False
    trade: bool = False
    block_orders: int = 480
    beam: int = 8
    window: int = 48
    trials: int = 8

    def __post_init__(self) -> None:
        for name in ("max_ops", "more_ops", "beam", "window", "trials"):
            if getattr(self, name) < 1:
                raise OptionError(f"{name} is {getattr(self, name)}, must be 1 or more")
        if not 0.0 <= self.weight <= 2.0:
            raise OptionError(f"weight is {self.weight}, must be between 0 and 2")
        if self.steps_in_order < 0:
            raise OptionError(f"steps_in_order is {self.steps_in_order}, must be 0 or more")
        if self.ratio < 1.0:
            raise OptionError(f"ratio is {self.ratio}, must be 1 or more")

    @property
    def choices(self) -> tuple[Choice, ...]:
        """The ways in which the compiled scheduler may decide."""
        rules = _PRIORITIES if self.priority is Priority.BEST else (self.priority,)
        return tuple(
            Choice(
                memory=memory,
                priority=_PRIORITIES[rule],
                beam=self.beam,
                window=self.window,
                trials=self.trials,
            )
            for rule in rules
            for memory in _MEMORIES[self.memory]
        )

    def goal(
        self,
        limit: float,
        fixed_pj: float = 0.0,
        byte_pj: float = 0.0,
        most: tuple[float, float] = (math.inf, math.inf),
    ) -> Goal:
        """Return what the compiled scheduler minimises.

        Args:
            limit: A schedule that reaches it is abandoned.
            fixed_pj: Energy of a tiling below off-chip memory, for ``energy`` [pJ].
            byte_pj: Energy of one byte off chip, for ``energy`` [pJ].
            most: A schedule of more cycles or bytes is abandoned, too [cycle], [byte].
        """
        most = float(most[0]), float(most[1])  # of one type: the kernel is compiled for each
        match self.metric:
            case Metric.PRODUCT:
                return Goal(PRODUCT, 1.0, 1.0, 0.0, limit, *most)
            case Metric.LATENCY:
                return Goal(PRODUCT, 1.0, 0.0, 0.0, limit, *most)
            case Metric.TRANSFERS:
                return Goal(PRODUCT, 0.0, 1.0, 0.0, limit, *most)
            case Metric.WEIGHTED:
                return Goal(PRODUCT, 2.0 - self.weight, self.weight, 0.0, limit, *most)
            case Metric.ENERGY:
                return Goal(SUM, 0.0, byte_pj, fixed_pj, limit, *most)
