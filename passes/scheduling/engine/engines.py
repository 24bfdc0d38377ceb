"""When engines and off-chip ports are idle, so that work can be put into the gaps.

This is the clock by which tiles that cross operators are scheduled. What is decided is timed in the
end by ``timing/clock.py``.
"""

from collections import defaultdict
from dataclasses import dataclass, field

from ....ir.arch import Architecture
from ....ir.isa.instructions import Unit
from ....ir.tiles.events import INWARDS, EventKind
from .kernel.gaps import END, Busy, first_gap, idle, occupy

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
    """When an engine works."""

    _busy: Busy = field(default_factory=lambda: idle(1, 64))

    def first_gap(self, ready: int, cycles: int) -> int:
        """Return the first cycle from ``ready`` on at which the engine is idle long enough."""
        return int(first_gap(self._busy, 0, ready, cycles))

    def occupy(self, start: int, cycles: int) -> None:
        """Work from an idle cycle on."""
        if not occupy(self._busy, 0, start, cycles):
            more = idle(1, 2 * self._busy.spans.shape[1])
            more.spans[:, : self._busy.spans.shape[1]] = self._busy.spans
            self._busy = more._replace(counts=self._busy.counts)
            occupy(self._busy, 0, start, cycles)

    @property
    def free_at(self) -> int:
        """When it has done all its work [cycle]."""
        count = self._busy.counts[0]
        return int(self._busy.spans[0, count - 1, END]) if count else 0


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
        return max((engine.free_at for engine in own), default=0)

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
