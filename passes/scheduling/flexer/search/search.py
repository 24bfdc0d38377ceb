"""The best schedule of one operator: all viable tilings and dataflows, in order and out of order.

The best static order is one of the candidates: the result is never worse. Where it is far from the
bounds, tilings of more operations are looked at, too; for the baseline and for us alike.

References:
    Min, Kwon, Egger: Flexer: Out-of-Order Scheduling for Multi-NPUs. CGO 2023. Algorithm 1,
    lines 1-11; section 5 (baseline).
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from .....ir.errors import InfeasibleError, Shortage
from ..bounds import Bound, site_bound, tiling_bound
from ..candidate import Candidate, SearchOutcome, schedule_of
from ..kernel.goal import metric
from ..latency import TileTimer
from ..options import FlexerOptions
from ..site import Site
from ..tilings import Tiling
from .block_orders import best_in_blocks
from .list_orders import best_free
from .static_orders import best_static
from .trials import Rows, Trials
from .viable import REACH, viable_tilings


@dataclass(frozen=True, slots=True)
class Search:
    """One search.

    Attributes:
        site: The operator.
        options: Of the search.
        timer: Times of tiles; it remembers what it finds.
    """

    site: Site
    options: FlexerOptions
    timer: TileTimer

    def run(self) -> SearchOutcome:
        """Return the best static and the best schedule of all.

        Raises:
            InfeasibleError: The smallest tiles of one operation do not fit together.
        """
        begin = time.process_time()
        trials = Trials(self.site, self.options, self.timer)
        bound = site_bound(self.site)
        tilings, static = self._static(trials, bound)
        trials.effort.static_seconds = time.process_time() - begin
        free = self._out_of_order(trials, tilings, static, begin)
        static = self._by_the_clock(trials, static, bound)
        if free is not None:
            free = self._by_the_clock(trials, free, bound)
        best = static if free is None or not self._is_better(free, static) else free
        trials.effort.cpu_seconds = time.process_time() - begin
        return SearchOutcome(static=static, free=free, best=best, bound=bound, effort=trials.effort)

    def _by_the_clock(self, trials: Trials, found: Candidate, bound: Bound) -> Candidate:
        """Return a candidate with the cycles that the machine needs, and its metric."""
        cycles = schedule_of(found, bound).cycles
        value = metric(trials.goal(math.inf, found.timing), cycles, found.bytes)
        return replace(found, cycles=cycles, value=value)

    def _is_better(self, free: Candidate, static: Candidate) -> bool:
        """Whether a schedule has a lower metric, and no more cycles or bytes unless it may."""
        trades = self.options.trade or self.options.keep_free
        within = free.cycles <= static.cycles and free.bytes <= static.bytes
        return free.value < static.value and (trades or within)

    def _static(self, trials: Trials, bound: Bound) -> tuple[tuple[Rows, ...], Candidate]:
        """Return the tilings that are looked at, and the best schedule in loop order."""
        few, more = self._viable()
        rows = _ranked(trials, few, 0)
        static = best_static(trials, rows, None)
        if static is None:
            raise _too_small(self.site)
        if not self._is_far(static, bound):
            return (rows,), static
        others = _ranked(trials, more, len(few))
        return (rows, others), best_static(trials, others, static) or static

    def _out_of_order(
        self, trials: Trials, tilings: tuple[Rows, ...], static: Candidate, begin: float
    ) -> Candidate | None:
        """Return the best schedule that no loop nest has, ``None`` where none was found."""
        limit, options = math.inf, self.options
        if not options.keep_free:
            limit = static.value
            if not options.trade:
                trials.most = static.cycles, static.bytes
        best: Candidate | None = None
        for rows in tilings:
            best = best_in_blocks(trials, rows, limit if best is None else best.value) or best
        trials.effort.block_seconds = time.process_time() - begin - trials.effort.static_seconds
        every = [row for rows in tilings for row in rows]
        return best_free(trials, every, limit if best is None else best.value) or best

    def _viable(self) -> tuple[list[Tiling], list[Tiling]]:
        """Return viable tilings of few and of more operations.

        Raises:
            InfeasibleError: There is none.
        """
        options = self.options
        most = max(options.max_ops, options.more_ops)
        found = viable_tilings(self.site, max_ops=most, ratio=options.ratio)
        if not found:
            raise _too_small(self.site)
        few = max(options.max_ops, REACH * min(tiling.op_count for tiling in found))
        return (
            [tiling for tiling in found if tiling.op_count <= few],
            [tiling for tiling in found if tiling.op_count > few],
        )

    def _is_far(self, found: Candidate, bound: Bound) -> bool:
        """Whether a schedule is far above the bounds of cycles and of bytes."""
        far = self.options.far
        return found.cycles > far * bound.cycles and found.bytes > far * bound.bytes


def _ranked(trials: Trials, tilings: Sequence[Tiling], first: int) -> Rows:
    """Return tilings by the lower bound of their metric, numbered from ``first``."""
    rows = [
        (trials.value_of(tiling_bound(tiling)), number, tiling)
        for number, tiling in enumerate(tilings, first)
    ]
    return sorted(rows, key=lambda row: row[:2])


def _too_small(site: Site) -> InfeasibleError:
    return InfeasibleError(
        f"the tiles of one operation of %{site.op.name} do not fit together",
        shortage=Shortage(
            resource=site.arch.scratchpad,
            demand=site.place.workspace_bytes + 1,
            capacity=site.place.workspace_bytes,
        ),
    )
