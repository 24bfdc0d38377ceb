import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accnn.ir.arch import Architecture, MemoryLevel
from accnn.ir.errors import InfeasibleError
from accnn.ir.graph import Graph, Op, Value
from accnn.ir.module import Module
from accnn.ir.types import DType, TensorType
from accnn.ir.workload import OPERANDS, Operand
from accnn.passes.base import Context
from accnn.passes.scheduling.check import check_schedule
from accnn.passes.scheduling.cosma.baselines import Replacement
from accnn.passes.scheduling.cosma.budgets import budgets_of
from accnn.passes.scheduling.schedule_linear import Order, ScheduleLinear, plan_linear


def _tensor(name: str, size: int) -> Value:
    return Value(name, TensorType(DType.U8, (size,)))


def _op(result: str, size: int, *operands: str) -> Op:
    return Op(kind="work", operands=operands, results=(_tensor(result, size),))


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


DIAMOND = Graph(
    name="diamond",
    inputs=(_tensor("x", 40000),),
    constants=(_tensor("w", 50),),
    ops=(
        _op("a", 30000, "x", "w"),
        _op("b", 20000, "a"),
        _op("c", 20000, "a"),
        _op("d", 10000, "b", "c"),
    ),
    outputs=("d",),
)
SCHEMES = [(order, rule) for order in Order for rule in Replacement]


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    size = st.integers(1, 40000)
    names = ["x"]
    ops: list[Op] = []
    for index in range(draw(st.integers(1, 7))):
        operands = draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True))
        ops.append(_op(f"t{index}", draw(size), *operands))
        names.append(f"t{index}")
    read = {name for op in ops for name in op.inputs}
    return Graph(
        name="random",
        inputs=(_tensor("x", draw(size)),),
        constants=(),
        ops=tuple(ops),
        outputs=tuple(op.name for op in ops if op.name not in read),
    )


@settings(max_examples=60, deadline=None)
@given(graphs(), st.integers(1, 100000), st.sampled_from(SCHEMES), st.booleans())
def test_plans_pass_the_checker_at_any_budget(
    graph: Graph, budget: int, scheme: tuple[Order, Replacement], weights: bool
):
    arch = _arch(budget, weights=weights)

    plan = plan_linear(graph, arch, *scheme)

    account = check_schedule(graph, plan, arch)
    assert account.total == plan.objective >= account.compulsory


@pytest.mark.parametrize("scheme", SCHEMES)
def test_nothing_streams_from_the_largest_operator_up(scheme: tuple[Order, Replacement]):
    budget = budgets_of(DIAMOND).mr

    assert not plan_linear(DIAMOND, _arch(budget), *scheme).streams
    assert plan_linear(DIAMOND, _arch(budget - 1), *scheme).streams


def test_what_streams_has_half_of_the_scratchpad():
    plan = plan_linear(DIAMOND, _arch(65536), Order.DEFAULT, Replacement.BELADY)

    assert {item.tensor for item in plan.streams} == {"x", "b", "c"}
    assert all(item.bytes >= 32768 for item in plan.workspaces)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_pass_takes_a_named_scratchpad(scheme: tuple[Order, Replacement]):
    order, rule = scheme
    module = Module(graph=DIAMOND, arch=_arch(1 << 20))
    item = ScheduleLinear(scratchpad="mp", order=order, replacement=rule)

    plan = item.run(module, Context()).graph_schedule

    assert plan is not None
    assert plan.budget == budgets_of(DIAMOND).mp


def test_a_named_scratchpad_may_be_more_than_there_is():
    module = Module(graph=DIAMOND, arch=_arch(4096))

    with pytest.raises(InfeasibleError, match="mr of diamond is larger than the scratchpad of toy"):
        ScheduleLinear(scratchpad="mr").run(module, Context())
