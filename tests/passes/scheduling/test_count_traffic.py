"""Whoever plans the scratchpad, the plan tells the bytes that the simulator counts."""

from dataclasses import replace

import pytest

from accnn.compiler.pipelines import GRAPH_SCHEDULERS
from accnn.ir.graph_schedule import SolveStatus
from accnn.passes.base import Context
from accnn.passes.scheduling.check import check_schedule
from accnn.passes.scheduling.count_traffic import CountTraffic
from tests.flow import Compiled, compile_graph
from tests.networks import residual_network
from tests.thinned import thinned


def _compiled(scheduler: str, budget: int | None) -> Compiled:
    graph, data = residual_network(10)
    return compile_graph(
        graph, data, "simba", budget=budget, scheduler=scheduler, all_off_chip=False
    )


@pytest.mark.parametrize(
    ("scheduler", "budget"), [*thinned([*GRAPH_SCHEDULERS], [None, 4096, 2048], one_in=3)]
)
def test_the_bytes_of_a_plan_are_those_of_the_simulator(scheduler: str, budget: int | None):
    found = _compiled(scheduler, budget)
    plan = found.module.graph_schedule

    assert plan is not None
    assert plan.objective == found.run().total.off_chip_bytes
    check_schedule(found.module.graph, plan, found.module.arch)


def test_a_plan_of_inputs_and_outputs_alone_is_optimal():
    plan = _compiled("in-order", None).module.graph_schedule

    assert plan is not None
    assert plan.status is SolveStatus.OPTIMAL
    assert plan.bound == plan.objective


def test_a_plan_that_streams_more_is_not():
    plan = _compiled("in-order", 2048).module.graph_schedule

    assert plan is not None
    assert plan.status is SolveStatus.HEURISTIC
    assert plan.bound < plan.objective


def test_counting_twice_is_counting_once():
    module = _compiled("in-order", 2048).module

    assert CountTraffic().run(module, Context()) is module


def test_a_claim_about_other_bytes_is_taken_back():
    module = _compiled("in-order", 2048).module
    plan = module.graph_schedule
    assert plan is not None
    claimed = replace(plan, objective=1, bound=1, status=SolveStatus.OPTIMAL)

    counted = CountTraffic().run(replace(module, graph_schedule=claimed), Context())

    assert counted.graph_schedule == replace(plan, status=SolveStatus.FEASIBLE)
