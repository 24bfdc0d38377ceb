"""Explanations: their text, and that every what-if is what a compilation for that machine takes.

``pytest tests/compiler/explain --update-golden`` writes the texts anew.
"""

from dataclasses import replace
from pathlib import Path

import onnx
import pytest

import accnn
from accnn.backend.load import load_architecture
from accnn.compiler.driver import Result
from accnn.compiler.explain import explaining
from accnn.compiler.explain.alone import OperatorCost, cut_out
from accnn.compiler.explain.changes import machine_changes
from accnn.compiler.explain.explaining import explain
from accnn.compiler.explain.explanation import Explanation
from accnn.compiler.explain.names import check_name, find_operator
from accnn.compiler.explain.words import explained
from accnn.compiler.options import CompileOptions
from accnn.ir.arch import FanoutGroup
from accnn.ir.errors import InfeasibleError, OptionError
from accnn.models.onnx_import.loading.nodes import network_nodes, nodes_of_file
from tests.compiler.cli.nets import tiny
from tests.test_docs_compiling import residual

TEXTS = Path(__file__).parent / "texts"
GREEDY = CompileOptions(mapper="output-stationary", scheduler="in-order", cache=None)
FUSING = CompileOptions(mapper="output-stationary", cache=None, processes=1)
LITTLE = replace(GREEDY, scratchpad="1K")


def compiled(model: onnx.ModelProto, arch: str, options: CompileOptions = GREEDY) -> Result:
    return accnn.compile(model, arch=arch, options=options)


@pytest.fixture(scope="module")
def blocks() -> Result:
    return compiled(residual(), "simba")


@pytest.fixture(scope="module")
def single() -> Result:
    return compiled(tiny(), "edge-fp32")


@pytest.fixture(scope="module")
def conv(single: Result) -> Explanation:
    return explain(single, "conv")


@pytest.fixture(scope="module")
def f(blocks: Result) -> Explanation:
    return explain(blocks, "f")


@pytest.mark.parametrize("name", ["conv", "f"])
def test_the_text_is_as_written(name: str, request: pytest.FixtureRequest) -> None:
    text = explained(request.getfixturevalue(name))
    path = TEXTS / f"{name}.txt"
    if request.config.getoption("--update-golden"):
        path.write_text(f"{text}\n", encoding="utf-8")

    assert f"{text}\n" == path.read_text(encoding="utf-8")


@pytest.fixture
def one_what_if(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other machines are not looked at: one of them has to do."""
    monkeypatch.setattr(explaining, "machine_changes", lambda arch: machine_changes(arch)[:1])


@pytest.mark.usefixtures("one_what_if")
def test_a_node_that_was_folded_is_answered_with_the_operator_that_computes_it() -> None:
    result = compiled(tiny(), "simba")
    assert [op.kind for op in result.module.graph.ops].count("relu") == 0

    found = explain(result, "last")

    assert found.folded == "last"
    assert "conv" in found.nodes
    assert "it computes ONNX node last, too" in explained(found)
    assert explain(result, "conv").folded == ""


@pytest.mark.parametrize("wanted", ["conv", "y", "c", "x", "y_QuantizeLinear_Output", "c.q"])
def test_what_may_be_an_operator_is_not_refused_before_compiling(wanted: str) -> None:
    check_name(network_nodes(tiny()), wanted)


@pytest.mark.parametrize("wanted", ["cnov", "relu", "", "yy"])
def test_what_no_operator_is_called_is_refused_before_compiling(wanted: str) -> None:
    with pytest.raises(OptionError, match="no operator or ONNX node"):
        check_name(network_nodes(tiny()), wanted)


def test_a_file_that_is_no_network_has_no_nodes(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("buy milk")

    assert nodes_of_file(path) == nodes_of_file(tmp_path / "none.onnx") == ()
    check_name((), "anything")


@pytest.mark.parametrize(
    "options",
    [pytest.param(GREEDY, marks=pytest.mark.slow, id="whole"), pytest.param(LITTLE, id="budget")],
)
def test_each_what_if_is_what_compiling_for_that_machine_takes(options: CompileOptions) -> None:
    result = compiled(tiny(), "edge-fp32", options)

    found = explain(result, "conv")

    machines = {change.what: change for change in machine_changes(result.arch)}
    assert {item.what for item in found.what_ifs} == machines.keys()
    assert len(machines) >= 10
    for item in found.what_ifs:
        scratchpad = 2048 if options.scratchpad and item.what == "gb.capacity" else None
        own = options if scratchpad is None else replace(options, scratchpad=scratchpad)
        totals = accnn.compile(tiny(), arch=machines[item.what].arch, options=own).report.totals
        assert item.cost is not None
        assert (item.cost.cycles, item.cost.energy_pj, item.cost.offchip_bytes) == (
            totals.cycles_simulated,
            totals.energy_pj,
            totals.offchip_bytes,
        ), item.what


def test_the_operator_by_itself_is_a_network_of_its_own(single: Result, conv: Explanation) -> None:
    totals = single.report.totals

    assert conv.alone == OperatorCost(
        totals.cycles_simulated or 0, totals.energy_pj or 0.0, totals.offchip_bytes or 0
    )
    assert conv.cycles_lower_bound == totals.cycles_lower_bound
    assert conv.compulsory_bytes == totals.offchip_bytes_compulsory


def test_what_ifs_stand_in_the_order_of_cycles(f: Explanation) -> None:
    cycles = [item.cost.cycles for item in f.what_ifs if item.cost is not None]
    assert cycles == sorted(cycles)
    assert cycles[0] < f.alone.cycles


def test_one_number_differs_and_the_rules_hold() -> None:
    arch = load_architecture("simba")
    changes = machine_changes(arch)

    for change in changes:
        change.arch.verify()
        assert change.arch != arch
        assert change.after == 2 * change.before
    assert {"gb.capacity", "dram.read_bandwidth", "pe.size", "vector.lanes"} <= {
        change.what for change in changes
    }
    limited = replace(arch, groups=(FanoutGroup(fanouts=("nothing",), limit=1),))
    assert machine_changes(limited) == ()


def test_a_machine_that_is_too_small_has_a_reason(
    single: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = explaining.run_alone

    def refuse(module, members, arch, options):
        if arch.vector.lanes != load_architecture("edge-fp32").vector.lanes:
            raise InfeasibleError("nothing fits")
        return real(module, members, arch, options)

    monkeypatch.setattr(explaining, "run_alone", refuse)
    found = explain(single, "conv")

    last = found.what_ifs[-1]
    assert (last.what, last.cost, last.reason) == ("vector.lanes", None, "nothing fits")
    assert "  vector.lanes 16 -> 32: cannot be compiled: nothing fits\n" in explained(found)


def test_operators_are_found_by_every_name(blocks: Result) -> None:
    step = find_operator(blocks.module, "f")

    assert step.nodes == ("f",)
    assert find_operator(blocks.module, step.name) == step
    assert find_operator(blocks.module, step.members[0]) == step


def test_a_tensor_of_a_node_without_a_name_means_what_computes_it(blocks: Result) -> None:
    nodes = blocks.network.nodes
    assert not any(node.name for node in nodes)
    with pytest.raises(OptionError, match="no operator or ONNX node 'a'"):
        find_operator(blocks.module, "a")

    found = find_operator(blocks.module, "a", nodes)

    assert (found.folded, found.members) == ("a", find_operator(blocks.module, "b", nodes).members)


def test_members_of_a_group_mean_the_group() -> None:
    module = compiled(residual(8), "simba", replace(FUSING, until="schedule-cosma")).module
    assert module.graph_schedule is not None
    (group, *_) = module.graph_schedule.groups_by_name.values()

    found = {find_operator(module, name) for name in group.members}

    assert {step.name for step in found} == {group.name}
    part = cut_out(module.graph, group.members)
    part.verify()
    assert [op.name for op in part.ops] == list(group.members)
    assert part.outputs[-1] == group.name


def test_a_wrong_name_is_answered_with_the_nearest(blocks: Result) -> None:
    with pytest.raises(
        OptionError, match="no operator or ONNX node 'f_QuantizeLinear_Outptu'"
    ) as told:
        find_operator(blocks.module, "f_QuantizeLinear_Outptu")

    assert "did you mean" in str(told.value)
    assert "f_QuantizeLinear_Output" in str(told.value)


def test_a_node_that_became_several_operators_is_told(single: Result) -> None:
    module = single.module
    op = module.graph.ops[0]
    twin = replace(op, results=(replace(op.result, name="twin"),))
    graph = replace(module.graph, ops=(op, twin))
    assert module.graph_schedule is not None
    plan = replace(module.graph_schedule, order=(op.name, "twin"))

    with pytest.raises(OptionError, match="ONNX node 'conv' became 2 operators") as told:
        find_operator(replace(module, graph=graph, graph_schedule=plan), "conv")

    assert told.value.hint == f"name one: {op.name}, twin"


def test_what_was_not_scheduled_is_not_explained() -> None:
    result = compiled(tiny(), "edge-fp32", replace(GREEDY, until="map-operators"))

    with pytest.raises(OptionError, match="there is no tile schedule to explain"):
        accnn.explain(result, "conv")


@pytest.mark.usefixtures("one_what_if")
def test_why_a_step_is_not_fused_is_told_where_groups_were_asked_for(f: Explanation) -> None:
    fused = compiled(residual(8), "edge-1m", FUSING)
    plan = fused.module.graph_schedule
    assert plan is not None and len(plan.order) > 1
    first, second = plan.order[:2]

    found = explain(fused, first)

    assert [(item.neighbour, item.is_after) for item in found.borders] == [(second, True)]
    assert f"It is not fused with {second} behind it: " in explained(found)
    assert f.borders == ()
