"""How instructions share ports: max-min fair rates by progressive filling.

Each active instruction has one rate, a fraction of the speed that it has alone. All rates grow
together until a port is full; those that load it stop growing, the others go on, up to one.

A rate and the share of a port that an instruction takes at full speed are integers in units of
``FULL``. Shares are rounded down and rates up, so that three instructions with a third of a port
each fit; the error is below 1e-12 of a port.

References:
    Bertsekas, Gallager: Data Networks, 2nd edition, 1992, section 6.5.2 (max-min flow control).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

_BITS = 40
FULL = 1 << _BITS
"""A whole port, and the rate of an instruction that nothing slows down."""

Shares: TypeAlias = tuple[tuple[int, int], ...]
"""What an instruction takes of ports at full speed, as (port, share) pairs."""


@dataclass(frozen=True, slots=True)
class Rate:
    """Speed of an instruction.

    Attributes:
        rate: In units of ``FULL``.
        port: Number of the port that stopped it from growing, -1 at full speed.
    """

    rate: int
    port: int


_UNHINDERED = Rate(FULL, -1)


def fair_rates(active: Sequence[Shares]) -> list[Rate]:
    """Return the rate of each active instruction; ties go to the port of the lowest number."""
    rates = [_UNHINDERED] * len(active)
    left = {port: FULL for shares in active for port, _ in shares}
    load = dict.fromkeys(left, 0)
    for shares in active:
        for port, share in shares:
            load[port] += share
    growing = set(range(len(active)))
    level = 0
    while growing:
        reached = [(-(-left[port] * FULL // load[port]), port) for port in left if load[port] > 0]
        if not reached or min(reached)[0] >= FULL:
            break
        limit, port = min(reached)
        level = max(level, limit)  # rounding must not turn a level back
        for index in sorted(growing):
            if any(number == port for number, share in active[index] if share):
                rates[index] = Rate(level, port)
                growing.discard(index)
                _freeze(active[index], level, left, load)
    return rates


def _freeze(shares: Shares, level: int, left: dict[int, int], load: dict[int, int]) -> None:
    """Take what stops growing off its ports; the level was rounded up, so here it is rounded down.

    Otherwise those that go on would be slower than they are, and end a cycle late where they end at
    a whole one.
    """
    for port, share in shares:
        left[port] -= share * (level - 1) >> _BITS
        load[port] -= share
