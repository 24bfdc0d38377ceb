"""The pass in the flow: whole small networks are exact, alone operators are predicted exactly."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from accnn.backend.load import find_source, load_architecture
from accnn.ir.errors import InfeasibleError, OptionError
from accnn.ir.isa.instructions import Unit
from accnn.ir.module import Module
from accnn.ir.resources import Constants
from accnn.passes.base import Context
from accnn.passes.deadline import Deadline
from accnn.passes.manager import run_pipeline
from accnn.passes.pipeline import Pipeline
from accnn.passes.scheduling.flexer.candidate import SearchOutcome
from accnn.passes.scheduling.flexer.options import FlexerOptions
from accnn.passes.scheduling.flexer.schedule_flexer import ScheduleFlexer
from accnn.passes.scheduling.flexer.search.search import Search
from accnn.passes.scheduling.flexer.side_by_side import search_all
from accnn.passes.scheduling.flexer.site import Site
from accnn.passes.scheduling.map_operators import MapOperators
from accnn.passes.scheduling.schedule_in_order import ScheduleInOrder
from tests.elsewhere import Elsewhere
from tests.flow import compile_graph
from tests.networks import residual_network
from tests.passes.scheduling.flexer.sites import alone, convolution, machine, site
from tests.thinned import thinned
from tests.tiles import tiles_of


@pytest.mark.parametrize(
    ("arch", "budget"), [*thinned(["flexer-arch1", "flexer-arch5"], [None, 8192])]
)
def test_a_network_is_exact(arch: str, budget: int | None):
    compiled = compile_graph(*residual_network(10), arch, budget=budget, tiles="flexer")

    tiles_of(compiled.module).verify()
    assert compiled.wrong(compiled.run(detect_races=True)) == []


def test_machines_without_weights_in_the_scratchpad_keep_the_static_order():
    compiled = compile_graph(*residual_network(), "simba", tiles="flexer")

    assert {item.scheduler for item in tiles_of(compiled.module).alone} == {"static"}
    assert compiled.wrong(compiled.run()) == []


def test_npus_of_different_size_share_the_work():
    arch = machine(65536)
    slow = tuple(
        replace(npu, sizes=(("column", 8),)) if number == 0 else npu
        for number, npu in enumerate(arch.npus)
    )
    module = _scheduled(alone(convolution(14, 64, 128, 3), replace(arch, npus=slow)))
    schedule = tiles_of(module)
    schedule.verify()
    work = [0] * 4
    for event in schedule.events:
        if event.unit is Unit.MX:
            nest = schedule.graph.ops[event.subject].nests[event.index]
            work[event.index] += schedule.graph.nests[nest].workload.macs

    assert 0 < work[0] < min(work[1:])


UNEQUAL = """
[[npu]]
name = "big"

[[npu]]
name = "small"
sizes = { row = 16, column = 8 }
"""


@pytest.mark.parametrize("budget", [*thinned([8192, None])])
def test_a_network_on_npus_of_different_size_is_exact(tmp_path: Path, budget: int | None):
    text = find_source("flexer-arch1").text
    path = tmp_path / "unequal.toml"
    path.write_text(re.sub(r"\[npus\]\ncount = 2.*\n", UNEQUAL, text))
    compiled = compile_graph(*residual_network(10), str(path), budget=budget, tiles="flexer")

    assert [npu.name for npu in load_architecture(str(path)).npus] == ["big", "small"]
    tiles_of(compiled.module).verify()
    assert compiled.wrong(compiled.run(detect_races=True)) == []


@pytest.mark.parametrize("left", [*thinned([(0, 3), ()])])
def test_who_searches_changes_nothing(left: tuple[int, ...], monkeypatch: pytest.MonkeyPatch):
    """What helpers leave is searched here, and nothing twice."""
    graph, data = residual_network(10)
    steps = Pipeline((ScheduleInOrder(), MapOperators(mapper="output-stationary")))
    arch = load_architecture("flexer-arch1")
    module = run_pipeline(steps, Module(graph=graph, arch=arch, constants=Constants(data))).module
    scheduler = ScheduleFlexer(steps=50)
    alone = scheduler.run(module, Context()).tile_schedule
    here = counted(monkeypatch)
    helpers = Elsewhere(left)

    helped = scheduler.run(module, Context(helpers=helpers)).tile_schedule

    assert helped == alone
    assert helpers.asked >= 4
    assert len(here) == helpers.asked


def counted(monkeypatch: pytest.MonkeyPatch) -> list[Site]:
    """Return the operators that are searched, as that goes."""
    found: list[Site] = []
    run = Search.run

    def noting(search: Search) -> SearchOutcome:
        found.append(search.site)
        return run(search)

    monkeypatch.setattr(Search, "run", noting)
    return found


def test_helpers_begin_no_search_once_the_deadline_is_over():
    sites = [site(convolution(7, 32, 32, 1), machine(16384))] * 4

    found = search_all(
        sites, FlexerOptions(), "output-stationary", helpers := Elsewhere(), Deadline.after(0.0)
    )

    assert helpers.asked == 4
    assert found == (None,) * 4


def test_the_same_decisions_serve_equal_operators():
    context = Context()
    module = alone(convolution(7, 32, 32, 1), machine(16384))
    first = ScheduleFlexer().run(_mapped(module), context)
    again = ScheduleFlexer().run(_mapped(module), Context())

    assert first.tile_schedule == again.tile_schedule
    assert dict(context.counters.values)["distinct operators"] == 1


def test_a_workspace_below_one_operation_is_infeasible():
    module = _mapped(alone(convolution(7, 32, 32, 1), machine(16384)))
    plan = module.graph_schedule
    assert plan is not None
    tiny = replace(plan, workspaces=(replace(plan.workspaces[0], bytes=40),))

    with pytest.raises(InfeasibleError, match="do not fit together"):
        ScheduleFlexer().run(replace(module, graph_schedule=tiny), Context())


def test_options_out_of_range_are_rejected():
    with pytest.raises(OptionError, match="weight is 3"):
        ScheduleFlexer(weight=3.0)
    with pytest.raises(OptionError, match="steps_in_order is -1"):
        ScheduleFlexer(steps_in_order=-1)


def test_every_machine_of_the_paper_loads():
    capacities = [
        load_architecture(f"flexer-arch{k}").scratchpad_level.capacity for k in range(1, 9)
    ]

    np.testing.assert_array_equal(np.array(capacities) // 1024, [256, 256, 512, 512] * 2)


def _mapped(module: Module) -> Module:
    return MapOperators(mapper="output-stationary").run(module, Context())


def _scheduled(module: Module) -> Module:
    return ScheduleFlexer(steps=500).run(_mapped(module), Context())
