"""Compiled networks against what nothing is said to beat: bytes, cycles, tile schedules."""

from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accnn.compiler.report.contents import lower_bounds
from accnn.ir.graph import Graph
from accnn.ir.ops import workload
from accnn.passes.analysis.bounds import OffChipBytes
from accnn.passes.analysis.compulsory import compulsory_network_bytes
from tests.flow import Compiled, compile_graph
from tests.networks import NetworkBuilder, per_tensor
from tests.thinned import examples
from tests.tiles import tiles_of

KERNELS = ((1, 1), (1, 2), (1, 3), (3, 1), (3, 2), (2, 3))


@dataclass(frozen=True)
class Network:
    """A graph with its constants."""

    graph: Graph
    data: dict[str, Any]


@st.composite
def networks(draw: st.DrawFn) -> Network:
    """Draw convolutions and pools in a row; some step over a part of what they get."""
    net = NetworkBuilder()
    size, channels = draw(st.integers(6, 14)), draw(st.sampled_from((3, 8, 16)))
    name = net.input("x", (1, channels, size, size))
    for index in range(draw(st.integers(1, 3))):
        kernel, stride = draw(st.sampled_from(KERNELS))
        if net.types[name].shape[2] < 3 or draw(st.booleans()):
            name = net.conv(
                name, f"y{index}", draw(st.sampled_from((8, 24))), kernel, stride=stride
            )
        else:
            pool = {"kernel": (kernel, kernel), "stride": (stride, stride)}
            kind = draw(st.sampled_from(("max_pool", "avg_pool")))
            quant = per_tensor(0.1) if kind == "avg_pool" else None
            name = net.op(kind, (name,), f"y{index}", pool, quant)
    return Network(net.build(name), net.data)


def compiled(network: Network, arch: str, **options: str) -> Compiled:
    return compile_graph(
        network.graph, network.data, arch, budget=8192, all_off_chip=False, **options
    )


def assert_nothing_beats_the_bounds(made: Compiled, network: Network) -> None:
    result, arch = made.run(), made.module.arch
    assert arch is not None
    least = compulsory_network_bytes(network.graph)
    loads = [workload(op, network.graph.types) for op in network.graph.ops]
    macs = sum(load.macs for load in loads if load is not None)
    assert least.total <= result.total.off_chip_bytes
    assert lower_bounds.roofline(arch, macs, least) <= result.cycles
    schedule = tiles_of(made.module)
    assert schedule.scope is not None
    assert schedule.cycles_lower_bound <= schedule.cycles
    for item in schedule.alone:
        assert item.scope is not None
        assert item.cycles_lower_bound <= item.cycles


attack = settings(
    deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], database=None
)


@settings(attack, max_examples=examples(60))
@given(
    networks(),
    st.sampled_from(("edge-1m", "simba", "flexer-arch5")),
    st.sampled_from(("in-order", "cosma", "mpmf-greedy")),
    st.sampled_from(("static", "static-across")),
)
def test_no_program_beats_a_bound(network: Network, arch: str, scheduler: str, tiles: str) -> None:
    made = compiled(network, arch, scheduler=scheduler, tiles=tiles)

    assert_nothing_beats_the_bounds(made, network)


@pytest.mark.slow
@settings(attack, max_examples=30)
@given(
    networks(),
    st.sampled_from(("edge-1m", "simba", "flexer-arch5")),
    st.sampled_from(("in-order", "cosma")),
    st.sampled_from(("static", "static-across", "flexer")),
    st.sampled_from(("output-stationary", "cosa")),
)
def test_no_program_of_the_searching_mappers_beats_a_bound(
    network: Network, arch: str, scheduler: str, tiles: str, mapper: str
) -> None:
    made = compiled(network, arch, scheduler=scheduler, tiles=tiles, mapper=mapper)

    assert_nothing_beats_the_bounds(made, network)


def test_what_pools_and_windows_step_over_is_not_compulsory() -> None:
    net = NetworkBuilder()
    net.input("x", (1, 8, 7, 7))
    pool = {"kernel": (2, 2), "stride": (2, 2)}
    graph = net.build(net.op("max_pool", ("x",), "y", pool), net.conv("x", "z", 8, 1, stride=3))

    assert compulsory_network_bytes(graph).total == 8 * (6 * 6 + 3 * 3 + 3 * 3) + 8 * 8 + 8 * 4


def products() -> Network:
    net = NetworkBuilder()
    net.input("x", (1, 1024))
    return Network(net.build(net.dense("x", "y", 4096)), net.data)


def pools() -> Network:
    net = NetworkBuilder()
    net.input("x", (1, 16, 16, 16))
    pool = {"kernel": (2, 2), "stride": (2, 2)}
    return Network(net.build(net.op("max_pool", ("x",), "y", pool)), net.data)


def test_the_attack_notices_too_many_cycles(monkeypatch: pytest.MonkeyPatch) -> None:
    network, honest = products(), lower_bounds.roofline
    made = compile_graph(network.graph, network.data, "edge-1m", budget=65536, all_off_chip=False)
    assert_nothing_beats_the_bounds(made, network)

    monkeypatch.setattr(lower_bounds, "roofline", lambda *given: 1.03 * honest(*given))

    with pytest.raises(AssertionError):
        assert_nothing_beats_the_bounds(made, network)


def test_the_attack_notices_too_many_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    network, honest = pools(), compulsory_network_bytes
    made = compiled(network, "edge-1m")
    assert_nothing_beats_the_bounds(made, network)

    def more(graph: Graph) -> OffChipBytes:
        least = honest(graph)
        return replace(least, read=round(1.02 * least.read), written=round(1.02 * least.written))

    monkeypatch.setitem(globals(), "compulsory_network_bytes", more)

    with pytest.raises(AssertionError):
        assert_nothing_beats_the_bounds(made, network)
