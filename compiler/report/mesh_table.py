"""A run over the mesh as a table for the terminal: where operators wait, which link is busiest."""

from collections.abc import Sequence

from rich import box
from rich.table import Table

from ...ir.mesh_report import MeshOperator, MeshReport
from .figures import amount, cycles_text, joule, percent, ratio

WAITS = ("compute", "weights", "inputs", "sums", "dram", "other")
"""What the array does, or waits for; fields of an operator."""


def mesh_table(mesh: MeshReport, slowest: int) -> Table:
    """Return the operators that take longest over the mesh.

    Args:
        mesh: The run.
        slowest: How many of them.
    """
    table = Table(box=box.SIMPLE, pad_edge=False, title="over the mesh", title_justify="left")
    table.add_column("operator")
    for name in ("network", "analytical", "x", *WAITS):
        table.add_column(name, justify="right")
    for item in sorted(mesh.operators, key=lambda item: -item.cycles)[:slowest]:
        cycles = cycles_text(item.cycles), cycles_text(item.analytical_cycles)
        times = ratio(item.cycles, item.analytical_cycles)
        table.add_row(item.name, *cycles, times, *wait_shares(item))
    return table


def wait_shares(item: MeshOperator) -> Sequence[str]:
    """Return what the array's time for an operator goes to, as shares in the order of WAITS."""
    whole = item.array_cycles
    figures: dict[str, int] = {name: getattr(item, name) for name in WAITS}
    return [percent(cycles / whole) if whole else "-" for cycles in figures.values()]


def mesh_line(mesh: MeshReport) -> str:
    """Return one line on the links between routers."""
    if not mesh.links:
        return "mesh: no link between routers was used"
    busiest = max(mesh.links, key=lambda link: link.flits)
    (column, row), (to, below) = busiest.begin, busiest.end
    share = percent(busiest.flits / mesh.cycles) if mesh.cycles else "-"
    return (
        f"mesh: {amount(mesh.hop_flits)} flits times hops, {amount(joule(mesh.network_pj), 'J')}; "
        f"busiest link [{column}, {row}] to [{to}, {below}], in {share} of the cycles"
    )
