"""The whole run: one lane per engine over simulated time, and the operators above them.

A network has up to millions of instructions, a screen a few thousand pixels. Neighbours in a queue
that work for one operator and lie closer than a screen can tell become one bar, which says how
much of its time is work; so do those of several operators that are too short to be told apart.
Bars begin and end where instructions do: nothing is rounded.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ....ir.isa import Halt, Sync, Unit
from ....ir.program import Program, Queue
from ....runtime_sim.result import OperatorAccount, SimulationResult, Timeline
from .binding import LOOKS, Binding, look_of
from .marks import LANE, Chart, Key, Label, Mark, Panel, Shape, bars
from .names import short

FINEST = 2400
"""Gaps of less than this part of the run are not drawn."""

MOST_BARS = 30_000
"""The picture gets coarser rather than larger."""

_FULLNESS = ((2 / 3, "full"), (1 / 3, "half"), (0.0, "little"))
_ORDER = (Unit.MX, Unit.VX, Unit.LD, Unit.ST)


@dataclass(frozen=True, slots=True)
class Bar:
    """Neighbouring instructions of one queue for one operator.

    Attributes:
        operator: Its position in the program, -1 for none or several.
        first: Start of the first instruction [cycle].
        end: Retirement of the last [cycle].
        busy: Cycles in between that are work.
    """

    operator: int
    first: int
    end: int
    busy: int

    @property
    def fullness(self) -> str:
        """How much of its time is work: ``full``, ``half`` or ``little``."""
        part = self.busy / max(1, self.end - self.first)
        return next(word for least, word in _FULLNESS if part >= least)


def queue_bars(queue: Queue, timeline: Timeline, gap: int) -> tuple[Bar, ...]:
    """Return what a queue did, as bars in ascending order.

    Args:
        queue: The instructions; those that only wait are left out.
        timeline: Their times.
        gap: Cycles below which a pause is not seen; 0 keeps every instruction.
    """
    kept = [
        number
        for number, item in enumerate(queue.instructions)
        if not isinstance(item, Sync | Halt)
    ]
    operators = np.array([queue.instructions[number].op for number in kept], np.int64)
    starts, ends = timeline.starts[kept], timeline.ends[kept]
    operators, starts, ends = (item[ends > starts] for item in (operators, starts, ends))
    if not len(starts):
        return ()
    apart = (operators[1:] != operators[:-1]) | (starts[1:] - ends[:-1] >= gap)
    heads = np.concatenate(([0], np.flatnonzero(apart) + 1))
    tails = np.concatenate((heads[1:], [len(starts)])) - 1
    busy = np.add.reduceat(ends - starts, heads)
    columns = (operators[heads], starts[heads], ends[tails], busy)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return _without_specks((Bar(*row) for row in rows), gap)


def _without_specks(items: Iterable[Bar], gap: int) -> tuple[Bar, ...]:
    """Return bars with neighbours joined as long as they are shorter than a gap.

    Of two neighbours that remain one is as long as a gap, or the pause between them is.
    """
    found: list[Bar] = []
    for item in items:
        last = found[-1] if found else None
        lengths = (item.end - item.first, gap if last is None else last.end - last.first)
        if last is None or max(*lengths, item.first - last.end) >= gap:
            found.append(item)
            continue
        operator = item.operator if item.operator == last.operator else -1
        found[-1] = Bar(operator, last.first, item.end, last.busy + item.busy)
    return tuple(found)


def all_bars(simulation: SimulationResult) -> dict[Queue, tuple[Bar, ...]]:
    """Return the bars of every queue that did something, as fine as the page allows."""
    assert simulation.timelines is not None
    lines = list(zip(simulation.program.queues, simulation.timelines, strict=True))
    gap = max(1, simulation.cycles // FINEST)
    while True:
        found = {queue: queue_bars(queue, line, gap) for queue, line in lines}
        if gap > simulation.cycles or sum(map(len, found.values())) <= MOST_BARS:
            return {queue: items for queue, items in found.items() if items}
        gap *= 2


def run_chart(simulation: SimulationResult, bound_by: Sequence[Binding]) -> Chart:
    """Return the chart of a run.

    Args:
        simulation: With timelines.
        bound_by: What each operator of the program is bound by.
    """
    program = simulation.program
    found = all_bars(simulation)
    queues = sorted(found, key=_rank)
    lanes = Panel(
        name="engines",
        labels=_lane_labels([queue.name for queue in queues]),
        height=LANE * len(queues),
        extent=LANE * len(queues),
        marks=tuple(
            mark
            for row, queue in enumerate(queues)
            for mark in _lane(program, queue, found[queue], row)
        ),
    )
    units = list(dict.fromkeys(queue.unit for queue in queues))
    return Chart(
        name="run",
        caption="The whole run: who works when",
        description=(
            f"{len(queues)} engines over {simulation.cycles:,} simulated cycles. "
            + ", ".join(_busy_told(simulation, unit) for unit in units)
            + "."
        ),
        unit="cycle",
        end=simulation.cycles,
        panels=(_operators(simulation.operators, bound_by), lanes),
        legend=(
            *(Key(look, meaning) for look, meaning in _meanings(units).items()),
            Key("slate full", "bar: working all the time"),
            Key("slate half", "up to two thirds of it"),
            Key("slate little", "up to one third"),
        ),
    )


def _rank(queue: Queue) -> tuple[int, ...]:
    """NPUs first, then DMA."""
    if queue.unit is Unit.DMA:
        return (1, queue.index, 0)
    return (0, queue.index, _ORDER.index(queue.unit))


def _lane_labels(names: Sequence[str]) -> tuple[Label, ...]:
    return tuple(Label(name, LANE * row + LANE / 2) for row, name in enumerate(names))


def _lane(program: Program, queue: Queue, items: Sequence[Bar], row: int) -> Iterator[Mark]:
    """Yield one mark per operator and fullness."""
    groups: dict[tuple[int, str], list[tuple[int, int]]] = {}
    for item in items:
        groups.setdefault((item.operator, item.fullness), []).append((item.first, item.end))
    for (operator, fullness), spans in groups.items():
        name = short(program.operators[operator]) if operator >= 0 else "several operators"
        yield Mark(
            shape=Shape.BARS,
            look=f"{look_of(queue.unit)} {fullness}",
            path=bars(spans, LANE * row + LANE / 2),
            title=f"{queue.name}: {name}",
            operator=operator,
        )


def _operators(accounts: Sequence[OperatorAccount], bound_by: Sequence[Binding]) -> Panel:
    """Return a band of operators; neighbours overlap in time, so they take turns in two rows."""
    marks = tuple(
        Mark(
            shape=Shape.BARS,
            look=f"{LOOKS[why]} full",
            path=bars([(account.first_cycle, account.last_cycle)], LANE * (number % 2) + LANE / 2),
            title=f"{short(account.name)}: {why}",
            operator=number,
        )
        for number, (account, why) in enumerate(zip(accounts, bound_by, strict=True))
    )
    labels = (Label("operators", LANE),)
    return Panel(labels=labels, height=2 * LANE, extent=2 * LANE, marks=marks)


_NAMES = {
    Unit.MX: "MAC array (mx)",
    Unit.VX: "vector unit (vx)",
    Unit.DMA: "DMA",
    Unit.LD: "scratchpad to NPU (ld)",
    Unit.ST: "NPU to scratchpad (st)",
}


def _meanings(units: Sequence[Unit]) -> dict[str, str]:
    """Return what each colour of a lane means."""
    found: dict[str, str] = {}
    for unit in units:
        look = f"{look_of(unit)} full"
        found[look] = f"{found[look]}, {_NAMES[unit]}" if look in found else _NAMES[unit]
    return found


def _busy_told(simulation: SimulationResult, unit: Unit) -> str:
    engines = sum(queue.unit is unit for queue in simulation.program.queues)
    busy = sum(item.cycles for item in simulation.total.busy if item.unit is unit)
    return f"{_NAMES[unit]} busy {busy / max(1, engines * simulation.cycles):.0%}"
