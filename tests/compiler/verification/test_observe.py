"""Programs that store every tensor."""

from accnn.compiler.verification.observe import observed
from accnn.ir.graph_schedule import Group
from tests.flow import compile_graph
from tests.networks import residual_network
from tests.passes.tiling.groups.fused import compile_fused, shortcut
from tests.tiles import tiles_of


def test_every_result_is_stored_once():
    plain = compile_graph(*residual_network(), "edge-1m", all_off_chip=False)
    module = observed(plain.module)
    plan = module.graph_schedule
    assert plan is not None

    stored = [item.tensor for item in plan.stores]
    streamed = {item.tensor for item in plan.streams}
    assert len(stored) == len(set(stored))
    assert set(stored) | streamed >= {op.name for op in module.graph.ops}
    plan.verify()


def test_nothing_else_changes():
    plain = compile_graph(*residual_network(), "edge-1m", all_off_chip=False)
    module = observed(plain.module)

    assert tiles_of(module).graph.ops == tiles_of(plain.module).graph.ops
    assert module.graph == plain.module.graph
    assert observed(module) == module


def test_a_group_stores_all_its_results():
    graph, data = shortcut()
    plain = compile_fused(graph, data, "simba", (Group(members=("c", "sum", "a"), rows=2),))
    plan, seen = plain.module.graph_schedule, observed(plain.module).graph_schedule
    assert plan is not None
    assert seen is not None

    assert plan.resident("sum", plan.step_of["a"]) is not None
    added = [item.tensor for item in seen.stores if item not in plan.stores]
    assert {"a", "sum"} <= set(added)
    assert "c" not in added
