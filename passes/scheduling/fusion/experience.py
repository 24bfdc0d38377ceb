"""What groups that were measured tell of others: how far from what is expected these will be.

    steps     3   4   5   6   7   8          expected    measured
              [--------]                       100          110       10 more
                          [----]                50           55        5 more
              [----------------]               160            ?       expected to take 175, or so

What a group takes longer than its members' nests tell, a larger one with the same steps takes
longer, too: there the vector unit, copies or a port keep the array waiting. So that is added, of
groups that have no step in common. How far what is foreseen lies from the truth, the same groups
show.
"""

from dataclasses import dataclass, field

Span = tuple[int, int]
"""First step of a plan, and the one behind the last."""

_FIRST, _MOST = 0.9, 1.0
"""Part of what a group is expected to take that counts until it is measured: at first, and at
most."""

_ENOUGH, _LOW = 10, 0.2
"""Groups that were measured before they tell of others, and part of them that may take less than is
counted then."""

_LASTING = 0.9
"""Part of what a group took longer than expected that others with its steps are expected to."""


@dataclass
class Experience:
    """What is known of groups that were measured; local to one choice."""

    _ratios: list[float] = field(default_factory=list[float])
    _beyond: dict[int, dict[int, float]] = field(default_factory=dict[int, dict[int, float]])
    """How much longer groups took, by the step behind them and by their first one [cycle]."""
    _inside: dict[Span, float] = field(default_factory=dict[Span, float])

    def note(self, span: Span, expected: float, cycles: float) -> None:
        """Note what a group took; of stripes of several heights, those count that took least.

        Args:
            span: Its steps.
            expected: What its members' nests take [cycle].
            cycles: What it took [cycle].
        """
        self._ratios.append(cycles / self.foreseen(span, expected))
        start, stop = span
        others, more = self._beyond.setdefault(stop, {}), cycles - expected
        others[start] = min(more, others.get(start, more))
        self._inside.clear()

    @property
    def share(self) -> float:
        """Part of what is foreseen that counts until a group is measured."""
        if len(self._ratios) < _ENOUGH:
            return _FIRST
        low = sorted(self._ratios)[int(_LOW * len(self._ratios))]
        return min(max(_FIRST, low), _MOST)

    def foreseen(self, span: Span, expected: float) -> float:
        """Return what a group is expected to take after what those inside of it took [cycle].

        Args:
            span: Its steps.
            expected: What its members' nests take [cycle].
        """
        start, stop = span
        return expected + _LASTING * self._longest(start, stop, last_from=start + 1)

    def _most(self, start: int, stop: int) -> float:
        """Return the most that disjoint groups of some steps took longer than expected."""
        if (start, stop) not in self._inside:
            self._inside[start, stop] = self._longest(start, stop, last_from=start)
        return self._inside[start, stop]

    def _longest(self, start: int, stop: int, *, last_from: int) -> float:
        """Return the same where a group that ends with the last step may not begin too soon.

        Args:
            start: First step.
            stop: The step behind the last.
            last_from: First step of such a group at the soonest.
        """
        if stop <= start:
            return 0.0
        ending = self._beyond.get(stop, {}).items()
        ways = (self._most(start, at) + more for at, more in ending if at >= last_from)
        return max(self._most(start, stop - 1), *ways, 0.0)
