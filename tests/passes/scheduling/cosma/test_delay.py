from accnn.backend.load import load_architecture
from accnn.ir.graph import Graph, Op, Value
from accnn.ir.types import DType, TensorType
from accnn.passes.scheduling.check import check_schedule
from accnn.passes.scheduling.cosma.delay import NO_DELAY, Delay, delay_on
from accnn.passes.scheduling.cosma.schedule import schedule_cosma
from accnn.passes.scheduling.cosma.streaming import Traffic


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


def _traffic(cycles: int, size: int) -> Traffic:
    return Traffic(activations=(("x", size),), constants=0, workspace=size, cycles=cycles)


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


def _slow_when_whole(op: Op, resident: frozenset[str], workspace: int) -> Traffic | None:
    """A machine on which anything resident takes ages."""
    sizes = [(name, 40000) for name in (*op.inputs, op.name) if name not in resident]
    if len(sizes) * 4096 > workspace:
        return None
    cycles = 4000 if len(sizes) == 2 else 100000
    return Traffic(activations=tuple(sizes), constants=0, workspace=workspace, cycles=cycles)


def test_a_plan_pays_bytes_for_cycles_as_the_weight_says():
    arch = load_architecture("simba")

    cheap, fast = (
        schedule_cosma(
            CHAIN, arch, traffic=_slow_when_whole, exact=_slow_when_whole, latency=weight
        )
        for weight in (0.0, 1.0)
    )

    assert cheap.objective == 80000
    assert fast.objective > 80000
    assert fast.streams
    check_schedule(CHAIN, cheap, arch)
    check_schedule(CHAIN, fast, arch)
