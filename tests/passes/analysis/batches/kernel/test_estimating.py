"""What tiles take, against the same told engine by engine."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from accnn.passes.analysis.batches.kernel.cutting import Cuts
from accnn.passes.analysis.batches.kernel.estimating import (
    EngineFigures,
    Estimates,
    Operations,
    fill_estimates,
)
from accnn.passes.analysis.batches.kernel.transfers import TileTransfers
from tests.thinned import examples

COUNTS = st.integers(1, 40)
CYCLES = st.integers(0, 400).map(lambda value: value / 4)


def column(*values, kind=np.int64):
    return np.array([[value] for value in values], kind)


@st.composite
def cases(draw):
    """Draw all figures of one nest."""
    count = lambda: np.array([draw(COUNTS)], np.int64)  # noqa: E731
    cycles = lambda: np.array([draw(CYCLES)])  # noqa: E731
    flag = lambda: np.array([draw(st.booleans())])  # noqa: E731
    cuts = Cuts(column(0, 0, 0), count(), count(), flag(), flag(), count(), count())
    loads = np.array(draw(st.tuples(*[st.integers(0, 9)] * 4)), np.int64).reshape(2, 2, 1)
    transfers = TileTransfers(
        bytes=column(draw(COUNTS), draw(COUNTS), draw(COUNTS)),
        sums=count(),
        weights=count(),
        modelled=column(draw(COUNTS), draw(COUNTS)),
        loads=loads,
        outputs=count(),
        parameters=count(),
    )
    operations = Operations(cycles(), cycles(), cycles())
    engines = EngineFigures(
        npus=draw(st.integers(1, 4)),
        transfer_startup=draw(st.sampled_from([0.0, 0.5, 8.0])),
        bandwidth=draw(st.sampled_from([math.inf, 3.0, 20.0])),
        streamed=draw(st.tuples(*[st.booleans()] * 3)),
        vector_startup=draw(COUNTS),
        finishing=(draw(CYCLES), draw(CYCLES)),
        leaving=np.array([0.0, draw(CYCLES)]),
        places=draw(st.sampled_from([0, 10, 200])),
        is_in_stripes=draw(st.booleans()),
        first_tile=draw(st.sampled_from([0.0, 0.25])),
    )
    offchip, ends = np.array([draw(CYCLES) * draw(st.sampled_from([1, 100]))]), cycles()
    return count(), cuts, transfers, operations, offchip, ends, engines


def channel_of(transfers: TileTransfers, offchip: float, engines: EngineFigures) -> float:
    """Return what transfers take: what the model does not count, and tiles the better way."""
    W, I, O = engines.streamed  # noqa: E741
    own = [at for at, streamed in enumerate((W, I)) if streamed]
    sizes, modelled = transfers.bytes[:, 0].tolist(), transfers.modelled[:, 0].tolist()
    rest = max(0.0, offchip - sum(modelled[at] * sizes[at] for at in own))
    ways = []
    for way in transfers.loads[:, :, 0].tolist():
        many = int(transfers.parameters[0]) + (int(transfers.outputs[0]) if O else 0)
        moved = rest + sum(way[at] * sizes[at] for at in own)
        many += sum(way[at] for at in own)
        ways.append(moved / engines.bandwidth + many * engines.transfer_startup)
    return min(ways)


@settings(max_examples=examples(600), deadline=None)
@given(cases())
def test_engines_work_beside_each_other_where_they_can(case):
    side_by_side, cuts, transfers, operations, offchip, ends, engines = case
    found = Estimates(np.zeros(1), np.zeros(1), np.zeros(1))

    fill_estimates(
        np.array([1]), side_by_side, cuts, transfers, operations, offchip, ends, engines, found
    )

    channel = channel_of(transfers, float(offchip[0]), engines)
    count, inside = int(cuts.accumulations[0]), bool(cuts.is_inside[0])
    computing, leaving = float(cuts.operations[0] * operations.cycles[0]), float(engines.leaving[1])
    finishing = engines.finishing[inside]
    if inside and engines.is_in_stripes:
        finishing = max(finishing, leaving)
    assert found.vector[0] == finishing
    finishing += count * engines.vector_startup
    busy = computing + finishing
    if inside and not engines.is_in_stripes:
        places = max(2, engines.places // int(transfers.sums[0]))
        waiting = count * (float(operations.ends[0]) + engines.vector_startup)
        busy = max(computing, finishing, (computing + leaving + waiting) / places)
    rounds = math.ceil(count / int(side_by_side[0]))
    steady = max(busy * (rounds * engines.npus / count), channel)
    filling = float(ends[0])
    if engines.is_in_stripes:
        loads, size = int(transfers.loads[0, 0, 0]), int(transfers.bytes[0, 0])
        filling += (loads or engines.first_tile) * size / engines.bandwidth
    steady *= 2 if cuts.spills_sums[0] else 1
    assert found.channel[0] == channel
    assert found.latency[0] == steady + filling + 2 * int(cuts.operations[0])
