"""The network as a drawing from top to bottom: operators and groups, coloured by what they cost.

What runs together is one box, with its members listed inside. A box stands one layer below the
lowest one that it reads from. Tensors that skip layers (shortcuts, concatenations) run down lanes
beside the boxes, one lane for each producer, so that none crosses a box that it does not belong to.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter

from ....ir.graph import Graph
from ....ir.report import OperatorReport
from ...onnx_nodes import nodes_of
from ..figures import amount, counted, cycles_text, joule
from ..operator_table import label_of
from .names import short, shown

_WIDE, _GAP_X, _GAP_Y, _MARGIN = 236, 20, 22, 8
_HEAD, _LINE = 36, 14
_LANE = 9
_TEXT = 34
"""Characters of a line in a box."""

MOST_BOXES = 600
"""Larger networks are not drawn, which keeps the page small."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostText:
    """One figure of a box.

    Attributes:
        by: What is measured: ``cycles``, ``bytes`` or ``energy``.
        text: The figure, and its share of all boxes.
        heat: Of the box that has most of it, 0 .. 1.
    """

    by: str
    text: str
    heat: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphBox:
    """An operator, or a group of operators that run together; lengths in pixels.

    Attributes:
        number: Position in the program.
        name: What it is called.
        title: All of it, in a line.
        members: Names of a group's operators; empty for one operator.
        costs: What it costs.
        x: Left edge.
        y: Upper edge.
        width: Its width.
        height: Its height.
    """

    number: int
    name: str
    title: str
    members: tuple[str, ...]
    costs: tuple[CostText, ...]
    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkGraph:
    """The drawing.

    Attributes:
        width: Of all of it [pixel].
        height: Of all of it [pixel].
        boxes: In the order of execution.
        edges: Paths of tensors between boxes, as commands of SVG.
        description: The same in a sentence.
    """

    width: int
    height: int
    boxes: tuple[GraphBox, ...]
    edges: tuple[str, ...]
    description: str


def network_graph(
    graph: Graph, operators: Sequence[OperatorReport], called: Mapping[str, str]
) -> NetworkGraph | None:
    """Return the drawing of a network; ``None`` where there is none.

    Args:
        graph: The network.
        operators: Its operators and groups, in the order of execution.
        called: What they are called for people.
    """
    reads = unit_reads(graph, operators) if 0 < len(operators) <= MOST_BOXES else None
    if reads is None:
        return None
    layers = _layers(reads)
    boxes = _boxes(graph, operators, called, layers)
    edges, lanes = _edges(reads, layers, boxes)
    right = max(box.x + box.width for box in boxes)
    groups = sum(bool(item.members) for item in operators)
    return NetworkGraph(
        width=right + _MARGIN + _LANE * (lanes + 1),
        height=max(box.y + box.height for box in boxes) + _MARGIN,
        boxes=boxes,
        edges=edges,
        description=(
            f"{counted(len(operators), 'operator')} in {counted(len(layers), 'layer')}, "
            f"{counted(groups, 'fused group')} among them; "
            f"{counted(sum(map(len, reads.values())), 'connection')}."
        ),
    )


def unit_reads(
    graph: Graph, operators: Sequence[OperatorReport]
) -> Mapping[int, frozenset[int]] | None:
    """Return from whom each operator or group reads, by position in the program.

    Args:
        graph: The network.
        operators: Its operators and groups.

    Returns:
        ``None`` where the operators are not those of the graph.
    """
    unit = {name: at for at, item in enumerate(operators) for name in item.members or (item.name,)}
    if set(unit) != {op.name for op in graph.ops}:
        return None
    maker = {result.name: unit[op.name] for op in graph.ops for result in op.results}
    found: dict[int, set[int]] = {at: set() for at in range(len(operators))}
    for op in graph.ops:
        makers = {maker[operand] for operand in op.operands if operand in maker}
        found[unit[op.name]] |= makers - {unit[op.name]}
    return {at: frozenset(makers) for at, makers in found.items()}


def _layers(reads: Mapping[int, frozenset[int]]) -> list[list[int]]:
    """Return the boxes by layer, each below all that it reads from."""
    sorter = TopologicalSorter(reads)
    sorter.prepare()
    layers: list[list[int]] = []
    while sorter.is_active():
        layers.append(sorted(sorter.get_ready()))
        sorter.done(*layers[-1])
    return layers


def _boxes(
    graph: Graph,
    operators: Sequence[OperatorReport],
    called: Mapping[str, str],
    layers: Sequence[Sequence[int]],
) -> tuple[GraphBox, ...]:
    costs = _costs(operators)
    widest = max(map(len, layers))
    middle = _MARGIN + (widest * (_WIDE + _GAP_X) - _GAP_X) // 2
    found: dict[int, GraphBox] = {}
    y = _MARGIN
    for layer in layers:
        x = middle - (len(layer) * (_WIDE + _GAP_X) - _GAP_X) // 2
        for number in layer:
            item = operators[number]
            members = tuple(_member(graph, name) for name in item.members)
            found[number] = GraphBox(
                number=number,
                name=short(called.get(item.name, item.name), _TEXT),
                title=_title(number, item),
                members=members,
                costs=costs[number],
                x=x,
                y=y,
                width=_WIDE,
                height=_HEAD + _LINE * len(members),
            )
            x += _WIDE + _GAP_X
        y += max(found[number].height for number in layer) + _GAP_Y
    return tuple(found[number] for number in range(len(operators)))


def _member(graph: Graph, name: str) -> str:
    return short(label_of(name, nodes_of((graph.producer[name].loc,))), _TEXT)


def _title(number: int, item: OperatorReport) -> str:
    figures = (
        f"{cycles_text(item.cycles)} cycles",
        f"{amount(item.offchip_bytes, 'B')} off chip",
        amount(joule(item.energy_pj), "J"),
    )
    return f"{number}: {shown(item.name)} ({shown(item.kind, 60)}): {', '.join(figures)}"


def _costs(operators: Sequence[OperatorReport]) -> list[tuple[CostText, ...]]:
    """Return the figures of each operator, each beside its share of all."""
    columns = [
        _column("cycles", [item.cycles for item in operators], lambda it: f"{it:,.0f} cycles"),
        _column("bytes", [item.offchip_bytes for item in operators], lambda it: amount(it, "B")),
        _column(
            "energy", [item.energy_pj for item in operators], lambda it: amount(joule(it), "J")
        ),
    ]
    return [tuple(row) for row in zip(*columns, strict=True)]


def _column(
    by: str, values: Sequence[float | None], spelled: Callable[[float], str]
) -> list[CostText]:
    known = [value for value in values if value is not None]
    whole, most = sum(known) or 1, max(known, default=0) or 1
    return [
        CostText(
            by=by,
            text="" if value is None else f"{spelled(value)}, {value / whole:.1%}",
            heat=(value or 0) / most,
        )
        for value in values
    ]


def _edges(
    reads: Mapping[int, frozenset[int]],
    layers: Sequence[Sequence[int]],
    boxes: Sequence[GraphBox],
) -> tuple[tuple[str, ...], int]:
    """Return the paths, and how many lanes stand beside the boxes."""
    depth = {number: at for at, layer in enumerate(layers) for number in layer}
    readers: dict[int, list[int]] = {number: [] for number in reads}
    for target, sources in sorted(reads.items()):
        for source in sources:
            readers[source].append(target)
    paths: list[str] = []
    ends: list[int] = []
    """By lane, the layer of the last box that reads from it."""
    right = max(box.x + box.width for box in boxes) + _LANE
    for source in sorted(reads, key=lambda number: (depth[number], number)):
        near = [target for target in readers[source] if depth[target] == depth[source] + 1]
        far = [target for target in readers[source] if depth[target] > depth[source] + 1]
        paths += (_straight(boxes[source], boxes[target]) for target in near)
        if not far:
            continue
        free = (at for at, end in enumerate(ends) if end < depth[source])
        lane = next(free, len(ends))
        ends[lane : lane + 1] = [max(depth[target] for target in far)]
        at = right + _LANE * lane
        paths += (_around(boxes[source], boxes[target], at) for target in far)
    return tuple(paths), len(ends)


def _straight(source: GraphBox, target: GraphBox) -> str:
    x, y = source.x + source.width // 2, source.y + source.height
    to = target.x + target.width // 2
    middle = (y + target.y) // 2
    return f"M{x} {y}C{x} {middle} {to} {middle} {to} {target.y}"


def _around(source: GraphBox, target: GraphBox, lane: int) -> str:
    """Return a path out to a lane and back; it leaves below the middle and comes in above it."""
    y, to = source.y + source.height - 6, target.y + 6
    return f"M{source.x + source.width} {y}H{lane}V{to}H{target.x + target.width}"
