from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accnn.backend.load import load_architecture
from accnn.ir.arch import Architecture, MemoryLevel
from accnn.ir.errors import InfeasibleError, OptionError
from accnn.ir.graph import Graph, Op, Value
from accnn.ir.graph_schedule import SolveStatus
from accnn.ir.module import Module
from accnn.ir.proof import Scope
from accnn.ir.types import DType, TensorType
from accnn.ir.workload import OPERANDS, Operand
from accnn.models.graphs import densenet121, nasnet_a, resnet50
from accnn.passes.base import Context
from accnn.passes.scheduling.check import check_schedule
from accnn.passes.scheduling.cosma import solve
from accnn.passes.scheduling.cosma.baselines import Replacement, schedule_linear
from accnn.passes.scheduling.cosma.budgets import budgets_of, parse_budget
from accnn.passes.scheduling.cosma.problem import problem_of
from accnn.passes.scheduling.cosma.schedule import Cosma
from accnn.passes.scheduling.cosma.solve import CosmaOptions, PlanEngine, PlanOrder
from accnn.passes.scheduling.cosma.traffic.streaming import analytic_traffic
from accnn.passes.scheduling.schedule_cosma import ScheduleCosma
from tests.networks import NetworkBuilder
from tests.thinned import examples


def _tensor(name: str, size: int) -> Value:
    return Value(name, TensorType(DType.U8, (size,)))


def _op(result: str, size: int, *operands: str) -> Op:
    return Op(kind="work", operands=operands, results=(_tensor(result, size),))


def _arch(size: int, *, weights: bool = False) -> Architecture:
    return Architecture(
        name="toy",
        levels=(
            MemoryLevel(name="dram", holds=OPERANDS, capacity=None),
            MemoryLevel(
                name="gb", holds=OPERANDS if weights else (Operand.I, Operand.O), capacity=size
            ),
            MemoryLevel(name="wb", holds=(Operand.W,), capacity=64),
        ),
        scratchpad="gb",
    )


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    size = st.integers(1, 400)
    names = ["x", "w"]
    ops: list[Op] = []
    for index in range(draw(st.integers(1, 7))):
        operands = draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True))
        ops.append(_op(f"t{index}", draw(size), *operands))
        names.append(f"t{index}")
    read = {name for op in ops for name in op.inputs}
    return Graph(
        name="random",
        inputs=(_tensor("x", draw(size)),),
        constants=(_tensor("w", draw(size)),),
        ops=tuple(ops),
        outputs=tuple(op.name for op in ops if op.name not in read),
    )


@settings(max_examples=examples(60), deadline=None)
@given(graphs(), st.integers(0, 300), st.booleans())
def test_plans_pass_the_checker_at_the_cost_they_claim(graph: Graph, extra: int, parameters: bool):
    budget = budgets_of(graph, include_parameters=parameters).mr + extra
    arch = _arch(budget, weights=parameters)

    plan = Cosma(arch=arch, include_parameters=parameters, streaming=False).plan(graph)

    account = check_schedule(graph, plan, arch)
    assert account.total == plan.objective >= plan.bound
    assert not plan.streams


@settings(max_examples=examples(60), deadline=None)
@given(graphs(), st.integers(300, 3000))
def test_streaming_plans_pass_the_checker(graph: Graph, budget: int):
    arch = _arch(budget)

    plan = Cosma(arch=arch).plan(graph)

    account = check_schedule(graph, plan, arch)
    assert account.total <= plan.objective
    assert plan.bound <= plan.objective


@settings(max_examples=examples(40), deadline=None)
@given(graphs(), st.integers(0, 100), st.sampled_from(tuple(Replacement)))
def test_baselines_pass_the_checker_and_cost_no_less(graph: Graph, extra: int, rule: Replacement):
    budgets = budgets_of(graph)
    problem = problem_of(graph, budgets.mr + extra)

    for order in (tuple(range(len(graph.ops))), budgets.order):
        plan = schedule_linear(problem, order, rule)
        account = check_schedule(graph, plan)
        assert account.total == plan.objective
        best = Cosma(arch=_arch(problem.budget), streaming=False).plan(graph)
        assert best.bound <= plan.objective


@pytest.mark.parametrize("network", [densenet121, nasnet_a])
@pytest.mark.parametrize("budget", ["mr", "mh", "mp"])
def test_networks_are_proven_optimal(network: Callable[[], Graph], budget: str):
    graph = network()
    arch = _arch(1 << 30)

    plan = Cosma(arch=arch, budget=parse_budget(budget, graph), streaming=False).plan(graph)

    account = check_schedule(graph, plan, arch)
    assert plan.status is SolveStatus.OPTIMAL
    assert plan.objective == plan.bound == account.total
    assert (account.non_compulsory == 0) == (budget == "mp")


def test_every_engine_gives_the_same_figure():
    graph = resnet50()
    budgets = budgets_of(graph, include_parameters=True)
    arch = _arch(1 << 30, weights=True)

    figures = {
        Cosma(
            arch=arch,
            budget=budgets.mr,
            include_parameters=True,
            streaming=False,
            options=CosmaOptions(engine=engine),
        )
        .plan(graph)
        .objective
        for engine in (PlanEngine.AUTO, PlanEngine.SEARCH, PlanEngine.ILP)
    }

    assert len(figures) == 1


def test_the_literal_engine_solves_a_small_graph():
    graph = Graph(
        name="diamond",
        inputs=(_tensor("x", 4),),
        constants=(),
        ops=(_op("a", 3, "x"), _op("b", 2, "a"), _op("c", 2, "a"), _op("d", 1, "b", "c")),
        outputs=("d",),
    )
    options = CosmaOptions(engine=PlanEngine.LITERAL)

    plan = Cosma(arch=_arch(7), streaming=False, options=options).plan(graph)

    assert plan.status is SolveStatus.OPTIMAL
    assert check_schedule(graph, plan).non_compulsory == 0
    with pytest.raises(OptionError, match="knows no streaming"):
        Cosma(arch=_arch(7), options=options).plan(graph)


def test_the_same_seed_gives_the_same_plan():
    graph = resnet50()
    arch = _arch(1 << 17)

    assert Cosma(arch=arch).plan(graph) == Cosma(arch=arch).plan(graph)


def test_a_budget_below_one_operator_names_what_does_not_fit():
    graph = resnet50()

    with pytest.raises(InfeasibleError, match=r"needs 2408448 byte \(conv2d_\d+ \d+ \+ .*short of"):
        Cosma(arch=_arch(2_408_447), streaming=False).plan(graph)


def test_budgets_are_read_from_text():
    graph = resnet50()

    assert parse_budget("mr", graph) == 2_408_448
    assert parse_budget("4096", graph) == 4096
    for text in ("m", "-1", "0", "1.5"):
        with pytest.raises(OptionError, match="is no budget"):
            parse_budget(text, graph)


def test_parameters_have_budgets_of_their_own():
    graph = resnet50()

    with_parameters = budgets_of(graph, include_parameters=True)

    assert with_parameters.mr > budgets_of(graph).mr
    assert with_parameters.mh == (with_parameters.mr + with_parameters.mp) // 2
    assert replace(with_parameters, order=()).proven


def test_a_fixed_order_is_run_and_costs_no_less():
    graph = nasnet_a()
    budgets = budgets_of(graph)
    names = [op.name for op in graph.ops]
    wanted = {PlanOrder.GIVEN: names, PlanOrder.MPMF: [names[op] for op in budgets.order]}
    arch = _arch(budgets.mh)

    moved = {}
    for order in PlanOrder:
        options = CosmaOptions(order=order)
        plan = Cosma(arch=arch, streaming=False, options=options).plan(graph)
        moved[order] = check_schedule(graph, plan).non_compulsory
        assert list(plan.order) == wanted.get(order, list(plan.order))
        assert plan.status is SolveStatus.OPTIMAL

    assert moved[PlanOrder.FREE] <= moved[PlanOrder.MPMF] < moved[PlanOrder.GIVEN]


def test_a_fixed_order_may_stream():
    graph = resnet50()
    options = CosmaOptions(order=PlanOrder.GIVEN)

    plan = Cosma(arch=_arch(200_000), options=options).plan(graph)

    check_schedule(graph, plan)
    assert plan.streams
    assert list(plan.order) == [op.name for op in graph.ops]


@pytest.mark.parametrize("latency", [0.0, 0.5])
def test_plans_of_the_traffic_model_are_proven_among_such(latency: float):
    """The weight of cycles counts for measured plans only."""
    graph, arch = resnet50(), load_architecture("simba")

    plan = Cosma(arch=arch, latency=latency).plan(graph)

    check_schedule(graph, plan, arch)
    assert plan.streams
    assert (plan.status, plan.scope) == (SolveStatus.OPTIMAL, Scope.TRAFFIC_MODEL)
    assert plan.objective == plan.bound


def test_without_streaming_constants_that_pass_the_scratchpad_must_be_planned() -> None:
    graph = Graph(
        name="one",
        inputs=(_tensor("x", 8),),
        constants=(_tensor("w", 8),),
        ops=(_op("y", 8, "x", "w"),),
        outputs=("y",),
    )
    module = Module(graph=graph, arch=_arch(64, weights=True))

    with pytest.raises(OptionError, match="without streaming %w cannot pass gb") as caught:
        ScheduleCosma(streaming=False).run(module, Context())
    planned = ScheduleCosma(streaming=False, parameters=True).run(module, Context())

    assert caught.value.hint is not None and "parameters=true" in caught.value.hint
    assert planned.graph_schedule is not None
    assert planned.graph_schedule.status is SolveStatus.OPTIMAL


def test_only_bytes_that_are_proven_are_worth_a_program(monkeypatch: pytest.MonkeyPatch):
    """A program takes minutes, and what it proves of estimated bytes holds for no measured ones."""
    net = NetworkBuilder()
    x = net.input("x", (1, 16, 28, 28))
    first = net.conv(x, "a", 16, 3)
    second = net.conv(first, "b", 16, 3)
    graph, arch = net.build(net.conv(second, "c", 16, 3)), load_architecture("simba")
    asked: list[str] = []
    monkeypatch.setattr(solve, "_relax_by_program", lambda *_: asked.append("program"))
    options = CosmaOptions(search_nodes=1)
    exact = analytic_traffic(graph, arch, 20_000)

    Cosma(arch=arch, budget=20_000, options=options).measured(graph, exact)
    measured = len(asked)
    Cosma(arch=arch, budget=20_000, options=options).plan(graph)

    assert (measured, len(asked)) == (0, 1)
