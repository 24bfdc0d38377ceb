"""The whole run: one lane per engine over simulated time, and the operators above them."""

from collections.abc import Iterator, Mapping, Sequence

from .....ir.isa.instructions import Unit
from .....ir.isa.program import Queue
from .....runtime_sim.result import OperatorAccount, SimulationResult
from ...binding import LOOKS, Binding, look_of
from ..names import short
from .marks import LANE, Chart, Key, Label, Mark, Panel, PathShape, bars
from .run_bars import EngineBar, all_bars

_ORDER = (Unit.MX, Unit.VX, Unit.LD, Unit.ST)


def run_chart(
    simulation: SimulationResult, bound_by: Sequence[Binding], called: Mapping[str, str]
) -> Chart:
    """Return the chart of a run.

    Args:
        simulation: With timelines.
        bound_by: What each operator of the program is bound by.
        called: How operators are called for people, by name.
    """
    names = tuple(short(called.get(name, name)) for name in simulation.program.operators)
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
            for mark in _lane(names, queue, found[queue], row)
        ),
    )
    units = list(dict.fromkeys(queue.unit for queue in queues))
    return Chart(
        name="run",
        caption="The whole run: who works when",
        description=(
            f"{len(queues)} engines over {simulation.cycles:,} simulated cycles. "
            + ", ".join(_busy_text(simulation, unit) for unit in units)
            + "."
        ),
        unit="cycle",
        end=simulation.cycles,
        panels=(_operators(simulation.operators, bound_by, called), lanes),
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


def _lane(
    names: Sequence[str], queue: Queue, items: Sequence[EngineBar], row: int
) -> Iterator[Mark]:
    """Yield one mark per operator and fullness."""
    groups: dict[tuple[int, str], list[tuple[int, int]]] = {}
    for item in items:
        groups.setdefault((item.operator, item.fullness), []).append((item.first, item.end))
    for (operator, fullness), spans in groups.items():
        name = names[operator] if operator >= 0 else "several operators"
        yield Mark(
            shape=PathShape.BARS,
            look=f"{look_of(queue.unit)} {fullness}",
            path=bars(spans, LANE * row + LANE / 2),
            title=f"{queue.name}: {name}",
            operator=operator,
        )


def _operators(
    accounts: Sequence[OperatorAccount],
    bound_by: Sequence[Binding],
    called: Mapping[str, str],
) -> Panel:
    """Return a band of operators; neighbours overlap in time, so they take turns in two rows."""
    marks = tuple(
        Mark(
            shape=PathShape.BARS,
            look=f"{LOOKS[why]} full",
            path=bars([(account.first_cycle, account.last_cycle)], LANE * (number % 2) + LANE / 2),
            title=f"{short(called.get(account.name, account.name))}: {why}",
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


def _busy_text(simulation: SimulationResult, unit: Unit) -> str:
    engines = sum(queue.unit is unit for queue in simulation.program.queues)
    busy = sum(item.cycles for item in simulation.total.busy if item.unit is unit)
    return f"{_NAMES[unit]} busy {busy / max(1, engines * simulation.cycles):.0%}"
