"""What the simulator derives from a descriptor equals what its execution, element by element, does.

The oracle moves every element and counts; the derivation multiplies. No figure is the compiler's.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from accnn.ir.workload import Operand
from accnn.runtime_sim.array.counts import Side
from accnn.runtime_sim.array.run import run_on
from tests.runtime_sim.execution import run_nest
from tests.runtime_sim.nest_geometry import NestGeometry
from tests.thinned import examples

from ...nest_strategies import architectures, inner_nests
from ..test_execution import reference, tensors

ORDER = (Operand.I, Operand.W, Operand.O)


def busiest(counts, place, operand, way):
    """Bits through the busiest instance."""
    return max(
        (
            item.bits
            for item in counts
            if (item.place, item.operand, item.side) == (place, operand, way)
        ),
        default=0,
    )


def time(bits, bandwidth):
    return Fraction(0) if bandwidth is None else Fraction(bits, 8) / Fraction(bandwidth)


def write_port(level):
    return level.read_bandwidth if level.shared_port else level.write_bandwidth


def stage_time(arch, counts, stage, inwards):
    """How long one tile of every child takes on a stage, from what was counted on it."""
    parent, child = arch.level(stage.parent), arch.level(stage.child)
    at_parent, at_child = (Side.READ, Side.WRITE) if inwards else (Side.WRITE, Side.READ)
    link = Side.DOWN if inwards else Side.UP
    ports = {Side.READ: lambda level: level.read_bandwidth, Side.WRITE: write_port}
    times = [
        time(busiest(counts, parent.name, stage.operand, at_parent), ports[at_parent](parent)),
        time(busiest(counts, child.name, stage.operand, at_child), ports[at_child](child)),
    ]
    times += [
        time(busiest(counts, fanout.name, stage.operand, link), fanout.link_bandwidth)
        for fanout in stage.fanouts
    ]
    return max(times)


def executed_fill(arch, geometry, run):
    """The first tiles travel inwards, memory by memory; a memory sends one at a time."""
    ready = dict.fromkeys(ORDER, Fraction(0))
    for level in arch.level_names:
        free = Fraction(0)
        for operand in ORDER:
            for stage in geometry.stages[operand][:-1]:
                if stage.parent == level:
                    taken = stage_time(arch, run.first, stage, True)
                    if operand is Operand.O and not returns(run, stage):
                        continue
                    free = ready[operand] = max(free, ready[operand]) + taken
    return max(ready.values())


def returns(run, stage):
    return busiest(run.first, stage.child, Operand.O, Side.WRITE) > 0


def executed_drain(arch, geometry, run):
    stages = geometry.stages[Operand.O][:-1]
    return sum((stage_time(arch, run.last, stage, False) for stage in stages), Fraction(0))


def check(nest, arch, *, accumulate):
    weights, inputs = tensors(nest)
    work = nest.workload
    shape = (work.N, work.G, work.K, work.P, work.Q)
    old = np.random.default_rng(1).integers(-50, 50, shape) if accumulate else None

    executed = run_nest(nest, arch, weights, inputs, sums=old)
    derived = run_on(nest, arch, accumulate=accumulate)

    expected = reference(work, weights, inputs) + (0 if old is None else old)
    assert np.array_equal(executed.output, expected)
    assert derived.steps == executed.steps
    counted = {}
    for item in executed.counts:
        key = (item.place, item.operand, item.side.value)
        counted[key] = counted.get(key, 0) + item.bits
    assert {
        (item.place, item.operand, item.side.value): item.bits for item in derived.counts
    } == counted
    for item in derived.counts:
        way = item.side
        assert item.busiest == busiest(executed.counts, item.place, item.operand, way)
    geometry = NestGeometry(nest, arch, frozenset())
    assert derived.fill == math.ceil(executed_fill(arch, geometry, executed))
    assert derived.drain == math.ceil(executed_drain(arch, geometry, executed))
    return derived


@settings(max_examples=examples(150), deadline=None)
@given(st.data())
def test_counts_and_times_equal_those_of_an_execution(data):
    arch = data.draw(architectures())
    nest = data.draw(inner_nests(arch, limit=1000))
    accumulate = data.draw(st.booleans())

    derived = check(nest, arch, accumulate=accumulate)

    event("fills" if derived.fill else "nothing to fill")
    event("drains" if derived.drain else "nothing to drain")


@pytest.mark.slow
@settings(max_examples=3000, deadline=None)
@given(st.data())
def test_counts_and_times_of_many_nests_equal_those_of_an_execution(data):
    arch = data.draw(architectures())
    check(data.draw(inner_nests(arch, limit=5000)), arch, accumulate=data.draw(st.booleans()))
