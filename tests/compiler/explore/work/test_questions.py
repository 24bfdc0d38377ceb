import re
from dataclasses import replace
from pathlib import Path

import pytest

from accnn.backend.load import load_architecture
from accnn.compiler.explore.work.machine import machine_of
from accnn.compiler.explore.work.maker import maker_of
from accnn.compiler.explore.work.networks import read_network_layers
from accnn.compiler.explore.work.outcome import TaskStatus
from accnn.compiler.explore.work.plans import PlanQuestion
from accnn.compiler.stores.store import Store
from accnn.ir.errors import InfeasibleError, InputError, OptionError
from accnn.passes.mapping.recipes.output_stationary import OutputStationary
from tests.exploring import LAYERS, STUDY, small_study, task_of
from tests.questions import Broken, MadeUp

TABLE = (
    "dnn,layer,R,S,P,Q,C,K,N,count\na,x,1,1,4,4,8,8,1,3\na,y,1,1,4,4,8,8,1,2\nb,z,3,3,4,4,8,8,1,1\n"
)


def table(folder: Path) -> str:
    (folder / "layers.csv").write_text(TABLE)
    return "layers.csv"


def test_equal_layers_of_a_table_are_counted(tmp_path: Path):
    network = read_network_layers(f"{table(tmp_path)}#a", tmp_path, None)

    assert [(layer.name, layer.count) for layer in network.layers] == [("a/x", 5)]


def test_a_network_of_the_zoo_is_remembered(tmp_path: Path):
    store = Store(tmp_path / "kept")
    first = read_network_layers("squeezenet1_1", tmp_path, store)

    assert sum(layer.count for layer in first.layers) == 26
    assert len(list((tmp_path / "kept").glob("??/*.layers"))) == 1
    assert read_network_layers("squeezenet1_1", tmp_path, store) == first


@pytest.mark.parametrize(
    ("name", "message"),
    [("none", "no network 'none'"), ("layers.csv#c", "has no network 'c'"), ("x.onnx", "x.onnx")],
)
def test_a_network_that_is_not_there_is_named(tmp_path: Path, name: str, message: str):
    table(tmp_path)

    with pytest.raises(InputError, match=message):
        read_network_layers(name, tmp_path, None)


def test_a_nest_has_the_figures_of_the_cost_model(tmp_path: Path):
    text = STUDY.replace("made up", table(tmp_path)) + '[mapping]\nmapper = "output-stationary"\n'
    study = small_study(tmp_path, text)
    arch = load_architecture("simba")

    parts = list(maker_of(study, None)(arch, "output-stationary"))

    assert [part.count for part in parts] == [5, 1]
    outcome = parts[0].asked.outcome()
    problem = parts[0].asked.job.problem
    cost = problem.cost(OutputStationary().map(problem).nest)
    assert (outcome.status, outcome.cycles) == (TaskStatus.OK, cost.cycles)
    assert (outcome.energy_pj, outcome.offchip_bytes) == (cost.energy_pj, cost.offchip_bytes)


def test_what_a_question_does_not_tell_cannot_be_minimised(tmp_path: Path):
    text = STUDY.replace('objective = "edp"', 'objective = "edp"\nquestion = "plans"')

    with pytest.raises(OptionError, match="plans tell nothing of edp"):
        maker_of(small_study(tmp_path, text), None)


def test_a_plan_spills_less_in_a_larger_scratchpad():
    with pytest.raises(InfeasibleError, match="does not fit"):
        PlanQuestion("resnet50", 2**20).outcome()

    outcome = PlanQuestion("resnet50", 2**22).outcome()
    assert (outcome.status, outcome.spills) == (TaskStatus.OK, 0)
    assert outcome.offchip_bytes == 224 * 224 * 3 + 1000


def test_formulas_and_parameters_reach_the_machine(tmp_path: Path):
    study = small_study(tmp_path)

    machine = machine_of(study, study.space.point((2, 0)))

    assert machine.arch is not None
    assert machine.arch.level("wb").capacity == 8192
    assert machine.arch.fanout("pe").size == 4
    assert machine.arch.level("gb").read_energy > 10
    assert machine.cause == ""


def test_an_array_may_outgrow_the_mesh_of_its_file(tmp_path: Path):
    sizes = STUDY.replace("pe.size = ", "pe.size = [64] # ")
    assert sizes != STUDY
    study = small_study(tmp_path, sizes)

    machine = machine_of(study, study.space.point((0, 0)))

    assert machine.arch is not None, machine.cause
    assert machine.arch.fanout("pe").size == 64


def test_a_machine_that_cannot_be_is_a_point_with_a_cause(tmp_path: Path):
    study = small_study(tmp_path, STUDY.replace("gb.capacity / 32", "gb.capacity / 65536 - 1"))

    machine = machine_of(study, study.space.point((0, 0)))

    assert machine.arch is None
    assert "level.wb.capacity" in machine.cause


def test_a_defect_is_no_verdict_and_tells_where_it_is():
    outcome = task_of(Broken("a")).answer()

    assert outcome.status is TaskStatus.FAILED
    assert re.fullmatch(
        r"ValueError: a defect \(questions\.py, line \d+, in outcome\)", outcome.cause
    )


def test_only_what_is_shown_not_to_fit_is_infeasible():
    simba = load_architecture("simba")
    levels = (replace(x, capacity=65536) if x.name == "gb" else x for x in simba.levels)

    outcome = task_of(MadeUp(LAYERS[0].workload, replace(simba, levels=tuple(levels)))).answer()

    assert (outcome.status, outcome.cause) == (TaskStatus.INFEASIBLE, "nothing fits")
