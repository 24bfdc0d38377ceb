"""The flow table of one spatial mapping as coefficients: what an order of loops multiplies.

With unrolling and memories fixed, all traffic over a boundary is ``elements x (visits x a + tiles x
b)`` (see :mod:`....analysis.flows`), where only these three depend on the order and on where tiles
start. So energies and loads of ports are sums over boundaries, and this is what their parts are.
"""

from dataclasses import dataclass, replace
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
from ..kernel.costs import Costs, FlowBits, FlowPrices, add_costs
from .kernel.records import Floats


@dataclass(frozen=True)
class Coefficients:
    """Energies [pJ] and port loads [cycle]; see :mod:`.kernel.records`.

    Boundaries ``c`` of an operand are numbered from the innermost outwards.
    """

    fixed: float
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
    found = _zeros(prices.loads.shape[1], depth)
    bits = FlowBits(model.all_visit, model.all_tile, model.visit, model.tile)
    costs = Costs(
        found.per_visit, found.per_tile, found.port_fixed, found.port_visit, found.port_tile
    )
    own = prices if timed else prices._replace(loads=np.zeros_like(prices.loads))
    macs = float(mac_energy(counts)[0])
    found = replace(found, fixed=add_costs(own, bits, counts.visits, counts.tiles, macs, costs))
    for item in model.restarts:
        outer = len(index.sums) - 2 - item.outer
        energy = int(item.bits[0]) / prices.words[item.flow] * prices.energies[item.flow]
        found.couple[prices.place[item.flow], outer] -= energy
    for (operand, position, kind), cycles in element_cycles(model).items():
        if kind is not Kind.BACK:
            at = (OPERANDS.index(operand), len(index.table.of(operand)) - 2 - position)
            found.first_tile[at] = cycles[0]
    return found


@lru_cache(maxsize=64)
def _prices(index: Index) -> FlowPrices:
    """Return what one bit of each flow costs, and where it counts."""
    arch, flows = index.table.arch, index.flows
    energies = [energy_of(arch, flow.place, flow.direction) for flow in flows]
    return FlowPrices(
        words=np.array([word for word, _ in energies], np.float64),
        energies=np.array([energy for _, energy in energies], np.float64),
        loads=np.array([_unit_loads(arch, flow) for flow in flows], np.float64),
        at_macs=np.array([flow.at_macs for flow in flows]),
        boundary=index.boundary,
        operand=np.array([OPERANDS.index(flow.operand) for flow in flows], np.int64),
        place=np.array([_place(index, flow) for flow in flows], np.int64),
    )


def _place(index: Index, flow: Flow) -> int:
    """Return the number of a flow's boundary, from the innermost outwards; -1 at the array."""
    return len(index.table.of(flow.operand)) - 2 - flow.boundary.position


def _zeros(ports: int, depth: int) -> Coefficients:
    shape = (len(OPERANDS), depth)
    return Coefficients(
        fixed=0.0,
        per_visit=np.zeros(shape),
        per_tile=np.zeros(shape),
        port_fixed=np.zeros(ports),
        port_visit=np.zeros((ports, *shape)),
        port_tile=np.zeros((ports, *shape)),
        first_tile=np.zeros(shape),
        couple=np.zeros((depth, depth)),
    )


def _unit_loads(arch: Architecture, flow: Flow) -> list[float]:
    """Return what one bit costs each bounded port [cycle]."""
    return [
        1 / (8 * port.bandwidth)
        if port.place == flow.place and flow.direction in port.directions
        else 0.0
        for port in bounded_ports(arch)
    ]
