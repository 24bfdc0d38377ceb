"""When engines and off-chip ports are idle, so that work can be put into the gaps.

This is the clock that schedulers decide by: static schedules follow its ports, tiles that cross
operators its engines, too. What is decided is timed in the end by ``timing/clock.py``.
"""

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, field

from accnn.ir.arch import Architecture
from accnn.ir.isa.instructions import Unit
from accnn.ir.tiles.events import INWARDS, EventKind

_Work = int | tuple[int, bool, int]
"""What is to start: its length [cycle], or of a transfer channel, which port, and length."""


@dataclass(slots=True)
class _Fruitless:
    """Stretches of cycles at which some work cannot start, the longest for each.

    An engine never gets idle again: where no gap was long enough, none will be. So busy engines are
    not looked through again and again.
    """

    longest: dict[_Work, tuple[int, int]] = field(default_factory=dict[_Work, tuple[int, int]])

    def around(self, work: _Work, ready: int) -> tuple[int, int]:
        """Return the stretch that holds a cycle: looking can go on at its end."""
        low, high = self.longest.get(work, (ready, ready))
        return (low, high) if low <= ready <= high else (ready, ready)

    def keep(self, work: _Work, low: int, high: int) -> None:
        """Keep a stretch if it is longer than the one that is known."""
        known = self.longest.get(work, (0, 0))
        if high - low > known[1] - known[0]:
            self.longest[work] = low, high


@dataclass(slots=True)
class Engine:
    """Cycles during which an engine works: ``starts[k] .. ends[k]``, ascending, never adjacent."""

    starts: list[int] = field(default_factory=list[int])
    ends: list[int] = field(default_factory=list[int])
    _fruitless: _Fruitless = field(default_factory=_Fruitless)

    def first_gap(self, ready: int, cycles: int) -> int:
        """Return the first cycle from ``ready`` on at which the engine is idle long enough."""
        low, high = self._fruitless.around(cycles, ready)
        start = self._first_from(high, cycles)
        self._fruitless.keep(cycles, low, start)
        return start

    def _first_from(self, ready: int, cycles: int) -> int:
        number = bisect_right(self.starts, ready)
        start = max(ready, self.ends[number - 1]) if number else ready
        while number < len(self.starts) and self.starts[number] < start + cycles:
            start = self.ends[number]
            number += 1
        return start

    def occupy(self, start: int, cycles: int) -> None:
        """Work from an idle cycle on."""
        end = start + cycles
        number = bisect_right(self.starts, start)
        joins_before = number > 0 and self.ends[number - 1] == start
        joins_after = number < len(self.starts) and self.starts[number] == end
        if joins_before and joins_after:
            self.ends[number - 1] = self.ends[number]
            del self.starts[number], self.ends[number]
        elif joins_before:
            self.ends[number - 1] = end
        elif joins_after:
            self.starts[number] = start
        else:
            self.starts.insert(number, start)
            self.ends.insert(number, end)


@dataclass(slots=True)
class Engines:
    """All engines of a machine and the ports of its off-chip memory; local to one run.

    A port serves one transfer at a time, with all that it has.

    Attributes:
        arch: The machine.
    """

    arch: Architecture
    _engines: defaultdict[tuple[Unit, int], Engine] = field(
        default_factory=lambda: defaultdict(Engine)
    )
    _ports: defaultdict[bool, Engine] = field(default_factory=lambda: defaultdict(Engine))
    _fruitless: _Fruitless = field(default_factory=_Fruitless)

    def of(self, unit: Unit, index: int) -> Engine:
        """Return an engine."""
        return self._engines[unit, index]

    def port(self, kind: EventKind) -> Engine:
        """Return the port that a transfer takes."""
        return self._ports[self._inwards(kind)]

    def transfer(self, kind: EventKind, cycles: int, ready: int) -> tuple[int, int]:
        """Put a transfer into the first gap of any channel and, past start-up, of its port.

        Args:
            kind: Of the transfer.
            cycles: How long it takes alone, start-up included [cycle].
            ready: Not before this [cycle].

        Returns:
            When it starts [cycle], and on which channel.
        """
        lead = self.arch.dma.startup
        found = self.transfer_gap(kind, cycles, ready)
        self.port(kind).occupy(found[0] + lead, cycles - lead)
        self.of(Unit.DMA, found[1]).occupy(found[0], cycles)
        return found

    def transfer_gap(self, kind: EventKind, cycles: int, ready: int) -> tuple[int, int]:
        """Return where :meth:`transfer` would put a transfer.

        Args:
            kind: Of the transfer.
            cycles: How long it takes alone, start-up included [cycle].
            ready: Not before this [cycle].
        """
        channels = range(self.arch.dma.channels)
        return min((self._transfer_gap(kind, cycles, ready, item), item) for item in channels)

    def work(self, unit: Unit, index: int, cycles: int, ready: int) -> int:
        """Put work into the first gap of an engine; return when it starts [cycle].

        Args:
            unit: Kind of engine.
            index: Which of them.
            cycles: How long it takes [cycle].
            ready: Not before this [cycle].
        """
        engine = self.of(unit, index)
        start = engine.first_gap(ready, cycles)
        engine.occupy(start, cycles)
        return start

    def npu_free_at(self, npu: int) -> int:
        """Return when an NPU has done all its work [cycle]."""
        own = (
            engine
            for (unit, index), engine in self._engines.items()
            if index == npu and unit is not Unit.DMA
        )
        return max((engine.ends[-1] for engine in own if engine.ends), default=0)

    def _transfer_gap(self, kind: EventKind, cycles: int, ready: int, channel: int) -> int:
        """Return when a transfer finds both its channel and, past start-up, the port idle."""
        work = (channel, self._inwards(kind), cycles)
        low, high = self._fruitless.around(work, ready)
        start = self._both_idle(kind, cycles, high, channel)
        self._fruitless.keep(work, low, start)
        return start

    def _both_idle(self, kind: EventKind, cycles: int, ready: int, channel: int) -> int:
        lead = self.arch.dma.startup
        while True:
            start = self.of(Unit.DMA, channel).first_gap(ready, cycles)
            moving = self.port(kind).first_gap(start + lead, cycles - lead)
            if moving == start + lead:
                return start
            ready = moving - lead

    def _inwards(self, kind: EventKind) -> bool:
        return kind in INWARDS and not self.arch.off_chip.shared_port
