"""What ``acc-map`` shows: nests as the papers write them, and a table."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from rich import box
from rich.table import Table
from rich.text import Text

from ...ir.arch import Architecture
from ...ir.mapping import LoopNest
from ...ir.proof import Scope
from ...ir.workload import Operand
from ...passes.analysis.cost import Counting, evaluate
from ...passes.analysis.zigzag import zigzag_cost
from ...passes.mapping.mapper import MappingResult
from ...passes.mapping.problem import Rules
from ..stores.mappings import MapJob
from .figures import amount, cycles_text, joule, percent
from .proofs import scopes_text


class LayerCounting(StrEnum):
    """Whose rules count: ours, Timeloop's or ZigZag's.

    ``zigzag`` has ZigZag's idea of capacity, too: a nest that was searched by it may not fit. With
    ``zigzag-sound`` it fits.
    """

    ACCNN = "accnn"
    TIMELOOP = "timeloop"
    ZIGZAG = "zigzag"
    ZIGZAG_SOUND = "zigzag-sound"


def rules_of(counting: LayerCounting) -> Rules:
    """Return the rules by which mappers that know several should search."""
    match counting:
        case LayerCounting.ACCNN | LayerCounting.TIMELOOP:
            return Rules.ACCNN
        case LayerCounting.ZIGZAG:
            return Rules.ZIGZAG
        case LayerCounting.ZIGZAG_SOUND:
            return Rules.ZIGZAG_SOUND


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One layer mapped by one mapper; the columns of the CSV.

    Attributes:
        layer: Name.
        mapper: Who mapped it.
        cycles: Latency in the chosen counting [cycle].
        energy_pj: Energy in the chosen counting [pJ].
        edp: Their product [pJ * cycle].
        cycles_lower_bound: Roofline [cycle].
        energy_lower_bound_pj: What no mapping can save [pJ].
        status: What the mapper vouches for.
        bound: Proven bound of its objective, in our counting; ``None`` where nothing is proven.
        scope: The nests that the bound holds for; empty for none.
        gap: How far the objective is above it, as a share of it.
        solve_seconds: Wall time of the search, when it was made [s].
        cpu_seconds: CPU time of the search, when it was made [s].
        network_cycles: Latency with its traffic over the mesh, ``None`` where that was not
            simulated [cycle].
        network_estimate: The same in closed form: the busiest link under X-Y routing [cycle].
        network_waits: What an element of the mesh waits for, as shares of the time by operand.
    """

    layer: str
    mapper: str
    cycles: float
    energy_pj: float
    edp: float
    cycles_lower_bound: float
    energy_lower_bound_pj: float
    status: str
    bound: float | None
    scope: str
    gap: float | None
    solve_seconds: float
    cpu_seconds: float
    network_cycles: int | None = None
    network_estimate: float | None = None
    network_waits: str = ""


def row_of(name: str, job: MapJob, result: MappingResult, counting: LayerCounting) -> Row:
    """Return the figures of one answer, in the counting that was asked for.

    Args:
        name: Of the layer.
        job: What the mapper was asked.
        result: What it answered.
        counting: Whose rules count.
    """
    rules = Counting.TIMELOOP if counting is LayerCounting.TIMELOOP else Counting.ACCNN
    problem = job.problem
    cost = evaluate(result.nest, problem.arch, placement=problem.resident, counting=rules)
    cycles, energy = cost.cycles, cost.energy_pj
    if rules_of(counting) is not Rules.ACCNN:
        other = zigzag_cost(result.nest, problem.arch)
        cycles, energy = float(other.cycles), other.energy
    return Row(
        layer=name,
        mapper=job.mapper.name,
        cycles=cycles,
        energy_pj=energy,
        edp=cycles * energy,
        cycles_lower_bound=cost.cycles_lower_bound,
        energy_lower_bound_pj=cost.energy_lower_bound_pj,
        status=str(result.status),
        bound=result.bound,
        scope=result.scope or "",
        gap=result.gap,
        solve_seconds=result.seconds,
        cpu_seconds=result.cpu_seconds,
    )


_NARROW = 72
"""Terminals with fewer columns do without what is least missed."""
_LEFT_OUT = 2
"""Columns that they do without: the gap and the seconds, which are the last ones."""


def table_of(rows: Sequence[Row], width: int) -> Table:
    """Return rows as a table, with geometric means per mapper where there are several layers.

    Names give way on narrow terminals, figures never do.

    Args:
        rows: What to show.
        width: Of the terminal [column].
    """
    claims = ((row.status, Scope(row.scope) if row.scope else None) for row in rows)
    table = Table(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        show_edge=False,
        padding=(0, 1, 0, 0),
        caption=scopes_text(claims) or None,
        caption_justify="left",
    )
    is_simulated = any(row.network_cycles is not None for row in rows)
    headings = (
        "layer",
        "mapper",
        "cycles",
        "x bound",
        *(("network", "x cycles", "estimate", "waits for") if is_simulated else ()),
        "energy",
        "x bound",
        "status",
        "gap",
        "s",
    )
    left_out = _LEFT_OUT if width < _NARROW else 0
    kept = len(headings) - left_out
    for heading in headings[:kept]:
        left = heading in headings[:2]
        table.add_column(Text(heading), justify="left" if left else "right", no_wrap=not left)
    for row in rows:
        cells = (
            Text(row.layer),
            row.mapper,
            cycles_text(row.cycles),
            f"{row.cycles / row.cycles_lower_bound:.3f}",
            *(_network_cells(row) if is_simulated else ()),
            amount(joule(row.energy_pj), "J"),
            _times(_energy_ratio(row)),
            row.status,
            percent(row.gap, 2),
            f"{row.solve_seconds:.2f}",
        )
        table.add_row(*cells[:kept])
    mappers = list(dict.fromkeys(row.mapper for row in rows))
    for mapper in mappers if len({row.layer for row in rows}) > 1 else ():
        own = [row for row in rows if row.mapper == mapper]
        cycles = _geomean([row.cycles / row.cycles_lower_bound for row in own])
        ratios = [ratio for row in own if (ratio := _energy_ratio(row)) is not None]
        energy = _geomean(ratios) if len(ratios) == len(own) else None
        over = [row.network_cycles / row.cycles for row in own if row.network_cycles is not None]
        network = ("", _times(_geomean(over) if over else None), "", "") if is_simulated else ()
        means = ("geomean", mapper, "", f"{cycles:.3f}", *network, "", _times(energy), "", "", "")
        table.add_row(*means[:kept])
    return table


def _network_cells(row: Row) -> tuple[str, str, str, str]:
    """Return latency over the mesh, how many times the analytical one, the estimate, and waits."""
    if row.network_cycles is None or row.network_estimate is None:
        return "-", "-", "-", "-"
    ratio = f"{row.network_cycles / row.cycles:.3f}"
    return f"{row.network_cycles:,}", ratio, f"{row.network_estimate:,.0f}", row.network_waits


def _energy_ratio(row: Row) -> float | None:
    """Return energy over its bound, ``None`` on a machine whose file has no energies."""
    return row.energy_pj / row.energy_lower_bound_pj if row.energy_lower_bound_pj else None


def _times(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.3f}"


def _geomean(values: Sequence[float]) -> float:
    return math.exp(math.fsum(map(math.log, values)) / len(values))


def nest_text(nest: LoopNest, arch: Architecture) -> str:
    """Return a nest as CoSA's Listing 1 writes it: levels, loops, unrolled loops."""
    lines: list[str] = []
    depth = 0
    opened = 0
    for level in arch.levels:
        own = [item for item in nest.allocations if item.level == level.name]
        start = max([item.start for item in own], default=opened)
        for loop in nest.temporal[opened:start]:
            lines.append(f"{'  ' * depth}for {loop.dim.lower()} = [0 : {loop.extent}) :")
            depth += 1
        opened = max(opened, start)
        kept = " ".join(
            f"{item.operand}@{item.start}" if item.start != start else str(item.operand)
            for item in sorted(own, key=lambda item: list(Operand).index(item.operand))
        )
        lines.append(f"{'  ' * depth}// {level.name} [{kept}]")
        for fanout in arch.fanouts:
            for loop in nest.spatial:
                if fanout.below == level.name and loop.fanout == fanout.name:
                    lines.append(
                        f"{'  ' * depth}spatial_for {loop.dim.lower()} = [0 : {loop.extent}) "
                        f"on {fanout.name} :"
                    )
                    depth += 1
    for loop in nest.temporal[opened:]:
        lines.append(f"{'  ' * depth}for {loop.dim.lower()} = [0 : {loop.extent}) :")
        depth += 1
    return "\n".join(lines)
