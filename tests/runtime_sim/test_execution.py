import dataclasses

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from accnn.backend.load import load_architecture
from accnn.ir.arch import Architecture, Fanout, MemoryLevel
from accnn.ir.errors import InfeasibleError, SimulationError
from accnn.ir.mapping import Allocation, Loop, LoopNest, SpatialLoop
from accnn.ir.workload import Dim, Operand, Workload
from accnn.passes.analysis.cost import evaluate
from accnn.passes.mapping.recipes.output_stationary import map_output_stationary
from accnn.runtime_sim.array.counts import Side
from tests.runtime_sim.execution import run_nest
from tests.thinned import examples

from ..nest_strategies import architectures, nests


def tensors(nest, seed=0):
    """Weights and inputs, inputs as large as padded windows reach."""
    rng = np.random.default_rng(seed)
    work, most = nest.workload, nest.extents
    rows = (most["P"] - 1) * work.stride[0] + (most["R"] - 1) * work.dilation[0] + 1
    columns = (most["Q"] - 1) * work.stride[1] + (most["S"] - 1) * work.dilation[1] + 1
    weights = rng.integers(-8, 8, (work.G, work.K, work.C, work.R, work.S))
    inputs = rng.integers(-8, 8, (work.N, work.G, work.C, rows, columns))
    return weights, inputs


def reference(workload, weights, inputs):
    out = np.zeros((workload.N, workload.G, workload.K, workload.P, workload.Q), np.int64)
    for r, s in np.ndindex(workload.R, workload.S):
        rows = slice(r * workload.dilation[0], None, workload.stride[0])
        columns = slice(s * workload.dilation[1], None, workload.stride[1])
        window = inputs[:, :, :, rows, columns][..., : workload.P, : workload.Q]
        out += np.einsum("gkc,ngcpq->ngkpq", weights[:, :, :, r, s], window)
    return out


def check(nest, arch, placement=frozenset()):
    weights, inputs = tensors(nest)

    run = run_nest(nest, arch, weights, inputs, placement=placement)

    assert np.array_equal(run.output, reference(nest.workload, weights, inputs))
    cost = evaluate(nest, arch, placement=placement)
    assert run.steps == cost.compute_cycles
    counted, busiest = {}, {}
    for item in run.counts:
        key = (item.place, item.operand, item.side.value)
        elements, bits = counted.get(key, (0, 0))
        counted[key] = (elements + item.elements, bits + item.bits)
        busiest[key] = max(busiest.get(key, 0), item.bits)
    modelled = {
        (item.place, item.operand, item.direction.value): (item.elements, item.bits)
        for item in cost.traffic
    }
    assert counted == modelled
    for item in cost.traffic:
        assert busiest[item.place, item.operand, item.direction.value] == item.busiest_bits
    check_ports(run, arch, cost)


def check_ports(run, arch, cost):
    """The model's port load is that of the busiest instance, all operands together."""
    shared = {level.name for level in arch.levels if level.shared_port}
    load = {}
    for item in run.counts:
        way = "port" if item.place in shared and item.side in (Side.READ, Side.WRITE) else item.side
        key = (f"{item.place}.{way}", item.instance)
        load[key] = load.get(key, 0) + item.bits
    for port in cost.ports:
        most = max((bits for (name, _), bits in load.items() if name == port.name), default=0)
        assert port.bits == most, port


@settings(max_examples=examples(150), deadline=None)
@given(st.data())
def test_counts_equal_the_cost_model_and_values_the_reference(data):
    arch = data.draw(architectures())
    nest = data.draw(nests(arch))
    placement = data.draw(st.sets(st.sampled_from((Operand.I, Operand.O, Operand.W))))
    check(nest, arch, frozenset(placement))


@pytest.mark.slow
@settings(max_examples=2000, deadline=None)
@given(st.data())
def test_counts_equal_the_cost_model_on_many_nests(data):
    arch = data.draw(architectures())
    nest = data.draw(nests(arch, limit=20_000))
    check(nest, arch)


@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_a_buffer_overflows_exactly_where_the_nest_does_not_fit(data):
    arch = data.draw(architectures())
    nest = data.draw(nests(arch, limit=300))
    capacity = data.draw(st.integers(1, 40))
    level = data.draw(st.sampled_from(arch.levels[1:]))
    small = dataclasses.replace(level, capacity=2 * capacity)
    tight = dataclasses.replace(
        arch, levels=tuple(small if item is level else item for item in arch.levels)
    )
    weights, inputs = tensors(nest)
    try:
        nest.verify(tight)
    except InfeasibleError:
        event("too large")
        with pytest.raises(SimulationError, match="of tiles and has room for"):
            run_nest(nest, tight, weights, inputs)
    else:
        event("fits")
        run_nest(nest, tight, weights, inputs)


def test_sums_that_restart_beneath_a_second_child_are_not_read_back():
    memory = {"capacity": 1 << 20}
    arch = Architecture(
        name="two reductions",
        levels=(
            MemoryLevel(name="dram", holds=tuple(Operand), capacity=None),
            MemoryLevel(name="gb", holds=tuple(Operand), **memory),
            MemoryLevel(name="mid", holds=(Operand.O,), **memory),
            MemoryLevel(name="near", holds=(Operand.O,), **memory),
        ),
        scratchpad="gb",
        fanouts=(
            Fanout(name="outer", below="gb", size=2),
            Fanout(name="inner", below="mid", size=2),
        ),
        accumulator_bits=24,
    )
    loops = ((Dim.C, 2), (Dim.K, 2), (Dim.R, 2), (Dim.P, 2), (Dim.S, 2), (Dim.Q, 2))
    starts = {"dram": 0, "gb": 1, "mid": 2, "near": 4}
    nest = LoopNest(
        workload=Workload(C=8, K=2, R=2, P=2, S=2, Q=2),
        temporal=tuple(Loop(*loop) for loop in loops),
        spatial=(SpatialLoop(Dim.C, 2, "outer"), SpatialLoop(Dim.C, 2, "inner")),
        allocations=tuple(
            Allocation(operand, level.name, starts[level.name])
            for level in arch.levels
            for operand in level.holds
        ),
    )

    check(nest, arch)


def test_executes_a_layer_of_the_catalogue_machine():
    arch = load_architecture("simba.toml")
    nest = map_output_stationary(Workload(R=3, S=3, P=4, Q=4, C=8, K=8), arch).nest

    check(nest, arch)
    check(nest, arch, frozenset({Operand.I, Operand.O}))
