"""Logarithms of what passes one place: flows that are alike are added up exactly."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ....ir.arch import Fanout
from ....ir.workload import Operand
from ...mip.linear import Linear
from .terms import FlowTerms
from .variables import Variables

_BIG = 30.0


@dataclass(frozen=True, slots=True)
class _Group:
    """Flows whose bits differ by a constant factor only."""

    operand: Operand
    visits: int | None
    reducing: tuple[Fanout, ...]
    terms: tuple[tuple[int, float], ...]
    constant: float

    def same_but_reducing(self, other: "_Group") -> bool:
        """Whether both move the same elements."""
        return (self.operand, self.visits, self.terms, self.constant) == (
            other.operand,
            other.visits,
            other.terms,
            other.constant,
        )


def joined_logs(v: Variables, chosen: Sequence[FlowTerms], prices: Sequence[float]) -> list[Linear]:
    """Return logarithms of priced bits; flows of one tensor and child are added up exactly.

    Args:
        v: Variables of the program.
        chosen: The flows.
        prices: What a bit of each costs.
    """
    groups: dict[_Group, list[float]] = {}
    logs: dict[_Group, Linear] = {}
    for flow, price in zip(chosen, prices, strict=True):
        terms = tuple(sorted((at, w) for at, w in flow.log.terms.items() if w != 0.0))
        key = _Group(flow.operand, flow.visits, flow.reducing, terms, flow.log.constant)
        if not flow.reducing:
            similar = (item for item in groups if item.same_but_reducing(key))
            key = next(similar, key)
        entry = groups.setdefault(key, [0.0, 0.0, 0.0])
        entry[0] += flow.repeats * price
        entry[1] += flow.once * price
        entry[2] += flow.partly * price
        logs[key] = flow.log
    found: list[Linear] = []
    for key, (repeats, once, partly) in groups.items():
        log = _repeated(v, logs[key], repeats, once, key.visits)
        if log is not None and key.reducing:
            log = _unless_finished(v, log, logs[key], key, repeats, once, partly)
        if log is not None:
            found.append(log)
    return found


def _unless_finished(
    v: Variables, done: Linear, log: Linear, key: _Group, repeats: float, once: float, partly: float
) -> Linear:
    """Return the larger of a logarithm and what holds where sums are added further out."""
    wide = _repeated(v, log, repeats, partly, key.visits)
    assert wide is not None
    slack = math.log(repeats - partly) - math.log(repeats - once)
    larger = v.model.continuous(-math.inf)
    v.model.add_at_least(larger, done)
    reduced = v.reduced(key.reducing)
    v.model.add_at_least(larger, wide - slack + slack * reduced)
    return larger


def _repeated(
    v: Variables, log: Linear, repeats: float, once: float, level: int | None
) -> Linear | None:
    """Return (a lower bound of) ``log + ln(repeats * e^k - once)``, ``k`` repeats of a level.

    ``k`` is zero, or between its least and most positive value, where the function is concave:
    exact at zero and at both ends, a chord between.
    """
    if repeats == 0.0:
        return None
    if level is None:
        return log + math.log(repeats)
    if v.most_repeats == 0.0:
        return log + math.log(repeats - once) if repeats > once else None
    if once == 0.0:
        return log + v.repeats(level) + math.log(repeats)
    low, high = v.least_repeats, v.most_repeats
    at_low = math.log(repeats * math.exp(low) - once)
    at_high = math.log(repeats * math.exp(high) - once)
    slope = (at_high - at_low) / (high - low) if high > low else 1.0
    at_zero = math.log(repeats - once) if repeats > once else at_low - _BIG
    spill = v.spill(level)
    risen = at_zero + (at_low - at_zero - slope * low) * spill + slope * v.repeats(level)
    return log + risen
