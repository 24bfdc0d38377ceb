"""Latency of nests that are cut into operations, nest by nest; see ``tile_batch``."""

# pyright: reportArgumentType=false, reportReturnType=false, reportUnknownArgumentType=false

from typing import NamedTuple

import numpy as np

from .....ir.compiled import entry, inner
from .cutting import Cuts
from .moving import Floats, Ints
from .transfers import TileTransfers

_W, _I, _ = range(3)

_PER_OPERATION = 2.0
"""Cycles that go by between two operations."""

_PLACES = 2
"""Places for sums in the array at least: they take half of their memory at most."""

_SPILLING = 2.0
"""How much longer it takes where sums are spilled: transfers to and fro wait for each other."""


class Operations(NamedTuple):
    """What one operation of the array takes.

    Attributes:
        cycles: A whole one behind another one ``[B]`` [cycle].
        ends: The first one to fill its buffers, and the last one to drain ``[B]`` [cycle].
        ports: Of the scratchpad's ports ``[B]`` [cycle].
    """

    cycles: Floats
    ends: Floats
    ports: Floats


class EngineFigures(NamedTuple):
    """What beside the array works on tiles.

    Attributes:
        npus: Number of NPUs.
        transfer_startup: Cycles of one transfer before its first byte, all channels together.
        bandwidth: Of the off-chip memory [byte/cycle].
        streamed: Whether tiles of W, I and O come and go ``[3]``.
        vector_startup: Cycles of the vector unit before its first element.
        finishing: What finishing all elements takes of lanes or ports of the scratchpad where sums
            leave the array, and where they are completed there [cycle].
        leaving: What sums take of accumulators and links on their way out for each unrolling
            ``[U]`` [cycle].
        places: Bytes of the memory of accumulators.
        is_in_stripes: Whether nests make one stripe of a fused group.
        first_tile: Which part of the first tile of weights counts there if all of them remain.
    """

    npus: int
    transfer_startup: float
    bandwidth: float
    streamed: tuple[bool, bool, bool]
    vector_startup: int
    finishing: tuple[float, float]
    leaving: Floats
    places: int
    is_in_stripes: bool
    first_tile: float


class Estimates(NamedTuple):
    """What tiles take.

    Attributes:
        channel: Of the channels of transfers ``[B]`` [cycle].
        vector: Of the vector unit, its start-ups left aside ``[B]`` [cycle].
        latency: Of one NPU that does all the work ``[B]`` [cycle].
    """

    channel: Floats
    vector: Floats
    latency: Floats


@entry
def fill_estimates(
    which: Ints,
    side_by_side: Ints,
    cuts: Cuts,
    transfers: TileTransfers,
    operations: Operations,
    offchip: Floats,
    ends: Floats,
    engines: EngineFigures,
    found: Estimates,
) -> None:
    """Fill in what the tiles of nests take.

    Args:
        which: Which of the unrollings each nest has ``[B]``.
        side_by_side: How many NPUs work at a time ``[B]``.
        cuts: Where nests are cut.
        transfers: What comes and goes.
        operations: What one operation takes.
        offchip: What passes the off-chip memory in the cost model ``[B]`` [byte].
        ends: What comes before the first step and after the last one ``[B]`` [cycle].
        engines: What beside the array works on tiles.
        found: Filled in.
    """
    for b in range(len(which)):
        channel = _channel(b, transfers, offchip[b], engines)
        computing = cuts.operations[b] * operations.cycles[b]
        leaving = engines.leaving[which[b]]
        vector = _vector(cuts.is_inside[b], engines, leaving)
        busy = _busy(b, cuts, transfers, operations, engines, computing, vector, leaving)
        count = cuts.accumulations[b]
        rounds = -(-count // side_by_side[b])
        slowest = max(busy * (rounds * engines.npus / count), channel)
        steady = _SPILLING * slowest if cuts.spills_sums[b] else slowest
        filling = ends[b] + _weights(b, transfers, engines)
        found.channel[b], found.vector[b] = channel, vector
        found.latency[b] = steady + filling + _PER_OPERATION * cuts.operations[b]


@inner
def _channel(b: int, transfers: TileTransfers, offchip: float, engines: EngineFigures) -> float:
    """Return what the channels take the better way.

    What the cost model counts of weights and inputs is replaced by what does come.
    """
    others, count = offchip, transfers.parameters[b]
    for operand in range(2):
        if engines.streamed[operand]:
            others -= transfers.modelled[operand, b] * transfers.bytes[operand, b]
    if engines.streamed[2]:
        count += transfers.outputs[b]
    best = np.inf
    for way in range(2):
        size, many = max(others, 0.0), count
        for turn in range(2):
            operand = turn if way == 0 else 1 - turn
            if engines.streamed[operand]:
                loads = transfers.loads[way, operand, b]
                size, many = size + loads * transfers.bytes[operand, b], many + loads
        best = min(best, size / engines.bandwidth + many * engines.transfer_startup)
    return best


@inner
def _vector(is_inside: bool, engines: EngineFigures, leaving: float) -> float:
    """Return what finishing takes; see ``TileSetting`` of what sums take on their way out."""
    if not is_inside:
        return engines.finishing[0]
    return max(engines.finishing[1], leaving) if engines.is_in_stripes else engines.finishing[1]


@inner
def _busy(
    b: int,
    cuts: Cuts,
    transfers: TileTransfers,
    operations: Operations,
    engines: EngineFigures,
    computing: float,
    vector: float,
    leaving: float,
) -> float:
    """Return what array and vector unit take.

    Both need the ports and the bytes of sums in the scratchpad; in a stripe somebody waits. An
    operation whose sums remain in the array fills its buffers once the sums that lay in its place
    are finished: while those of all other places are made.
    """
    is_inside, count = cuts.is_inside[b], cuts.accumulations[b]
    finishing = count * engines.vector_startup + vector
    if not is_inside or engines.is_in_stripes:
        return computing + finishing
    places = max(_PLACES, engines.places // transfers.sums[b])
    ends = operations.ends[b] + engines.vector_startup
    in_few_places = (computing + leaving + count * ends) / places
    return max(computing, finishing, in_few_places)


@inner
def _weights(b: int, transfers: TileTransfers, engines: EngineFigures) -> float:
    """Return what moving weights adds to what a stripe takes.

    Those that do not remain from stripe to stripe count whole: groups are there to move less, so
    that bytes count even where time hides them.
    """
    if not engines.is_in_stripes:
        return 0.0
    loads = transfers.loads[0, _W, b]
    counted = engines.first_tile if loads == 0 else float(loads)
    return counted * transfers.bytes[_W, b] / engines.bandwidth
