"""The table of operators: one row each, with its loop nest and traffic to unfold."""

from dataclasses import dataclass

from ....ir.module import Module
from ....ir.report import Dims, OperatorReport
from ..binding import LOOKS, Binding, BusyShare, spelled_shares
from ..bottleneck import bottleneck
from ..figures import UNKNOWN, amount, cycles_text, joule, percent, ratio
from ..layer_table import nest_text
from .names import short, shown
from .split import TrafficRow, traffic_rows


@dataclass(frozen=True, slots=True)
class TableCell:
    """Text, and the number that rows are sorted by (``None`` comes last)."""

    text: str
    number: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorRow:
    """One operator as the table shows it.

    Attributes:
        number: Position in the program.
        name: Short enough for the table.
        full_name: As in the graph.
        kind: Of operator.
        dims: Extents of its loops that are not 1.
        mapper: Who found the loop nest.
        status: What is proven.
        objective: The cost model's value of what the mapper minimises.
        bound: Proven bound of the objective.
        scope: The nests that the bound holds for; empty for none.
        gap: Distance from it, as a share of it.
        estimate: Cycles by which the nest was chosen; empty where it was not.
        cycles: Duration, with its share of the slowest one's [%].
        cycles_share: Share of the slowest operator's cycles [%].
        times_bound: Cycles over the roofline bound.
        difference: How much longer it takes in the run than the model says.
        reasons: Why; empty where that is not noticeable.
        utilization: Of the MAC array.
        energy: Energy.
        off_chip: Bytes to and from off-chip memory.
        binding: What holds it up.
        look: Colour of ``binding``.
        busy: How busy the engines are.
        why: What holds it up, in a sentence; empty where that is not known.
        nodes: ONNX nodes that it comes from; empty for none.
        note: What else there is to know of the mapping; empty for nothing.
        nest: Loop nest as the papers write them; empty for none.
        traffic: Per level and operand.
        chart: Name of the chart of its tile schedule; empty for none.
    """

    number: int
    name: str
    full_name: str
    kind: str
    dims: str
    mapper: str
    status: str
    objective: str
    bound: TableCell
    scope: str
    gap: TableCell
    estimate: str
    cycles: TableCell
    cycles_share: float
    times_bound: TableCell
    difference: TableCell
    reasons: str
    utilization: TableCell
    energy: TableCell
    off_chip: TableCell
    binding: Binding
    look: str
    busy: str
    why: str
    nodes: str
    note: str
    nest: str
    traffic: tuple[TrafficRow, ...]
    chart: str


def operator_row(
    module: Module,
    item: OperatorReport,
    number: int,
    *,
    label: str,
    most_cycles: int,
    why: Binding,
    shares: tuple[BusyShare, ...],
    chart: str,
) -> OperatorRow:
    """Return the row of one operator.

    Args:
        module: Its mapping.
        item: Its figures.
        number: Its position in the program.
        label: What it is called for people.
        most_cycles: Of the slowest operator.
        why: What it is bound by.
        shares: How busy the engines are.
        chart: Name of the chart of its tile schedule; empty for none.
    """
    cycles, bound = item.cycles, item.cycles_lower_bound
    return OperatorRow(
        number=number,
        name=short(label, 32),
        full_name=shown(item.name),
        kind=shown(item.kind, 40),
        dims=_dims(item.dims),
        mapper=item.mapper or UNKNOWN,
        status=item.status or UNKNOWN,
        objective=amount(item.objective),
        bound=TableCell(amount(item.bound), item.bound),
        scope=item.scope or "",
        gap=TableCell(percent(item.gap), item.gap),
        estimate="" if item.estimate is None else cycles_text(item.estimate),
        cycles=TableCell(cycles_text(cycles), cycles),
        cycles_share=100 * (cycles or 0) / max(1, most_cycles),
        times_bound=TableCell(ratio(cycles, bound), cycles / bound if cycles and bound else None),
        difference=TableCell(
            UNKNOWN if item.difference is None else f"{item.difference:+.1%}", item.difference
        ),
        reasons=", ".join(f"{reason} ({reason.cycles:,} cycles)" for reason in item.reasons),
        utilization=TableCell(
            UNKNOWN if item.utilization is None else f"{item.utilization:.0%}", item.utilization
        ),
        energy=TableCell(amount(joule(item.energy_pj), "J"), item.energy_pj),
        off_chip=_off_chip(module, item),
        binding=why,
        look=LOOKS[why],
        busy=spelled_shares(shares),
        why=bottleneck(item, why, shares),
        nodes=shown(", ".join(item.nodes), 400),
        note=shown(item.note or "", 400),
        nest=_nest(module, item),
        traffic=traffic_rows(item.traffic),
        chart=chart,
    )


def _dims(dims: Dims | None) -> str:
    if dims is None:
        return UNKNOWN
    extents = ((name, getattr(dims, name)) for name in "RSPQCKNG")
    return " ".join(f"{name}{extent}" for name, extent in extents if extent != 1) or "1"


def _off_chip(module: Module, item: OperatorReport) -> TableCell:
    if module.arch is None or not item.traffic:
        return TableCell(UNKNOWN)
    level = module.arch.off_chip.name
    moved = sum(row.read_bytes + row.written_bytes for row in item.traffic if row.level == level)
    return TableCell(amount(moved, "B"), moved)


def _nest(module: Module, item: OperatorReport) -> str:
    mapping = module.mapping(item.name)
    if mapping is None or module.arch is None:
        return item.nest or ""
    return nest_text(mapping.nest, module.arch)
