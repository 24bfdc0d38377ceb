"""A run over the mesh as a table for the terminal: where operators wait, which link is busiest."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from ...ir.mesh_report import MeshOperator, MeshReport, OffChipUse
from .figures import amount, cycles_text, joule, percent, ratio
from .operator_table import fitted, give_way

WAITS = ("compute", "weights", "inputs", "sums", "dram", "other")
"""What the array does, or waits for; fields of an operator."""


def mesh_parts(mesh: MeshReport, called: Mapping[str, str], shown: int) -> Sequence[RenderableType]:
    """Return what the terminal shows of a run over the mesh.

    Args:
        mesh: The run.
        called: How operators are called for people, by name.
        shown: How many operators to show at most.
    """
    memory = () if mesh.memory is None else (Text(memory_line(mesh.memory)),)
    return MeshTable(mesh, called, shown), Text(mesh_line(mesh)), *memory


_GIVE_WAY = ("other", "x", "dram", "sums")
"""Columns that narrow terminals do without, the first one first."""


@dataclass(frozen=True)
class MeshTable:
    """The operators that take longest over the mesh; names give way, numbers never do.

    Attributes:
        mesh: The run.
        called: How operators are called for people, by name.
        shown: How many rows to show at most.
    """

    mesh: MeshReport
    called: Mapping[str, str]
    shown: int

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the table for the width at hand."""
        del console
        yield self.table(options.max_width)

    def table(self, width: int) -> Table:
        """Return the table for a terminal of ``width`` columns."""
        slowest = sorted(self.mesh.operators, key=lambda item: -item.cycles)[: self.shown]
        columns: dict[str, Sequence[str]] = {
            "network": [cycles_text(item.cycles) for item in slowest]
        }
        columns["x"] = [ratio(item.cycles, item.analytical_cycles) for item in slowest]
        shares = [wait_shares(item, digits=0) for item in slowest]
        columns |= {name: [row[at] for row in shares] for at, name in enumerate(WAITS)}
        give_way(columns, _GIVE_WAY, width)
        names = [self.called.get(item.name, item.name) for item in slowest]
        title = "over the mesh, and what the array's time goes to"
        return fitted(names, columns, width, title=title)


def wait_shares(item: MeshOperator, digits: int = 1) -> Sequence[str]:
    """Return what the array's time for an operator goes to, as shares in the order of WAITS.

    Args:
        item: The operator.
        digits: Of a share, behind the point.
    """
    whole = item.array_cycles
    figures: dict[str, int] = {name: getattr(item, name) for name in WAITS}
    return [percent(cycles / whole, digits) if whole else "-" for cycles in figures.values()]


def memory_line(memory: OffChipUse) -> str:
    """Return one line on the off-chip memory."""
    bursts = memory.read_bursts + memory.written_bursts
    line = f"off-chip memory: {amount(bursts)} bursts in {amount(memory.rows)} opened rows"
    if not memory.pj:
        return line
    parts = ("rows", memory.activate_pj), ("reads", memory.read_pj), ("writes", memory.write_pj)
    listed = ", ".join(f"{name} {amount(joule(pj), 'J')}" for name, pj in parts)
    return f"{line}; {listed}"


def mesh_line(mesh: MeshReport) -> str:
    """Return one line on the links between routers."""
    if not mesh.links:
        return "mesh: no link between routers was used"
    busiest = max(mesh.links, key=lambda link: link.flits)
    (column, row), (to, below) = busiest.begin, busiest.end
    share = percent(busiest.flits / mesh.cycles) if mesh.cycles else "-"
    energy = amount(joule(mesh.network_pj), "J") if mesh.network_pj else "without a price"
    return (
        f"mesh: {amount(mesh.hop_flits)} flits times hops, {energy}; "
        f"busiest link [{column}, {row}] to [{to}, {below}], in {share} of the cycles"
    )
