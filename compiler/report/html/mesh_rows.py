"""The run over the mesh as the page shows it: operators that wait, and a heat map of links."""

from collections.abc import Mapping
from dataclasses import dataclass

from ....ir.mesh_report import MeshReport
from ..figures import amount, cycles_text, percent, ratio
from ..mesh_table import WAITS, memory_line, mesh_line, wait_shares
from .names import short

_ARROWS = {(1, 0): "east", (-1, 0): "west", (0, 1): "south", (0, -1): "north"}


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatLink:
    """A link out of a router.

    Attributes:
        way: Where it leads.
        text: Share of the run's cycles in which it carries a flit.
        title: The same with its flits.
        heat: How busy it is, 0 .. 1 of the busiest one.
    """

    way: str
    text: str
    title: str
    heat: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitRow:
    """An operator over the mesh.

    Attributes:
        name: Its name, short enough for the table.
        cycles: Over the mesh.
        analytical: Where bandwidths alone count.
        times: The quotient.
        waits: What the array's time goes to, as shares.
    """

    name: str
    cycles: str
    analytical: str
    times: str
    waits: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeshView:
    """The section of the mesh.

    Attributes:
        line: Its figures in a sentence.
        memory: Those of the off-chip memory, or nothing.
        heads: Names of what the array does, or waits for.
        rows: Operators in order.
        routers: Links out of each router, by row and column.
    """

    line: str
    memory: str
    heads: tuple[str, ...]
    rows: tuple[WaitRow, ...]
    routers: tuple[tuple[tuple[HeatLink, ...], ...], ...]


def mesh_view(mesh: MeshReport, called: Mapping[str, str]) -> MeshView:
    """Return what the page shows of a run over the mesh.

    Args:
        mesh: The run.
        called: How operators are called for people, by name.
    """
    return MeshView(
        line=mesh_line(mesh),
        memory="" if mesh.memory is None else memory_line(mesh.memory),
        heads=WAITS,
        rows=tuple(
            WaitRow(
                name=short(called.get(item.name, item.name)),
                cycles=cycles_text(item.cycles),
                analytical=cycles_text(item.analytical_cycles),
                times=ratio(item.cycles, item.analytical_cycles),
                waits=tuple(wait_shares(item)),
            )
            for item in mesh.operators
        ),
        routers=tuple(
            tuple(_links(mesh, column, row) for column in range(mesh.columns))
            for row in range(mesh.rows)
        ),
    )


def _links(mesh: MeshReport, column: int, row: int) -> tuple[HeatLink, ...]:
    most = max((link.flits for link in mesh.links), default=1)
    return tuple(
        HeatLink(
            way=_ARROWS[link.end[0] - column, link.end[1] - row],
            text=percent(link.flits / max(mesh.cycles, 1)),
            title=f"{amount(link.flits)} flits",
            heat=link.flits / most,
        )
        for link in mesh.links
        if link.begin == (column, row)
    )
