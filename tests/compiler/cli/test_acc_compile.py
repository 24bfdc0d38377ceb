"""``acc-compile`` from the command line: results, exit codes, one message for each bad input."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from typer.testing import CliRunner, Result

import accnn
from accnn.backend.load import catalogue, find_source
from accnn.compiler.cli import acc_compile, acc_opt, acc_run
from accnn.compiler.cli.work.compile_network import judge
from accnn.compiler.driver import compile
from accnn.compiler.options import CompileOptions
from accnn.compiler.pipelines import chosen_pipeline
from accnn.ir.errors import MismatchError
from accnn.ir.report import Verification, VerificationStatus, from_json
from accnn.ir.text.parser import parse_module
from accnn.models.quantisation.quantize import quantize
from accnn.passes.pipeline import Pipeline
from tests.compiler.cli.nets import tiny
from tests.passes.sample_passes import RenameGraph

STAGES = {"module.ir", "model.onnx", "report.html", "report.json"}
ALL = STAGES | {"program.acc", "program.asm", "trace.json"}
GREEDY = ("--mapper", "output-stationary", "--scheduler", "in-order")
QUICK = ("--mapper", "output-stationary")
"""For tests that loop nests do not matter to; plans are those of the default scheduler."""


def tiny_with_weights(value: float) -> ModelProto:
    model = tiny()
    data = np.full((4, 3, 3, 3), value, np.float32)
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(data, "w"))
    return model


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder that holds ``tiny.onnx``."""
    monkeypatch.chdir(tmp_path)
    onnx.save(tiny(), "tiny.onnx")
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(acc_compile.app, list(arguments))


def names() -> set[str]:
    return {path.name for path in Path().iterdir()}


# What it does --------------------------------------------------------------------------------


def test_all_results_are_in_the_folder_of_the_models_name():
    done = run("tiny.onnx", "--arch", "simba.toml")

    assert done.exit_code == 0, done.output
    assert {path.name for path in Path("tiny.acc").iterdir()} == ALL
    assert names() == {"tiny.onnx", "tiny.acc"}
    assert done.stdout.rstrip().splitlines()[-1].startswith("verified: 0 of 256 elements differ")
    report = from_json(Path("tiny.acc/report.json").read_text())
    assert report.verification.status is VerificationStatus.VERIFIED
    assert report.model.name == "tiny.onnx"
    assert report.arch.name == "simba.toml"
    assert "dB against the float model" in done.stdout
    assert "note: quantised with made-up calibration data" in done.stdout


def test_module_ir_is_read_back():
    run("tiny.onnx", "--arch", "simba", "-o", "out")

    module = parse_module(Path("out/module.ir").read_text())

    assert module.tile_schedule


@pytest.mark.parametrize(
    ("last", "files"),
    [
        ("schedule-cosma", STAGES),
        ("map-operators", STAGES),
        ("schedule-tiles", STAGES),
        ("lower", ALL - {"trace.json"}),
    ],
)
def test_until_writes_what_exists_by_then(last: str, files: set[str]):
    done = run("tiny.onnx", "--arch", "simba", "--until", last)

    assert done.exit_code == 0, done.output
    assert {path.name for path in Path("tiny.acc").iterdir()} == files
    report = from_json(Path("tiny.acc/report.json").read_text())
    assert report.passes[-1].name == last
    assert done.stdout.rstrip().endswith("not verified")


def test_verify_off_says_not_verified():
    done = run("tiny.onnx", "--arch", "simba", "--verify=off")

    assert done.exit_code == 0
    assert done.stdout.rstrip().endswith("not verified")
    report = from_json(Path("tiny.acc/report.json").read_text())
    assert report.verification.status is VerificationStatus.NOT_VERIFIED


@pytest.mark.parametrize(("fuse", "least"), [("off", 4), ("groups", 2)])
def test_verify_layers_compares_every_tensor_that_leaves_the_chip(fuse, least):
    done = run(
        "tiny.onnx", "--arch", "edge-1m", "--verify=layers", "--races", "--fuse", fuse, *QUICK
    )

    assert done.exit_code == 0, done.output
    checks = from_json(Path("tiny.acc/report.json").read_text()).verification.outputs
    assert len(checks) >= least


def test_over_the_mesh_the_same_program_takes_longer():
    """Only the times of the run differ; a machine without a mesh is refused before any work."""
    reports, programs = [], []
    for timing in ("analytical", "network"):
        done = run("tiny.onnx", "--arch", "simba", "--timing", timing)
        assert done.exit_code == 0, done.output
        reports.append(from_json(Path("tiny.acc/report.json").read_text()))
        programs.append(Path("tiny.acc/program.acc").read_bytes())

    plain, meshed = reports
    assert programs[0] == programs[1]
    assert meshed.verification == plain.verification
    assert meshed.totals.cycles_simulated > plain.totals.cycles_simulated
    np.savez("in.npz", x=np.zeros((1, 3, 8, 8), np.float32))
    words = ["tiny.acc/program.acc", "--input", "in.npz", "--output", "out.npz", "--timing"]
    again = CliRunner().invoke(acc_run.app, [*words, "network"])
    assert f": {meshed.totals.cycles_simulated} cycles" in again.output
    without = run("tiny.onnx", "--arch", "edge-1m", "--timing", "network", "-o", "other")
    assert without.exit_code == 2
    assert "has no network" in without.output
    useless = run("tiny.onnx", "--arch", "simba", "--timing", "network", "--verify", "off")
    assert useless.exit_code == 2


def test_older_results_are_replaced():
    run("tiny.onnx", "--arch", "simba")
    run("tiny.onnx", "--arch", "simba", "--until", "map-operators")

    assert not Path("tiny.acc/program.acc").exists()


def test_a_dynamic_shape_is_fixed():
    onnx.save(tiny(batch="n"), "dynamic.onnx")

    assert run("dynamic.onnx", "--arch", "simba", "--shape", "x=1,3,8,8").exit_code == 0


def test_calibration_data_and_inputs_are_used():
    data = np.random.default_rng(1).standard_normal((4, 3, 8, 8)).astype(np.float32)
    np.savez("data.npz", x=data)
    np.savez("one.npz", x=data[:1])
    given = ("--calibration", "data.npz", "--inputs", "one.npz", "--scratchpad", "4K")
    done = run("tiny.onnx", "--arch", "simba", *QUICK, *given)

    assert done.exit_code == 0, done.output
    report = from_json(Path("tiny.acc/report.json").read_text())
    assert report.quantization is not None and report.quantization.calibrated
    assert report.notes == ()
    assert report.options["scratchpad"] == 4096
    assert report.graph_schedule is not None and report.graph_schedule.budget_bytes == 4096


def test_calibration_data_that_nothing_needs_is_told():
    np.savez("data.npz", x=np.zeros((4, 3, 8, 8), np.float32))
    given = ("--calibration", "data.npz", *GREEDY)
    told = "note: calibration data is not used: "

    floating = run("tiny.onnx", "--arch", "edge-fp32", *given)
    assert run("tiny.onnx", "--arch", "simba", *given).exit_code == 0
    quantised = run("tiny.acc/model.onnx", "--arch", "simba", *given, "-o", "again.acc")

    assert f"{told}edge-fp32 computes in fp32" in floating.stdout
    assert f"{told}the network is quantised" in quantised.stdout


@pytest.mark.parametrize("name", ["mr", "MH", "mp"])
def test_the_scratchpad_may_be_named_by_what_the_graph_needs(name: str):
    last_step = 4 * 8 * 8 * (1 + 4)  # int8 in, float32 out
    done = run("tiny.onnx", "--arch", "simba", "--scratchpad", name, *QUICK)

    assert done.exit_code == 0, done.output
    report = from_json(Path("tiny.acc/report.json").read_text())
    assert report.options["scratchpad"] == name.lower()
    assert report.graph_schedule is not None
    assert report.graph_schedule.budget_bytes == last_step


def test_the_catalogue_is_listed():
    done = run("--list-archs")

    assert done.exit_code == 0
    for entry in catalogue():
        assert entry.name in done.stdout


def test_an_architecture_of_the_working_folder_wins():
    text = find_source("simba").text.replace('name = "simba"', 'name = "mine"', 1)
    Path("simba.toml").write_text(text)

    options = CompileOptions(mapper="output-stationary")
    assert compile("tiny.onnx", arch="simba.toml", options=options).arch.name == "mine"


def test_different_outputs_end_with_3(monkeypatch: pytest.MonkeyPatch):
    from accnn.compiler import driver
    from accnn.compiler.verification import verify

    right = verify.reference_outputs

    def wrong(model, inputs):
        return {name: array + 1 for name, array in right(model, inputs).items()}

    monkeypatch.setattr("accnn.compiler.verification.verdict.reference_outputs", wrong)
    assert driver.verify_run is not None
    done = run("tiny.onnx", "--arch", "simba")

    assert done.exit_code == 3
    assert "256 of 256 elements differ from onnxruntime" in done.stderr
    assert "failed: 256 of 256" in done.stdout
    as_json = run("tiny.onnx", "--arch", "simba", "--json")
    assert as_json.exit_code == 3
    assert json.loads(as_json.stdout)["verification"]["status"] == "failed"
    assert {path.name for path in Path("tiny.acc").iterdir()} == ALL


def test_json_is_all_of_standard_output_and_the_head_of_the_report():
    done = run("tiny.onnx", "--arch", "simba", "--json")

    assert done.exit_code == 0, done.output
    head = json.loads(done.stdout)
    report = json.loads(Path("tiny.acc/report.json").read_text())
    report["quantization"]["layers"] = []
    assert head == {name: report[name] for name in head}
    assert {"totals", "verification", "options"} <= head.keys()
    assert not {"passes", "operators"} & head.keys()
    assert run("tiny.onnx", "--arch", "simba", "--json").stdout == done.stdout


@pytest.mark.parametrize(("arch", "code"), [("edge-fp32", 0), ("simba", 2)])
def test_nan_is_an_input_where_nothing_makes_integers_of_it(arch: str, code: int):
    np.savez("nan.npz", x=np.full((1, 3, 8, 8), np.nan, np.float32))

    done = run("tiny.onnx", "--arch", arch, *GREEDY, "--inputs", "nan.npz")

    assert done.exit_code == code, done.output


def test_an_operator_is_explained():
    done = run("tiny.onnx", "--arch", "edge-fp32", *GREEDY, "--explain", "conv")

    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("y on edge-fp32: conv2d, from ONNX node conv\n")
    assert "compiled and run again:" in done.stdout
    assert Path("tiny.acc/report.json").exists()
    as_json = run("tiny.onnx", "--arch", "edge-fp32", *GREEDY, "--explain", "y", "--json")
    assert json.loads(as_json.stdout)["operator"] == "y"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--explain", "cnov"), "no operator or ONNX node 'cnov'\n  hint: did you mean conv?"),
        (
            ("--explain", "conv", "--until", "map-operators"),
            "--explain needs the whole compilation",
        ),
    ],
)
def test_what_cannot_be_explained(words: tuple[str, ...], message: str):
    done = run("tiny.onnx", "--arch", "edge-fp32", *GREEDY, *words)

    assert (done.exit_code, done.stdout) == (2, "")
    assert f"acc-compile: error: {message}" in done.stderr


def test_json_of_an_error_is_nothing():
    done = run("tiny.onnx", "--arch", "nowhere", "--json")

    assert (done.exit_code, done.stdout) == (2, "")
    assert "nowhere" in done.stderr


def test_who_verified_layers_is_not_sent_to_verify_layers():
    with pytest.raises(MismatchError, match="hint: --verify=layers names"):
        judge(Verification(status=VerificationStatus.FAILED))
    with pytest.raises(MismatchError, match="first in y$"):
        judge(Verification(status=VerificationStatus.FAILED, first_difference="y"))
    judge(Verification(status=VerificationStatus.VERIFIED))


def test_outputs_of_another_shape_differ(monkeypatch: pytest.MonkeyPatch):
    from accnn.compiler.verification import verify

    right = verify.reference_outputs

    def reshaped(model, inputs):
        return {name: array[None] for name, array in right(model, inputs).items()}

    monkeypatch.setattr("accnn.compiler.verification.verdict.reference_outputs", reshaped)
    done = run("tiny.onnx", "--arch", "simba")

    assert done.exit_code == 3
    assert "has shape (1, 4, 8, 8), the reference (1, 1, 4, 8, 8)" in done.stderr


def test_a_pipeline_and_settings_of_passes():
    Path("mine.txt").write_text(
        "eliminate-dead,form-integers,schedule-in-order,map-operators{mapper=output-stationary},\n"
        "schedule-tiles,count-traffic\n"
    )
    done = run(
        "tiny.onnx",
        "--arch",
        "simba",
        "--pipeline",
        "mine.txt",
        "--set",
        "schedule-in-order.scratchpad=32768",
    )

    assert done.exit_code == 0, done.output
    report = from_json(Path("tiny.acc/report.json").read_text())
    assert "schedule-in-order" in [item.name for item in report.passes]
    assert report.options["settings"] == "schedule-in-order.scratchpad=32768"


def test_a_pipeline_of_passes_that_nobody_registered():
    pipeline = chosen_pipeline(CompileOptions(mapper="output-stationary"))
    renaming = Pipeline((RenameGraph(to="mine"), *pipeline.passes))

    result = accnn.compile("tiny.onnx", arch="simba", pipeline=renaming)

    assert result.report.verification.status is VerificationStatus.VERIFIED
    assert result.module.graph.name == "mine"
    assert "rename-graph" in [item.name for item in result.report.passes]


def test_outputs_may_be_one_tensor():
    model = tiny()
    model.graph.node.append(helper.make_node("Identity", ["y"], ["z"], name="copy"))
    z = model.graph.output.add()
    z.CopyFrom(model.graph.output[0])
    z.name = "z"
    model.graph.output.append(model.graph.output[0])
    Path("net.onnx").write_bytes(model.SerializeToString())
    np.savez("in.npz", x=np.ones((1, 3, 8, 8), np.float32))

    done = run("net.onnx", "--arch", "simba")
    again = CliRunner().invoke(
        acc_run.app, ["net.acc/program.acc", "--input", "in.npz", "--output", "out.npz"]
    )

    assert done.exit_code == 0, done.output
    assert again.exit_code == 0, again.output
    with np.load("out.npz") as found:
        assert sorted(found.files) == ["y", "z"]
        assert np.array_equal(found["y"], found["z"])


@pytest.mark.parametrize("arch", ["simba", "edge-fp32"])
def test_a_network_of_scalars_is_compared(arch: str):
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])],
        "scalar",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [])],
    )
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=9), "net.onnx")

    done = run("net.onnx", "--arch", arch)

    assert done.exit_code == 0, done.output
    assert "verified: 0 of 1 elements" in done.stdout


def test_infinities_are_values_as_others():
    onnx.save(tiny_with_weights(np.inf), "net.onnx")

    done = run("net.onnx", "--arch", "edge-fp32", *QUICK)

    assert done.exit_code == 0, done.output
    assert done.stderr == ""


# What it refuses -----------------------------------------------------------------------------


def prepare_outside() -> None:
    model = tiny()
    tensor = model.graph.initializer[0]
    Path("../weights.bin").write_bytes(tensor.raw_data)
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", "../weights.bin"
    Path("net.onnx").write_bytes(model.SerializeToString())


def prepare_truncated() -> None:
    Path("net.onnx").write_bytes(Path("tiny.onnx").read_bytes()[:-40])


def prepare_text() -> None:
    Path("net.onnx").write_text("hello, this is no network\n")


def prepare_dynamic() -> None:
    onnx.save(tiny(batch="n"), "net.onnx")


def prepare_unsupported() -> None:
    onnx.save(tiny(kind="Det"), "net.onnx")


def prepare_quantised() -> None:
    onnx.save(quantize(tiny(), samples=1).model, "net.onnx")


def prepare_inputs() -> None:
    onnx.save(tiny(), "net.onnx")
    np.savez("float64.npz", x=np.zeros((1, 3, 8, 8)))
    np.savez("shape.npz", x=np.zeros((1, 3, 8, 9), np.float32))
    np.savez("name.npz", z=np.zeros((1, 3, 8, 8), np.float32))
    Path("text.npz").write_text("no numbers")


def prepare_arch() -> None:
    onnx.save(tiny(), "net.onnx")
    text = find_source("simba").text
    Path("unknown.toml").write_text(text.replace("[dma]", "[dam]"))
    Path("value.toml").write_text(text.replace('precision = "int8"', 'precision = "int3"'))
    Path("toml.toml").write_text("name = ")
    Path("folder.acc").mkdir()
    Path("folder.acc/mine.txt").write_text("precious")

    Path("mixed.acc").mkdir()
    Path("mixed.acc/report.json").write_text("{}")
    Path("mixed.acc/mine.txt").write_text("precious")
    Path("many.toml").write_text(f"npus = {{ count = 64 }}\n{text}")
    Path("deep.toml").write_text(re.sub(r"capacity = 131072", f"capacity = {2**31}", text))
    Path("slow.toml").write_text(re.sub(r"(read_bandwidth) = \d+", r"\1 = 1e-300", text, count=1))


def prepare_channels() -> None:
    model = tiny()
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 5
    onnx.save(model, "net.onnx")


def prepare_opset(version: int) -> Callable[[], None]:
    def prepare() -> None:
        model = tiny()
        model.opset_import[0].version = version
        onnx.save(model, "net.onnx")

    return prepare


def prepare_no_output() -> None:
    model = tiny()
    del model.graph.output[:]
    onnx.save(model, "net.onnx")


def prepare_input_as_output() -> None:
    model = tiny()
    model.graph.output.append(model.graph.input[0])
    onnx.save(model, "net.onnx")


def prepare_weights(value: float) -> Callable[[], None]:
    return lambda: onnx.save(tiny_with_weights(value), "net.onnx")


def prepare_huge() -> None:
    onnx.save(tiny(size=2**20), "net.onnx")


def prepare_wide() -> None:
    onnx.save(tiny(size=256), "net.onnx")


BAD: dict[str, tuple[Callable[[], None] | None, list[str], str]] = {
    "missing file": (None, [], "net.onnx: no such file"),
    "folder": (lambda: Path("net.onnx").mkdir(), [], "not a file"),
    "no ONNX": (prepare_text, [], "not an ONNX model"),
    "truncated": (prepare_truncated, [], "not an ONNX model, or truncated"),
    "external data outside": (prepare_outside, [], "not a path inside of the model's folder"),
    "dynamic shape": (prepare_dynamic, [], "--shape"),
    "shape of no input": (prepare_inputs, ["--shape", "z=1,3,8,8"], "no input of the model"),
    "shape that is none": (prepare_inputs, ["--shape", "x"], "not NAME=EXTENTS"),
    "unsupported operator": (prepare_unsupported, [], "Det"),
    "quantised on float": (prepare_quantised, ["--arch", "edge-fp32"], "computes in fp32"),
    "type of inputs": (prepare_inputs, ["--inputs", "float64.npz"], "float64, the model reads"),
    "shape of inputs": (prepare_inputs, ["--inputs", "shape.npz"], "has the shape [1, 3, 8, 9]"),
    "name of inputs": (prepare_inputs, ["--inputs", "name.npz"], "'z'"),
    "no inputs": (prepare_inputs, ["--inputs", "none.npz"], "none.npz: no such file"),
    "inputs that are text": (prepare_inputs, ["--inputs", "text.npz"], "text.npz"),
    "no calibration": (prepare_inputs, ["--calibration", "none.npz"], "does not exist"),
    "type of calibration": (prepare_inputs, ["--calibration", "float64.npz"], "float64"),
    "unknown arch": (prepare_arch, ["--arch", "simbaa"], "no architecture file 'simbaa'"),
    "unknown key": (prepare_arch, ["--arch", "unknown.toml"], "unknown.toml: dam"),
    "unknown value": (prepare_arch, ["--arch", "value.toml"], "int3"),
    "no TOML": (prepare_arch, ["--arch", "toml.toml"], "toml.toml: not TOML"),
    "machine without instructions": (prepare_arch, ["--arch", "eyeriss"], "mapping only"),
    "not one element fits": (
        prepare_inputs,
        ["--scratchpad", "1"],
        "gb: needs 64 byte, has 1",
    ),
    "no bytes": (prepare_inputs, ["--scratchpad", "0"], "must be 1 or more"),
    "too many bytes": (prepare_inputs, ["--scratchpad", "9M"], "larger than the scratchpad"),
    "too many named bytes": (
        prepare_wide,
        ["--scratchpad", "mr"],
        "mr of tiny is larger than the scratchpad of simba",
    ),
    "bytes that are none": (prepare_inputs, ["--scratchpad", "many"], "not a number of bytes"),
    "unknown mapper": (prepare_inputs, ["--mapper", "best"], "no mapper named 'best'"),
    "unknown scheduler": (prepare_inputs, ["--scheduler", "best"], "no scheduler named 'best'"),
    "unknown tile scheduler": (prepare_inputs, ["--tiles", "best"], "no tile scheduler"),
    "unknown pass": (prepare_inputs, ["--until", "the-end"], "--until the-end: no such pass"),
    "negative seed": (prepare_inputs, ["--seed", "-1"], "seed is -1"),
    "foreign folder": (prepare_arch, ["-o", "folder.acc"], "will not overwrite folder.acc"),
    "folder with more than results": (prepare_arch, ["-o", "mixed.acc"], "also holds mine.txt"),
    "working folder": (prepare_inputs, ["-o", "."], "it is the working folder"),
    "folder that takes no files": (prepare_inputs, ["-o", "/proc/results"], "cannot write /proc"),
    "inputs of another kind": (prepare_inputs, ["--inputs", "net.onnx"], "net.onnx is neither"),
    "too many engines": (prepare_arch, ["--arch", "many.toml"], "queues of instructions"),
    "too large a memory": (prepare_arch, ["--arch", "deep.toml"], "gb has 2147483648 bytes"),
    "too slow a memory": (prepare_arch, ["--arch", "slow.toml"], "read_bandwidth = 1e-300: must"),
    "channels that differ": (prepare_channels, [], "Input channels C is not equal"),
    "old opset": (prepare_opset(1), [], "Relu(1)"),
    "new opset": (prepare_opset(99), [], "opset 99 is not supported (7 to"),
    "no output": (prepare_no_output, [], "the network has no output"),
    "input as output": (prepare_input_as_output, [], "'x' is an input or a constant"),
    "weights that are no numbers": (prepare_weights(np.nan), [], "weights 'w' hold values that"),
    "results without end": (prepare_weights(3e38), [], "is not finite on the calibration data"),
    "huge input": (prepare_huge, [], "more than 2147483647 elements"),
    "no parent": (prepare_inputs, ["-o", "no/where"], "is not a folder"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gets_one_message_and_leaves_nothing(case: str):
    prepare, options, message = BAD[case]
    if prepare is not None:
        prepare()
    before = names()
    arch = [] if "--arch" in options else ["--arch", "simba"]

    done = run("net.onnx", *arch, *options)

    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    assert done.stderr.startswith("acc-compile: error: ")
    assert done.stderr.count("error:") == 1
    assert "Traceback" not in done.stderr
    assert message in done.stderr
    assert names() == before


@pytest.mark.parametrize(
    "arguments",
    [["tiny.onnx"], ["--arch", "simba"], ["tiny.onnx", "--arch", "simba", "--verify=maybe"]],
)
def test_a_wrong_command_shows_its_usage(arguments: list[str]):
    done = run(*arguments)

    assert done.exit_code == 2
    assert "Usage: " in done.stderr
    assert names() == {"tiny.onnx"}


def test_a_failed_run_keeps_older_results():
    run("tiny.onnx", "--arch", "simba", "-o", "out")
    before = Path("out/report.json").read_bytes()

    assert run("tiny.onnx", "--arch", "simba", "-o", "out", "--scratchpad", "1").exit_code == 2
    assert Path("out/report.json").read_bytes() == before


def test_a_disk_that_refuses_leaves_no_part(monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("accnn.compiler.artifacts.write_trace", refuse)
    done = run("tiny.onnx", "--arch", "simba")

    assert done.exit_code == 2
    assert "No space left on device" in done.stderr
    assert names() == {"tiny.onnx"}


def test_a_crash_of_a_pass_leaves_what_reproduces_it(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("ACCNN_CACHE", str(tmp_path_factory.mktemp("cache")))

    def crash(*_: object) -> None:
        raise ZeroDivisionError("no tile")

    monkeypatch.setattr("accnn.passes.scheduling.static.schedule_tiles.schedule_operator", crash)
    done = run("tiny.onnx", "--arch", "simba", *GREEDY)

    assert done.exit_code == 1
    assert "schedule-tiles: ZeroDivisionError: no tile" in done.stderr
    assert "to reproduce: acc-opt tiny.reproducer.ir" in done.stderr
    assert names() == {"tiny.onnx", "tiny.reproducer.ir", "tiny.reproducer.safetensors"}
    again = CliRunner().invoke(acc_opt.app, ["tiny.reproducer.ir"])
    assert again.exit_code == 1
    assert "schedule-tiles: ZeroDivisionError: no tile" in again.stderr


def test_the_library_has_a_face():
    options = accnn.CompileOptions(seed=3, mapper="output-stationary")
    found = accnn.compile("tiny.onnx", arch="simba", options=options)

    assert isinstance(found, accnn.Result)
    assert found.report.seed == 3
    accnn.write_results(found, Path("out"))
    assert {path.name for path in Path("out").iterdir()} == ALL
    assert set(accnn.__all__) <= set(dir(accnn))
    with pytest.raises(AttributeError, match="no attribute 'compiel'"):
        accnn.compiel  # noqa: B018
    with pytest.raises(accnn.AccnnError, match="no such file"):
        accnn.compile("none.onnx", arch="simba")


def test_no_cache_neither_reads_nor_writes(here: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ACCNN_CACHE", str(here / "cache"))

    until = ("tiny.onnx", "--arch", "simba", *GREEDY, "--until", "map-operators")
    assert run(*until, "--no-cache").exit_code == 0
    assert not Path("cache").exists()

    assert run(*until).exit_code == 0
    assert list(Path("cache").rglob("*.json"))


def test_a_signal_ends_with_one_line(monkeypatch: pytest.MonkeyPatch):
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("accnn.compiler.driver.simulate", interrupt)
    done = run("tiny.onnx", "--arch", "simba")

    assert (done.exit_code, done.stderr) == (130, "acc-compile: interrupted\n")
    assert names() == {"tiny.onnx"}


def test_too_little_memory_is_told(monkeypatch: pytest.MonkeyPatch):
    def exhaust(*_: object, **__: object) -> None:
        raise MemoryError("unable to allocate 24 GiB")

    monkeypatch.setattr("accnn.compiler.driver.simulate", exhaust)
    done = run("tiny.onnx", "--arch", "simba")

    assert done.exit_code == 1
    assert done.stderr == "acc-compile: error: not enough memory: unable to allocate 24 GiB\n"


def test_a_full_folder_of_temporary_files_is_told(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=10))
    done = run("tiny.onnx", "--arch", "simba", "--no-cache")

    assert done.exit_code == 2
    assert "10 bytes left" in done.stderr
    assert "set TMPDIR" in done.stderr


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="needs a device that is full")
def test_a_full_output_is_told():
    command = "from accnn.compiler.cli.start import acc_compile; acc_compile()"
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-P", "-c", command, "--list-archs"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    assert done.returncode == 2
    assert done.stderr == "acc-compile: error: cannot write the output: No space left on device\n"


def test_no_processes_are_refused():
    done = run("tiny.onnx", "--arch", "simba", "--processes", "0")

    assert done.exit_code == 2
    assert "processes is 0, must be 1 or more" in done.stderr


def test_a_report_of_another_program_is_not_replaced():
    Path("tiny.acc").mkdir()
    Path("tiny.acc/report.json").write_text('{"mine": 1}')

    result = run("tiny.onnx", "--arch", "simba")

    assert result.exit_code == 2
    assert "will not overwrite tiny.acc: its report.json is no report of accnn" in result.output
    assert Path("tiny.acc/report.json").read_text() == '{"mine": 1}'


def test_a_folder_that_its_owner_closed_is_not_replaced():
    until = ("--arch", "simba", "--until", "fold-layout")
    assert run("tiny.onnx", *until).exit_code == 0
    Path("tiny.acc").chmod(0o555)

    result = run("tiny.onnx", *until)
    Path("tiny.acc").chmod(0o755)

    assert result.exit_code == 2
    assert "will not overwrite tiny.acc: it is read-only" in result.output
    assert names() == {"tiny.onnx", "tiny.acc"}


def test_names_that_are_not_utf8_are_compiled():
    Path("tiny.onnx").rename(os.fsdecode(b"tiny\xff.onnx"))
    until = ("--arch", "simba", "--until", "fold-layout", "-o", "out.acc")

    result = run(os.fsdecode(b"tiny\xff.onnx"), *until)

    assert result.exit_code == 0, result.output
    assert from_json(Path("out.acc/report.json").read_text()).model.name == "tiny\ufffd.onnx"
