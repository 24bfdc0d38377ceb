"""What the pages on compiling and debugging show exists."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper
from typer.testing import CliRunner

from accnn.compiler.artifacts import write_results
from accnn.compiler.cli import acc_cache, acc_compile, acc_opt, acc_run, acc_zoo
from accnn.compiler.driver import compile as compile_network
from accnn.compiler.options import CompileOptions, VerifyMode
from accnn.compiler.verification.verify import reference_outputs

DOCS = Path(__file__).parents[1] / "docs"
PAGES = ("compiling.md", "debugging.md")


def python_of(page: str) -> list[str]:
    """Return the Python code that a page shows."""
    return re.findall(r"^```python\n(.*?)^```$", (DOCS / page).read_text(), re.S | re.M)


def residual(size: int = 32) -> onnx.ModelProto:
    """Return two residual blocks; their additions tell integers from floats in between."""
    draw = np.random.default_rng(0).standard_normal
    weights = [
        onnx.numpy_helper.from_array(draw((16, depth, 3, 3)).astype(np.float32), name)
        for name, depth in (("u", 3), ("v", 16), ("w", 16))
    ]
    nodes = [
        helper.make_node("Conv", ["x", "u"], ["a"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Conv", ["b", "v"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Add", ["b", "c"], ["d"]),
        helper.make_node("Relu", ["d"], ["e"]),
        helper.make_node("Conv", ["e", "w"], ["f"], pads=[1, 1, 1, 1]),
        helper.make_node("Add", ["e", "f"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 3, size, size])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 16, size, size])],
        weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


@pytest.mark.parametrize("page", PAGES)
def test_every_option_exists(page: str):
    known = "".join(
        CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "200"}).stdout
        for app, *words in (
            (acc_compile.app,),
            (acc_opt.app,),
            (acc_run.app,),
            (acc_cache.app, "clear"),
        )
    )
    named = set(re.findall(r"--[a-z][a-z-]+", (DOCS / page).read_text())) - {"--list"}

    assert named
    assert [option for option in sorted(named) if option not in known] == []


@pytest.mark.parametrize("page", PAGES)
def test_python_compiles(page: str):
    for code in python_of(page):
        names: dict[str, object] = {}
        exec(compile(code, page, "exec", dont_inherit=True), names)
        assert any(callable(value) for value in names.values())


def test_the_recipe_for_onnxruntime_equals_the_program(tmp_path: Path):
    onnx.save(residual(), tmp_path / "net.onnx")
    options = CompileOptions(
        mapper="output-stationary", scheduler="in-order", verify=VerifyMode.OFF, cache=None
    )
    write_results(
        compile_network(tmp_path / "net.onnx", arch="simba", options=options), tmp_path / "net.acc"
    )
    np.savez(
        tmp_path / "in.npz", x=np.random.default_rng(1).standard_normal((1, 3, 32, 32), np.float32)
    )
    words = ["program.acc", "-i", "../in.npz", "-o", "../out.npz"]
    done = CliRunner().invoke(
        acc_run.app, [str(tmp_path / "net.acc" / word) if "." in word else word for word in words]
    )
    assert done.exit_code == 0, done.output
    (code,) = [text for text in python_of("compiling.md") if "def reference" in text]
    names: dict[str, Any] = {}

    exec(compile(code, "compiling.md", "exec", dont_inherit=True), names)
    (expected,) = names["reference"](str(tmp_path / "net.acc/model.onnx"), str(tmp_path / "in.npz"))

    with np.load(tmp_path / "out.npz") as found:
        np.testing.assert_array_equal(found["y"], expected)


@pytest.mark.slow
def test_deep_networks_need_the_option_of_the_recipe(tmp_path: Path):
    words = ["resnet18", "--image-size", "64", "-o", str(tmp_path / "net.onnx")]
    assert CliRunner().invoke(acc_zoo.app, words).exit_code == 0
    options = CompileOptions(until="fold-layout", cache=None)
    result = compile_network(tmp_path / "net.onnx", arch="simba", options=options)
    write_results(result, tmp_path / "net.acc")
    model, file = str(tmp_path / "net.acc/model.onnx"), str(tmp_path / "in.npz")
    (name,) = (value.name for value in result.network.model.graph.input)
    image = np.random.default_rng(1).standard_normal((1, 3, 64, 64), np.float32)
    np.savez(file, **{name: image})
    (code,) = [text for text in python_of("compiling.md") if "def reference" in text]
    names: dict[str, Any] = {}

    found: list[np.ndarray] = []
    for text in (code, code.replace('allowed", "1"', 'allowed", "0"')):
        exec(compile(text, "compiling.md", "exec", dont_inherit=True), names)
        found += names["reference"](model, file)

    (expected,) = reference_outputs(result.network.model, {name: image}).values()
    np.testing.assert_array_equal(found[0], expected)
    assert (found[1] != expected).any()
