"""The flow table of one spatial mapping as coefficients: what an order of loops multiplies.

With unrolling and memories fixed, all traffic over a boundary is ``elements x (visits x a + tiles x
b)`` (see :mod:`....analysis.flows`), where only these three depend on the order and on where tiles
start. So energies and loads of ports are sums over boundaries, and this is what their parts are.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from .....ir.arch import Architecture
from .....ir.mapping import LoopNest
from .....ir.workload import OPERANDS, Operand
from ....analysis.batches.batch import mac_energy
from ....analysis.batches.coefficients import Index
from ....analysis.batches.counts import Counts
from ....analysis.batches.latency import element_cycles
from ....analysis.batches.nest_batch import batch_nests
from ....analysis.flows import Flow, Kind
from ....analysis.traffic import bounded_ports, energy_of
from .kernel.records import Floats


@dataclass(frozen=True)
class Coefficients:
    """Energies [pJ] and port loads [cycle]; see :mod:`.kernel.records`.

    Boundaries ``c`` of an operand are numbered from the innermost outwards.
    """

    fixed: Floats
    per_visit: Floats
    per_tile: Floats
    port_fixed: Floats
    port_visit: Floats
    port_tile: Floats
    first_tile: Floats
    couple: Floats


def coefficients(
    nest: LoopNest,
    arch: Architecture,
    resident: frozenset[Operand],
    depth: int,
    *,
    timed: bool = True,
) -> Coefficients:
    """Return the coefficients of all nests that share a nest's unrolling and memories.

    Args:
        nest: Any of them.
        arch: The machine.
        resident: Operands that lie whole in the scratchpad.
        depth: Boundaries that there are at most, per operand.
        timed: Whether the loads of ports are wanted; else these are zero.
    """
    counts = Counts(batch_nests([nest]), arch, resident)
    model, index = counts.coefficients, counts.index
    prices = _prices(index)
    found = _zeros(len(prices.loads[0]), depth, float(mac_energy(counts)[0]))
    columns = (item[:, 0].tolist() for item in (model.all_visit, model.all_tile))
    busiest = (item[:, 0].tolist() for item in (model.visit, model.tile))
    numbers = zip(index.flows, *columns, *busiest, strict=True)
    for row, (flow, a, b, visit, tile) in enumerate(numbers):
        word, energy = prices.energies[row]
        if flow.at_macs:
            at_macs = index.boundary[row]
            steps, tiles = int(counts.visits[at_macs, 0]), int(counts.tiles[at_macs, 0])
            found.fixed[...] += (a * steps + b * tiles) / word * energy
            if timed:
                found.port_fixed[:] += (visit * steps + tile * tiles) * prices.loads[row]
            continue
        at = prices.at[row]
        found.per_visit[at] += a / word * energy
        found.per_tile[at] += b / word * energy
        if timed:
            found.port_visit[:, *at] += visit * prices.loads[row]
            found.port_tile[:, *at] += tile * prices.loads[row]
    for item in model.restarts:
        word, energy = prices.energies[item.flow]
        outer = len(index.sums) - 2 - item.outer
        found.couple[prices.at[item.flow][1], outer] -= int(item.bits[0]) / word * energy
    for (operand, position, kind), cycles in element_cycles(model).items():
        if kind is not Kind.BACK:
            at = (OPERANDS.index(operand), len(index.table.of(operand)) - 2 - position)
            found.first_tile[at] = cycles[0]
    return found


@dataclass(frozen=True, slots=True)
class _Prices:
    """What one bit of each flow costs, and where it counts.

    Attributes:
        energies: Bits of an access and its energy [pJ].
        loads: Time at each bounded port [cycle].
        at: Operand and boundary, numbered from the innermost outwards.
    """

    energies: tuple[tuple[int, float], ...]
    loads: tuple[Floats, ...]
    at: tuple[tuple[int, int], ...]


@lru_cache(maxsize=64)
def _prices(index: Index) -> _Prices:
    arch = index.table.arch
    return _Prices(
        energies=tuple(energy_of(arch, flow.place, flow.direction) for flow in index.flows),
        loads=tuple(_unit_loads(arch, flow) for flow in index.flows),
        at=tuple(
            (
                OPERANDS.index(flow.operand),
                len(index.table.of(flow.operand)) - 2 - flow.boundary.position,
            )
            for flow in index.flows
        ),
    )


def _zeros(ports: int, depth: int, fixed: float) -> Coefficients:
    shape = (len(OPERANDS), depth)
    return Coefficients(
        fixed=np.array(fixed),
        per_visit=np.zeros(shape),
        per_tile=np.zeros(shape),
        port_fixed=np.zeros(ports),
        port_visit=np.zeros((ports, *shape)),
        port_tile=np.zeros((ports, *shape)),
        first_tile=np.zeros(shape),
        couple=np.zeros((depth, depth)),
    )


def _unit_loads(arch: Architecture, flow: Flow) -> Floats:
    """Return what one bit costs each bounded port [cycle]."""
    return np.array(
        [
            1 / (8 * port.bandwidth)
            if port.place == flow.place and flow.direction in port.directions
            else 0.0
            for port in bounded_ports(arch)
        ]
    )
