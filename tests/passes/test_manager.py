from pathlib import Path

import numpy as np
import pytest

from accnn.ir.errors import InfeasibleError, PassError, PipelineError, VerifyError
from accnn.ir.module import Module, Stage
from accnn.ir.resources import Constants
from accnn.ir.text.parser import parse_module
from accnn.passes.base import Context
from accnn.passes.header import Header, read_header
from accnn.passes.instrument import (
    PrintAfter,
    ReportProgress,
    Timing,
    WriteReproducer,
)
from accnn.passes.manager import run_pipeline
from accnn.passes.pipeline import Pipeline, parse_pipeline

from .sample_passes import (
    SAMPLES,
    BreakThings,
    DropOutputs,
    GivePlan,
    NeedPlan,
    RenameGraph,
    TuneAll,
)

TEXT = """
graph net {
  input %x : f32<1x2>
  const %b : f32<1x2>
  %y = add(%x, %b) : f32<1x2>
  return %y
}
"""
MODULE = parse_module(TEXT)


def test_runs_passes_in_order_and_tells_what_they_did() -> None:
    outcome = run_pipeline(Pipeline((TuneAll(), RenameGraph(to="b"), RenameGraph(to="b"))), MODULE)

    assert outcome.module.graph.name == "b"
    assert [record.text for record in outcome.records] == [
        "tune-all",
        "rename-graph{to=b}",
        "rename-graph{to=b}",
    ]
    assert [record.changed for record in outcome.records] == [False, True, False]
    assert [record.counters for record in outcome.records] == [
        (("seen", 1),),
        (("renamed", 1),),
        (),
    ]


def test_no_pass_returns_the_same_module() -> None:
    assert run_pipeline(Pipeline(()), MODULE).module is MODULE


def test_a_bad_pipeline_runs_nothing() -> None:
    seen: list[str] = []
    watch = ReportProgress(lambda item, number, total: seen.append(item.name))

    with pytest.raises(PipelineError):
        run_pipeline(Pipeline((TuneAll(), NeedPlan())), MODULE, instruments=[watch])

    assert seen == []


def test_an_invalid_module_is_refused() -> None:
    broken = DropOutputs().run(MODULE, Context())

    with pytest.raises(VerifyError, match="net has no output"):
        run_pipeline(Pipeline((TuneAll(),)), broken)


class TestStages:
    def test_what_is_derived_from_a_new_graph_is_dropped(self) -> None:
        outcome = run_pipeline(Pipeline((GivePlan(), RenameGraph())), MODULE)

        assert outcome.module.stages == {Stage.GRAPH, Stage.MAPPINGS}  # of no operator

    def test_what_did_not_change_keeps_what_is_derived_from_it(self) -> None:
        outcome = run_pipeline(Pipeline((GivePlan(), RenameGraph(to="net"))), MODULE)

        kept = {Stage.GRAPH, Stage.GRAPH_SCHEDULE, Stage.MAPPINGS}
        assert outcome.module.stages == kept

    def test_a_broken_promise(self) -> None:
        pipeline = Pipeline((GivePlan(), GivePlan(honest=False)))

        with pytest.raises(PassError, match="declares to give graph_schedule, and did not"):
            run_pipeline(pipeline, MODULE)

    def test_an_undeclared_change(self) -> None:
        with pytest.raises(PassError, match="pass 1, break-things: it changed graph, which it"):
            run_pipeline(Pipeline((BreakThings(how="undeclared"),)), MODULE)


class TestVerifyEach:
    def test_names_the_pass_that_leaves_an_invalid_module(self) -> None:
        pipeline = Pipeline((TuneAll(), DropOutputs()))

        with pytest.raises(PassError, match="pass 2, drop-outputs: the module is not valid after"):
            run_pipeline(pipeline, MODULE)

    def test_can_be_switched_off(self) -> None:
        outcome = run_pipeline(Pipeline((DropOutputs(),)), MODULE, verify_each=False)

        assert outcome.module.graph.outputs == ()


class TestFailures:
    def test_a_crash_is_a_pass_error_with_its_cause(self) -> None:
        with pytest.raises(PassError, match="pass 1, break-things: KeyError: 'oops'") as caught:
            run_pipeline(Pipeline((BreakThings(),)), MODULE)

        assert isinstance(caught.value.__cause__, KeyError)

    def test_infeasible_stays_what_it_is(self) -> None:
        with pytest.raises(InfeasibleError, match="nothing fits"):
            run_pipeline(Pipeline((BreakThings(how="infeasible"),)), MODULE)


class TestReproducer:
    def test_runs_again_from_the_file(self, tmp_path: Path) -> None:
        path = tmp_path / "reproducer.ir"
        data = Constants({"b": np.ones((1, 2), np.float32)})
        module = parse_module(TEXT, constants=data)
        pipeline = Pipeline((RenameGraph(), BreakThings(how="crash")))

        with pytest.raises(PassError, match=f"hint: to reproduce: acc-opt {path}"):
            run_pipeline(pipeline, module, Context(seed=7), instruments=[WriteReproducer(path)])

        text = path.read_text()
        header = read_header(text)
        assert header == Header(pipeline="break-things", seed=7, constants="reproducer.safetensors")
        assert "// fails with KeyError: 'oops'" in text
        again = parse_module(text, constants=Constants.load(tmp_path / "reproducer.safetensors"))
        assert again == RenameGraph().run(module, Context())
        with pytest.raises(PassError, match="oops"):
            run_pipeline(parse_pipeline(header.pipeline or "", SAMPLES), again)

    @pytest.mark.parametrize("taken", ["reproducer.ir", "reproducer.safetensors"])
    def test_replaces_no_file(self, tmp_path: Path, taken: str) -> None:
        path = tmp_path / "reproducer.ir"
        (tmp_path / taken).write_text("mine")

        with pytest.raises(PassError, match="acc-opt .*reproducer-2.ir"):
            run_pipeline(Pipeline((BreakThings(),)), MODULE, instruments=[WriteReproducer(path)])

        assert (tmp_path / taken).read_text() == "mine"
        assert (tmp_path / "reproducer-2.ir").is_file()

    def test_no_file_without_a_failure(self, tmp_path: Path) -> None:
        path = tmp_path / "reproducer.ir"

        run_pipeline(Pipeline((RenameGraph(),)), MODULE, instruments=[WriteReproducer(path)])

        assert list(tmp_path.iterdir()) == []

    def test_a_folder_that_is_not_there(self, tmp_path: Path) -> None:
        path = tmp_path / "missing" / "reproducer.ir"

        with pytest.raises(PassError, match="oops'\n  hint: no reproducer: .*No such file"):
            run_pipeline(Pipeline((BreakThings(),)), MODULE, instruments=[WriteReproducer(path)])


class TestInstruments:
    def test_print_after_one(self) -> None:
        printed: list[str] = []
        watch = PrintAfter(printed.append, frozenset({"rename-graph"}))

        run_pipeline(Pipeline((TuneAll(), RenameGraph())), MODULE, instruments=[watch])

        (text,) = printed
        assert text.startswith("// after rename-graph (2/2)\ngraph renamed {\n")

    def test_print_after_all(self) -> None:
        printed: list[str] = []

        run_pipeline(
            Pipeline((TuneAll(), RenameGraph())), MODULE, instruments=[PrintAfter(printed.append)]
        )

        assert len(printed) == 2

    def test_timing_keeps_what_ran_before_a_failure(self) -> None:
        timing = Timing()

        with pytest.raises(PassError):
            run_pipeline(Pipeline((TuneAll(), BreakThings())), MODULE, instruments=[timing])

        assert [record.name for record in timing.records] == ["tune-all"]
        assert "s  tune-all\n" in timing.table()
        assert timing.table().endswith("s  total\n")

    def test_progress(self) -> None:
        seen: list[tuple[str, int, int]] = []
        watch = ReportProgress(lambda item, number, total: seen.append((item.name, number, total)))

        run_pipeline(Pipeline((TuneAll(), GivePlan())), MODULE, instruments=[watch])

        assert seen == [("tune-all", 1, 2), ("give-plan", 2, 2)]


def test_constants_are_checked_against_the_graph() -> None:
    wrong = Constants({"b": np.ones((2, 2), np.float32)})

    with pytest.raises(VerifyError, match="constant %b is f32<1x2>"):
        run_pipeline(Pipeline(()), parse_module(TEXT, constants=wrong))


def test_modules_differ_by_their_constants() -> None:
    one = Module(graph=MODULE.graph, constants=Constants({"b": np.ones((1, 2), np.float32)}))
    two = Module(graph=MODULE.graph, constants=Constants({"b": np.zeros((1, 2), np.float32)}))

    assert one != two
    assert one == Module(graph=one.graph, constants=Constants(dict(one.constants)))
