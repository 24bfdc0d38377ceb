"""The plan of the scratchpad: address x step, with what is moved off chip in each step."""

from collections.abc import Iterable, Mapping, Sequence

from .....ir.graph import Graph
from .....ir.graph_schedule import GraphSchedule, Group, Residence, Stream, Transfer
from ...figures import amount, capacity, counted
from ..names import short
from .marks import Chart, Key, Label, Mark, Panel, PathShape, boxes, uprights

_MAP, _BYTES = 260, 90
_WIDE = 10
"""Length of a step on the axis."""


def plan_chart(plan: GraphSchedule, graph: Graph, called: Mapping[str, str]) -> Chart:
    """Return the chart of a plan.

    Args:
        plan: The plan.
        graph: Its network.
        called: How steps are called for people, by the name of their operator or group.
    """
    names = tuple(short(called.get(name, name)) for name in plan.order)
    steps = len(plan.order)
    moved = _moved(plan)
    most = max((sum(row) for row in zip(*moved.values(), strict=True)), default=0) or 1
    return Chart(
        name="plan",
        caption="The scratchpad's plan: address (upwards) x step",
        description=(
            f"{counted(len(plan.residences), 'residence')} over {counted(steps, 'step')} in "
            f"{capacity(plan.budget)}; {counted(len(plan.spills), 'spill')} and "
            f"{counted(len(plan.retrieves), 'retrieve')}. Below: off-chip bytes "
            "of each step."
        ),
        unit="step",
        end=_WIDE * steps,
        panels=(
            Panel(
                labels=(Label(capacity(plan.budget), 6), Label("0", _MAP - 6)),
                height=_MAP,
                extent=plan.budget,
                marks=(*_workspaces(plan, names), *_residences(plan, graph), *_edges(plan)),
            ),
            Panel(
                name="moved",
                labels=(Label(amount(most, "B"), 6), Label("off chip", _BYTES - 6)),
                height=_BYTES,
                extent=most,
                marks=tuple(_columns(names, moved, most)),
            ),
        ),
        legend=_legend(plan, graph, moved),
    )


_LOOKS = {
    "load": "ochre",
    "stream": "blue",
    "store": "slate",
    "spill": "red",
    "retrieve": "purple",
}


def _legend(
    plan: GraphSchedule, graph: Graph, moved: Mapping[str, Sequence[int]]
) -> tuple[Key, ...]:
    """Return what the colours of this plan mean; what it has none of is left out."""
    constants = {graph.is_constant(item.tensor) for item in plan.residences}
    fused = {plan.group(plan.order[item.step]) is not None for item in plan.workspaces}
    entries = (
        (True, Key("", "Scratchpad:")),
        (False in constants, Key("blue full", "activation")),
        (True in constants, Key("ochre full", "constant")),
        (False in fused, Key("slate little", "workspace for tiles")),
        (True in fused, Key("teal half", "tiles and lines of a fused group")),
        (bool(plan.spills), Key("red line", "spilled here")),
        (bool(plan.retrieves), Key("purple line", "retrieved here")),
        (True, Key("", "Moved off chip:")),
        *((any(moved[kind]), Key(f"{_LOOKS[kind]} full", kind)) for kind in moved),
    )
    return tuple(key for is_there, key in entries if is_there)


def _moved(plan: GraphSchedule) -> Mapping[str, Sequence[int]]:
    """Return the bytes that each step moves, per kind."""
    kinds: Mapping[str, Iterable[Transfer | Stream]] = {
        "load": plan.loads,
        "stream": plan.streams,
        "store": plan.stores,
        "spill": plan.spills,
        "retrieve": plan.retrieves,
    }
    found = {kind: [0] * len(plan.order) for kind in kinds}
    for kind, items in kinds.items():
        for item in items:
            found[kind][item.step] += item.bytes
    return found


def _columns(names: Sequence[str], moved: Mapping[str, Sequence[int]], most: int) -> Iterable[Mark]:
    """Yield stacked columns, one mark per kind and step."""
    below = [0] * len(names)
    for kind, amounts in moved.items():
        for step, size in enumerate(amounts):
            if not size:
                continue
            top = most - below[step] - size
            yield Mark(
                shape=PathShape.BOXES,
                look=f"{_LOOKS[kind]} full",
                path=boxes([(*_steps(step, step), top, top + size)]),
                title=f"{kind} of step {step}, {names[step]}: {size:,} B",
                operator=step,
            )
            below[step] += size


def _steps(first: int, last: int) -> tuple[int, int]:
    return _WIDE * first + 1, _WIDE * (last + 1) - 1


def _residences(plan: GraphSchedule, graph: Graph) -> Iterable[Mark]:
    for item in plan.residences:
        left, right = _steps(item.first_step, item.last_step)
        top = plan.budget - item.address - item.bytes
        kind = "constant" if graph.is_constant(item.tensor) else "activation"
        yield Mark(
            shape=PathShape.BOXES,
            look=("ochre" if kind == "constant" else "blue") + " full",
            path=boxes([(left, right, top, top + item.bytes)]),
            title=(
                f"{kind} {short(item.tensor)}: {item.bytes:,} B at {item.address:,}, "
                f"steps {item.first_step} to {item.last_step}"
            ),
        )


def _workspaces(plan: GraphSchedule, names: Sequence[str]) -> Iterable[Mark]:
    for item in plan.workspaces:
        top = plan.budget - item.address - item.bytes
        group = plan.group(plan.order[item.step])
        yield Mark(
            shape=PathShape.BOXES,
            look="slate little" if group is None else "teal half",
            path=boxes([(*_steps(item.step, item.step), top, top + item.bytes)]),
            title=f"{_whose(names[item.step], group)}: {item.bytes:,} B at {item.address:,}",
        )


def _whose(name: str, group: Group | None) -> str:
    """Return whose workspace it is; that of a group holds the lines that its members pass on."""
    if group is None:
        return f"workspace of {name}"
    rows = f", stripes of {group.rows} rows" if group.rows else ""
    return f"fused group {name}{rows}: {', '.join(short(member, 32) for member in group.members)}"


def _edges(plan: GraphSchedule) -> Iterable[Mark]:
    """Yield where residences end in a spill, and where they begin with a retrieve."""
    ends = {(item.tensor, item.step - 1) for item in plan.spills}
    starts = {(item.tensor, item.step) for item in plan.retrieves}
    spilled = [item for item in plan.residences if (item.tensor, item.last_step) in ends]
    back = [item for item in plan.residences if (item.tensor, item.first_step) in starts]
    for items, look, what in ((spilled, "red", "spill"), (back, "purple", "retrieve")):
        for item in items:
            at = _steps(item.first_step, item.last_step)[1 if what == "spill" else 0]
            yield Mark(
                shape=PathShape.LINES,
                look=look,
                path=uprights([_edge(plan, item, at)]),
                title=f"{what} of {short(item.tensor)}: {item.bytes:,} B",
            )


def _edge(plan: GraphSchedule, item: Residence, at: int) -> tuple[int, int, int]:
    top = plan.budget - item.address - item.bytes
    return at, top, top + item.bytes
