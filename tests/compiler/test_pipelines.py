"""The default pipeline: what it makes of graphs that say too much, and what it refuses."""

from pathlib import Path

import pytest

from accnn.compiler.options import CompileOptions
from accnn.compiler.pipelines import chosen_pipeline, default_pipeline, pipeline_text
from accnn.ir.errors import AccnnError, OptionError
from accnn.ir.graph import Attr
from accnn.passes.options import option_fields
from accnn.passes.pipeline import Pipeline
from accnn.passes.registry import PASSES
from tests.flow import compile_graph
from tests.networks import NetworkBuilder, per_tensor


def test_the_graph_is_cleaned_up_and_computes_the_same():
    net = NetworkBuilder()
    x = net.input("x", (1, 8, 10, 10))
    a = net.conv(x, "a", 8, 3)
    same = net.op("reshape", (a,), "same", {"shape": (1, 8, 10, 10)}, per_tensor(0.08, 5))
    pool: dict[str, Attr] = {"kernel": (2, 2), "stride": (2, 2)}
    first = net.op("max_pool", (same,), "first", pool)
    second = net.op("max_pool", (a,), "second", pool)
    net.conv(first, "unread", 8, 1)
    y = net.op("add", (first, second), "y", quant=per_tensor(0.1, 1))

    compiled = compile_graph(net.build(y), net.data, "simba")

    assert [op.name for op in compiled.module.graph.ops] == ["a", "first", "y"]
    assert compiled.wrong(compiled.run()) == []


@pytest.mark.parametrize("mapper", ["cosa", "salsa"])
def test_other_mappers_compile_what_is_equal_to_the_reference(mapper: str):
    net = NetworkBuilder()
    x = net.input("x", (1, 8, 10, 10))
    y = net.conv(net.conv(x, "a", 24, 3), "y", 12, 3, stride=2)

    compiled = compile_graph(net.build(y), net.data, "simba", budget=4096, mapper=mapper)

    assert compiled.wrong(compiled.run(detect_races=True)) == []


def test_what_does_not_exist_is_refused():
    with pytest.raises(OptionError, match="no mapper named 'magic'"):
        default_pipeline(CompileOptions(mapper="magic"))
    with pytest.raises(OptionError, match="no scheduler named 'magic'"):
        default_pipeline(CompileOptions(scheduler="magic"))


def test_a_pipeline_replaces_what_options_choose():
    text = "fold-affine,schedule-in-order,map-operators{mapper=salsa},schedule-tiles"

    assert str(chosen_pipeline(CompileOptions(pipeline=text))) == text


@pytest.mark.parametrize("item", PASSES, ids=lambda item: item.name)
def test_every_option_of_every_pass_can_be_set(item):
    pipeline = Pipeline((item(),))

    for option in option_fields(item):
        text = option.print(option.default)
        assert pipeline.with_setting(f"{item.name}.{option.name}={text}") == pipeline


def test_a_setting_changes_every_pass_of_the_name():
    settings = ("schedule-cosma.rounds=3", "schedule-cosma.latency=1", "map-operators.mapper=loma")

    found = str(chosen_pipeline(CompileOptions(settings=settings)))

    assert "schedule-cosma{rounds=3,latency=1.0}" in found
    assert "map-operators{mapper=loma}" in found


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"settings": ("rounds=3",)}, "'rounds=3' is not PASS.OPTION=VALUE"),
        (
            {"settings": ("cosma.rounds=3",)},
            "no pass 'cosma'\n  hint: its passes: eliminate-de",
        ),
        (
            {"settings": ("schedule-cosma.round=3",)},
            "did you mean rounds[?] its options: scratch",
        ),
        ({"settings": ("schedule-cosma.rounds=x",)}, "option 'rounds' is 'x', expected int"),
        ({"settings": ('map-operators.mapper="x',)}, "no valid string"),
        ({"pipeline": "schedule-cosm"}, "did you mean schedule-cosma"),
        ({"pipeline": "eliminate-dead"}, "does not give graph_schedule, which lowering needs"),
        ({"pipeline": "", "until": "eliminate-dead"}, "--until eliminate-dead: no such pass"),
        ({"pipeline": "schedule-tiles"}, "needs graph_schedule"),
        (
            {"pipeline": "", "tiles": "flexer", "mapper": "loma"},
            "mapper, tiles would choose",
        ),
    ],
)
def test_a_pipeline_that_cannot_be_is_refused(options, message: str):
    with pytest.raises(AccnnError, match=message):
        chosen_pipeline(CompileOptions(**options))


def test_a_pipeline_may_stand_in_a_file(tmp_path: Path):
    file = tmp_path / "mine.pipeline"
    file.write_text("// what I like\neliminate-dead,\n  fold-layout\n")

    assert pipeline_text(str(file)) == "eliminate-dead,\n  fold-layout"
    assert pipeline_text("eliminate-dead") == "eliminate-dead"
    file.write_bytes(b"\xff")
    with pytest.raises(OptionError, match=r"cannot read the pipeline .*mine\.pipeline"):
        pipeline_text(str(file))
