"""Latency of many nests at once; see :mod:`.latency` for what it is."""

import numpy as np

from ...ir.arch import MemoryLevel
from ...ir.workload import Operand
from .batch_geometry import Geometry
from .batch_stages import Stage
from .batch_traffic import Counted
from .latency import FILL_ORDER
from .nest_batch import Floats, Ints
from .traffic import Direction


def _load(counted: Counted, place: str, direction: Direction) -> Ints:
    total = np.zeros(len(counted.geometry.batch), np.int64)
    for operand in Operand:
        if (place, operand, direction) in counted.busiest:
            total = total + counted.busiest[place, operand, direction]
    return total


def port_loads(counted: Counted) -> list[Floats]:
    """Return the time that compute and each bounded port takes, ``[B]`` each [cycle]."""
    arch = counted.geometry.arch
    loads = [counted.geometry.steps.astype(np.float64)]
    for level in arch.levels:
        read = _load(counted, level.name, Direction.READ)
        write = _load(counted, level.name, Direction.WRITE)
        if level.shared_port:
            read, write = read + write, read[:0]
        for bits, bandwidth in ((read, level.read_bandwidth), (write, level.write_bandwidth)):
            if bandwidth is not None and len(bits):
                loads.append(bits / (8 * bandwidth))
    for fanout in arch.fanouts:
        if fanout.link_bandwidth is not None:
            loads += [
                _load(counted, fanout.name, direction) / (8 * fanout.link_bandwidth)
                for direction in (Direction.DOWN, Direction.UP)
            ]
    return loads


def fill_cycles(geometry: Geometry) -> Floats:
    """Return when the first tiles have arrived ``[B]`` [cycle]."""
    ready = {operand: np.zeros(len(geometry.batch)) for operand in FILL_ORDER}
    for level in geometry.arch.levels:
        sent = np.zeros(len(geometry.batch))
        for operand in FILL_ORDER:
            for stage in geometry.stages[operand][:-1]:
                if stage.parent == level.name:
                    sent = np.maximum(sent, ready[operand]) + _first_tile(geometry, level, stage)
                    ready[operand] = sent
    return np.maximum(*ready.values())


def _first_tile(geometry: Geometry, level: MemoryLevel, stage: Stage) -> Floats:
    assert stage.child is not None
    tile = stage.elements * geometry.batch.workload.bits(stage.operand)
    slowest = np.zeros(len(geometry.batch))
    slowest = _slower(slowest, tile, _write_bandwidth(geometry.arch.level(stage.child)))
    for position, fanout in enumerate(stage.hops.fanouts):
        if fanout.link_bandwidth is not None:
            crossing = tile * stage.hops[position + 1 :].copies
            slowest = _slower(slowest, crossing, fanout.link_bandwidth)
    return _slower(slowest, tile * stage.hops.copies, level.read_bandwidth)


def drain_cycles(geometry: Geometry) -> Floats:
    """Return how long the last tiles take on their way out ``[B]`` [cycle]."""
    psum, finished = geometry.psum_bits, geometry.batch.workload.output_bits
    stages = geometry.stages[Operand.O][:-1]
    total = np.zeros(len(geometry.batch))
    for stage in reversed(stages):
        assert stage.child is not None
        reduced = stage.above.reductions * stage.hops.reductions
        done = (reduced == 1) & (stage is not stages[-1])
        child = geometry.arch.level(stage.child)
        slowest = np.zeros(len(geometry.batch))
        width = np.where(done, finished, psum)
        slowest = _slower(slowest, stage.elements * width, child.read_bandwidth)
        reduced = stage.above.reductions
        for position, fanout in enumerate(stage.hops.fanouts):
            reduced = reduced * stage.hops.irrelevant[position]
            if fanout.link_bandwidth is not None:
                width = np.where(reduced == 1, finished, psum)
                bits = stage.elements * width * stage.hops[position + 1 :].relevants
                slowest = _slower(slowest, bits, fanout.link_bandwidth)
        width = np.where(stage.above.reductions == 1, finished, psum)
        bits = stage.elements * width * stage.hops.relevants
        parent = geometry.arch.level(stage.parent)
        total = total + _slower(slowest, bits, _write_bandwidth(parent))
    return total


def _write_bandwidth(level: MemoryLevel) -> float | None:
    return level.read_bandwidth if level.shared_port else level.write_bandwidth


def _slower(slowest: Floats, bits: Ints, bandwidth: float | None) -> Floats:
    return slowest if bandwidth is None else np.maximum(slowest, bits / (8 * bandwidth))
