from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accnn.backend.load import load_architecture
from accnn.ir.arch import Architecture, MemoryLevel
from accnn.ir.errors import InfeasibleError, VerifyError
from accnn.ir.graph import Graph, Op, Value
from accnn.ir.graph_schedule import GraphSchedule, Residence, Transfer
from accnn.ir.types import DType, TensorType
from accnn.ir.workload import OPERANDS, Operand
from accnn.passes.scheduling.check import check_schedule
from accnn.passes.scheduling.cosma.baselines import Replacement
from accnn.passes.scheduling.cosma.schedule import Cosma
from accnn.passes.scheduling.in_order import schedule_in_order
from accnn.passes.scheduling.schedule_linear import Order, plan_linear
from tests.networks import NetworkBuilder, per_tensor


def _tensor(name: str, size: int) -> Value:
    return Value(name, TensorType(DType.U8, (size,)))


def _arch(size: int, *, weights: bool = False) -> Architecture:
    holds = OPERANDS if weights else (Operand.I, Operand.O)
    return Architecture(
        name="toy",
        levels=(
            MemoryLevel(name="dram", holds=OPERANDS, capacity=None),
            MemoryLevel(name="gb", holds=holds, capacity=size),
            MemoryLevel(name="wb", holds=(Operand.W,), capacity=64),
        ),
        scratchpad="gb",
    )


def _op(result: str, size: int, *operands: str) -> Op:
    return Op(kind="work", operands=operands, results=(_tensor(result, size),))


DIAMOND = Graph(
    name="diamond",
    inputs=(_tensor("x", 400),),
    constants=(_tensor("w", 50),),
    ops=(
        _op("a", 300, "x", "w"),
        _op("b", 200, "a"),
        _op("c", 200, "a"),
        _op("d", 100, "b", "c"),
    ),
    outputs=("d",),
)


def test_everything_stays_on_chip_where_it_fits():
    arch = _arch(700)

    plan = schedule_in_order(DIAMOND, arch)

    account = check_schedule(DIAMOND, plan, arch)
    assert account.total == account.compulsory == 500
    assert not plan.streams


def test_what_does_not_fit_is_streamed_through_a_workspace():
    arch = _arch(699)

    plan = schedule_in_order(DIAMOND, arch)

    assert plan.streams
    assert check_schedule(DIAMOND, plan, arch).non_compulsory > 0


def test_weights_that_pass_through_the_scratchpad_get_a_workspace():
    arch = _arch(100_000, weights=True)

    plan = schedule_in_order(DIAMOND, arch)

    assert plan.workspace(0) is not None
    check_schedule(DIAMOND, plan, arch)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_graph_runs_at_any_budget(data: st.DataObject):
    graph = data.draw(graphs())
    budget = data.draw(st.integers(1, 2000))
    arch = _arch(2000, weights=data.draw(st.booleans()))

    plan = schedule_in_order(graph, arch, budget=budget)

    account = check_schedule(graph, plan, arch)
    assert account.total == plan.objective


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    size = st.integers(1, 400)
    names, ops = ["x", "w"], []
    for index in range(draw(st.integers(1, 8))):
        operands = draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True))
        ops.append(_op(f"t{index}", draw(size), *operands))
        names.append(f"t{index}")
    outputs = draw(st.lists(st.sampled_from(names[2:]), min_size=1, unique=True))
    return Graph(
        name="random",
        inputs=(_tensor("x", draw(size)),),
        constants=(_tensor("w", draw(size)),),
        ops=tuple(ops),
        outputs=tuple(outputs),
    )


def test_no_budget_is_refused():
    with pytest.raises(InfeasibleError, match="needs 1 byte, has 0"):
        schedule_in_order(DIAMOND, _arch(100), budget=0)


def _good() -> GraphSchedule:
    return schedule_in_order(DIAMOND, _arch(700))


def test_the_checker_refuses_an_order_against_dependences():
    plan = replace(_good(), order=("b", "a", "c", "d"))

    with pytest.raises(VerifyError, match="%b runs before %a"):
        check_schedule(DIAMOND, plan)


def test_the_checker_refuses_a_tensor_that_is_nowhere():
    plan = _good()
    plan = replace(plan, residences=tuple(i for i in plan.residences if i.tensor != "b"))

    with pytest.raises(VerifyError, match="%b is neither resident nor streamed at step 1"):
        check_schedule(DIAMOND, plan)


def test_the_checker_refuses_a_residence_out_of_nothing():
    plan = replace(_good(), loads=())

    with pytest.raises(VerifyError, match="%x is resident from step 0 out of nothing"):
        check_schedule(DIAMOND, plan)


def test_a_retrieve_needs_a_spill():
    def at(tensor: str, first: int, last: int, address: int) -> Residence:
        size = DIAMOND.types[tensor].bytes
        return Residence(
            tensor=tensor, first_step=first, last_step=last, address=address, bytes=size
        )

    plan = GraphSchedule(
        budget=700,
        order=("a", "b", "c", "d"),
        residences=(
            at("x", 0, 0, 300),
            at("a", 0, 2, 0),
            at("b", 1, 1, 300),
            at("c", 2, 3, 300),
            at("b", 3, 3, 0),
            at("d", 3, 3, 500),
        ),
        loads=(Transfer(tensor="x", step=0, bytes=400),),
        retrieves=(Transfer(tensor="b", step=3, bytes=200),),
        stores=(Transfer(tensor="d", step=3, bytes=100),),
    )

    with pytest.raises(VerifyError, match="%b is brought in at step 3 without a host copy"):
        check_schedule(DIAMOND, plan)

    spilled = replace(plan, spills=(Transfer(tensor="b", step=2, bytes=200),))
    assert check_schedule(DIAMOND, spilled).non_compulsory == 400


def test_the_checker_refuses_an_output_that_stays():
    with pytest.raises(VerifyError, match="output %d never leaves"):
        check_schedule(DIAMOND, replace(_good(), stores=()))


def test_the_checker_refuses_streams_without_a_workspace():
    plan = schedule_in_order(DIAMOND, _arch(300))

    with pytest.raises(VerifyError, match="streams without a workspace"):
        check_schedule(DIAMOND, replace(plan, workspaces=()))


def test_the_checker_refuses_a_budget_beyond_the_machine():
    with pytest.raises(VerifyError, match="the plan uses 700 byte of gb, which has 699"):
        check_schedule(DIAMOND, _good(), _arch(699))


def test_the_checker_refuses_overlap():
    plan = _good()
    plan = replace(plan, residences=tuple(replace(i, address=0) for i in plan.residences))

    with pytest.raises(VerifyError, match="overlap at step"):
        check_schedule(DIAMOND, plan)


def product() -> Graph:
    """Return a product of two inputs."""
    net = NetworkBuilder()
    operands = (net.input("x", (4, 8)), net.input("w", (6, 8)))
    return net.build(net.op("dense", operands, "y", quant=per_tensor(0.1)))


def test_the_checker_refuses_weights_that_lie_where_none_can():
    graph = product()
    plan = schedule_in_order(graph, load_architecture("edge-1m"), budget=1000)

    check_schedule(graph, plan, load_architecture("edge-1m"))
    with pytest.raises(VerifyError, match="%w is resident at step 0, but %y reads it off chip"):
        check_schedule(graph, plan, load_architecture("simba"))


@pytest.mark.parametrize("rule", Replacement)
def test_weights_are_streamed_where_the_scratchpad_holds_none(rule: Replacement):
    graph, simba = product(), load_architecture("simba")
    plans = [
        schedule_in_order(graph, simba),
        plan_linear(graph, simba, Order.DEFAULT, rule),
        Cosma(arch=simba).plan(graph),
        Cosma(arch=simba, streaming=False).plan(graph),
    ]

    for plan in plans:
        check_schedule(graph, plan, simba)
        assert plan.streamed("w", 0) and plan.resident("w", 0) is None
        assert plan.streamed("x", 0) != (plan.resident("x", 0) is not None)
