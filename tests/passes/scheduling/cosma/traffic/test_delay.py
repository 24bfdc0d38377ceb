import pytest

from accnn.backend.load import load_architecture
from accnn.ir.graph import Graph, Op, Value
from accnn.ir.types import DType, TensorType
from accnn.passes.scheduling.cosma.menu import streaming_menu
from accnn.passes.scheduling.cosma.problem import problem_of
from accnn.passes.scheduling.cosma.solve import solve
from accnn.passes.scheduling.cosma.traffic.delay import NO_DELAY, Delay, delay_on
from accnn.passes.scheduling.cosma.traffic.model import StreamedTraffic


def _tensor(name: str, size: int) -> Value:
    return Value(name, TensorType(DType.U8, (size,)))


def _op(result: str, size: int, *operands: str) -> Op:
    return Op(kind="work", operands=operands, results=(_tensor(result, size),))


CHAIN = Graph(
    name="chain",
    inputs=(_tensor("x", 40000),),
    constants=(),
    ops=(_op("a", 40000, "x"), _op("y", 40000, "a")),
    outputs=("y",),
)


def _traffic(cycles: int, size: int) -> StreamedTraffic:
    return StreamedTraffic(activations=(("x", size),), constants=0, workspace=size, cycles=cycles)


def test_cycles_beyond_the_transfers_are_worth_what_could_have_been_moved():
    assert Delay(bandwidth=20, weight=1).of(_traffic(cycles=100, size=500)) == 1500
    assert Delay(bandwidth=20, weight=0.5).of(_traffic(cycles=100, size=500)) == 750


def test_transfers_hide_computation():
    delay = Delay(bandwidth=20, weight=1)

    assert delay.of(_traffic(cycles=100, size=2500)) == 0
    assert delay.is_hidden(_traffic(cycles=100, size=2500))
    assert not delay.is_hidden(_traffic(cycles=100, size=500))


def test_bytes_alone_count_where_cycles_weigh_nothing():
    assert NO_DELAY.of(_traffic(cycles=1000, size=1)) == 0
    assert delay_on(load_architecture("simba"), 1.0).bandwidth == 20


def _slow_when_whole(op: Op, resident: frozenset[str], workspace: int) -> StreamedTraffic | None:
    """A machine on which anything resident takes ages."""
    sizes = [(name, 40000) for name in (*op.inputs, op.name) if name not in resident]
    if len(sizes) * 4096 > workspace:
        return None
    cycles = 4000 if len(sizes) == 2 else 100000
    return StreamedTraffic(
        activations=tuple(sizes), constants=0, workspace=workspace, cycles=cycles
    )


@pytest.mark.parametrize(("weight", "cost"), [(0.0, 80000), (1.0, 160000)])
def test_a_plan_pays_bytes_for_cycles_as_the_weight_says(weight: float, cost: int):
    arch = load_architecture("simba")
    menu = streaming_menu(CHAIN, arch, 131072, _slow_when_whole, delay=delay_on(arch, weight))

    plan = solve(problem_of(CHAIN, 131072, menu=menu)).plan

    assert plan.cost == cost
    assert all(len(option.streamed) == 2 for option in plan.chosen) == (weight == 1)
