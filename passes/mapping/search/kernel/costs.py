"""Coefficients of energies and port loads, added up flow by flow; see ``orders.coefficients``."""

# pyright: reportArgumentType=false, reportReturnType=false, reportUnknownArgumentType=false

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .....ir.compiled import entry

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class FlowPrices(NamedTuple):
    """What one bit of each flow costs, and where it counts.

    Attributes:
        words: Bits of an access [bit] ``[F]``.
        energies: Of an access [pJ] ``[F]``.
        loads: Time of a bit at each bounded port [cycle] ``[F, ports]``.
        at_macs: Whether it is on its way between a memory and the array ``[F]``.
        boundary: Where each crosses ``[F]``.
        operand: Number of its operand ``[F]``.
        place: Number of its boundary, from the innermost outwards ``[F]``.
    """

    words: Floats
    energies: Floats
    loads: Floats
    at_macs: Bools
    boundary: Ints
    operand: Ints
    place: Ints


class FlowBits(NamedTuple):
    """Bits of flows in every visit, and of every tile: ``[F, 1]`` each.

    Attributes:
        all_visit: Through all instances in every visit.
        all_tile: Through all instances, of every tile.
        visit: Through the busiest instance in every visit.
        tile: Through the busiest instance, of every tile.
    """

    all_visit: Ints
    all_tile: Ints
    visit: Ints
    tile: Ints


class Costs(NamedTuple):
    """Energies [pJ] and loads of ports [cycle] of visits and tiles at boundaries.

    Attributes:
        per_visit: Energy ``[3, c]``.
        per_tile: Energy ``[3, c]``.
        port_fixed: Load at the array ``[ports]``.
        port_visit: Load ``[ports, 3, c]``.
        port_tile: Load ``[ports, 3, c]``.
    """

    per_visit: Floats
    per_tile: Floats
    port_fixed: Floats
    port_visit: Floats
    port_tile: Floats


@entry
def add_costs(
    prices: FlowPrices, bits: FlowBits, visits: Ints, tiles: Ints, fixed: float, found: Costs
) -> float:
    """Add up what flows cost, and return the energy that does not depend on the order of loops.

    Args:
        prices: Of a bit.
        bits: Of the flows.
        visits: Of each boundary ``[J, 1]``; only those of the array count.
        tiles: Of each boundary ``[J, 1]``.
        fixed: Energy to begin with [pJ].
        found: What is added to.
    """
    for f in range(len(prices.words)):
        word, energy = prices.words[f], prices.energies[f]
        a, b = bits.all_visit[f, 0], bits.all_tile[f, 0]
        visit, tile = bits.visit[f, 0], bits.tile[f, 0]
        if prices.at_macs[f]:
            steps, many = visits[prices.boundary[f], 0], tiles[prices.boundary[f], 0]
            fixed += (a * steps + b * many) / word * energy
            for port in range(len(found.port_fixed)):
                load = (visit * steps + tile * many) * prices.loads[f, port]
                found.port_fixed[port] += load
            continue
        x, c = prices.operand[f], prices.place[f]
        found.per_visit[x, c] += a / word * energy
        found.per_tile[x, c] += b / word * energy
        for port in range(len(found.port_fixed)):
            found.port_visit[port, x, c] += visit * prices.loads[f, port]
            found.port_tile[port, x, c] += tile * prices.loads[f, port]
    return fixed
