"""Hypothesis strategies: small machines, workloads and nests, uneven and padded ones included."""

import dataclasses
import math

from hypothesis import strategies as st

from accnn.ir.arch import Architecture, Fanout, MemoryLevel
from accnn.ir.mapping import Allocation, Loop, LoopNest, SpatialLoop
from accnn.ir.workload import DIMS, REDUCTION, Dim, Operand, Workload

W, I, O = Operand.W, Operand.I, Operand.O  # noqa: E741
NAMES = ("dram", "gb", "mid", "near", "reg")


@st.composite
def architectures(draw, capacity=1 << 20):
    """Draw a machine of two to five levels with up to three fan-outs."""
    count = draw(st.integers(2, 5))
    levels = [
        MemoryLevel(
            name="dram",
            holds=(W, I, O),
            capacity=None,
            read_bandwidth=4.0,
            shared_port=draw(st.booleans()),
            write_bandwidth=3.0,
            word_bits=64,
            read_energy=7.25,
            write_energy=9.5,
        )
    ]
    for name in NAMES[1:count]:
        holds = draw(st.sets(st.sampled_from((W, I, O)), min_size=1))
        if name == "gb":
            holds |= {I, O}
        if name == NAMES[count - 1] and not any(W in level.holds for level in levels[1:]):
            holds |= {W}
        levels.append(
            MemoryLevel(
                name=name,
                holds=tuple(item for item in Operand if item in holds),
                capacity=capacity,
                double_buffered=draw(st.booleans()),
                read_bandwidth=draw(st.sampled_from((None, 1.5, 8.0))),
                write_bandwidth=draw(st.sampled_from((None, 3.0, 8.0))),
                shared_port=draw(st.booleans()),
                word_bits=draw(st.sampled_from((8, 24))),
                read_energy=draw(st.sampled_from((0.1, 1.3))),
                write_energy=0.7,
            )
        )
    fanouts = []
    below = sorted(draw(st.lists(st.integers(1, count - 1), max_size=3)))
    for index, position in enumerate(below):
        reduction = draw(st.booleans())
        fanouts.append(
            Fanout(
                name=f"f{index}",
                below=levels[position].name,
                size=draw(st.sampled_from((2, 4))),
                dims=tuple(dim for dim in Dim if reduction or dim not in REDUCTION),
                multicast=tuple(draw(st.sets(st.sampled_from((W, I))))),
                reduction=reduction,
                link_bandwidth=draw(st.sampled_from((None, 2.0))),
                hop_energy=draw(st.sampled_from((0.0, 0.3))),
            )
        )
    return Architecture(
        name="drawn",
        levels=tuple(levels),
        scratchpad="gb",
        fanouts=tuple(fanouts),
        accumulator_bits=draw(st.sampled_from((16, 24))),
        mac_energy=0.2,
    )


@st.composite
def nests(draw, arch, limit=2000):
    """Draw a nest of at most ``limit`` multiply-accumulates for a machine."""
    spatial = []
    macs = 1
    for fanout in arch.fanouts:
        room = fanout.size
        for dim in draw(st.lists(st.sampled_from(fanout.dims), max_size=2)):
            if room >= 2:
                spatial.append(SpatialLoop(dim, 2, fanout.name))
                macs *= 2
                room //= 2
    temporal = []
    for _ in range(draw(st.integers(0, 7))):
        extent = draw(st.integers(1, 4))
        if macs * extent <= limit:
            macs *= extent
            temporal.append(Loop(draw(st.sampled_from(DIMS)), extent))
    extents = {
        dim: math.prod(item.extent for item in (*temporal, *spatial) if item.dim is dim)
        for dim in DIMS
    }
    if draw(st.booleans()):
        padded = draw(st.sampled_from(DIMS))
        extents[padded] = max(1, extents[padded] - 1)
    workload = Workload(
        **{dim.value: extent for dim, extent in extents.items()},
        stride=(draw(st.integers(1, 3)), draw(st.integers(1, 2))),
        dilation=(draw(st.integers(1, 2)), draw(st.integers(1, 3))),
    )
    return LoopNest(
        workload=workload,
        temporal=tuple(temporal),
        spatial=tuple(spatial),
        allocations=tuple(draw(_allocations(arch, len(temporal)))),
    )


@st.composite
def _allocations(draw, arch, loops):
    found = []
    for operand in Operand:
        found.append(Allocation(operand, arch.off_chip.name, 0))
        start = 0
        for level in arch.levels[1:]:
            if operand in level.holds and draw(st.integers(0, 4)) > 0:
                start = draw(st.integers(start, loops))
                found.append(Allocation(operand, level.name, start))
    return found


@st.composite
def inner_nests(draw, arch, limit=2000):
    """Draw what one instruction carries: operands begin in any of their memories."""
    nest = draw(nests(arch, limit))
    found = []
    for operand in Operand:
        chain = nest.of(operand)
        first, *rest = chain[draw(st.integers(0, len(chain) - 1)) :]
        found += [dataclasses.replace(first, start=0), *rest]
    workload = dataclasses.replace(nest.workload, output_bits=arch.accumulator_bits)
    return dataclasses.replace(nest, workload=workload, allocations=tuple(found))
