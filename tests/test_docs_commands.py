"""Every command of accnn that README and documents show runs, as it is written, page by page.

Files that a page names without making them are small stand-ins of that name.
"""

import importlib
import re
import shlex
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from typer.testing import CliRunner, Result

from tests.compiler.cli.nets import tiny
from tests.exploring import LAYERS_STUDY

ROOT = Path(__file__).parents[1]
ELSEWHERE = {
    "docs/getting-started.md": "test_getting_started.py follows it from the first command on",
}
"""Pages that another test runs."""
LONG = {"docs/mapping.md", "docs/salsa.md", "docs/flexer.md", "docs/noc.md", "docs/zoo.md"}
"""Pages that take longer: full layers, or networks of some hundred megabytes."""

NAMES = ("net", "other", "network", "resnet50", "vgg16", "squeezenet", "mobilenetv2")


def commands(page: str) -> list[str]:
    """Return the commands of a page in its order, without what is remarked behind them."""
    text = re.sub(r" \\\n\s*", " ", (ROOT / page).read_text())
    shown = re.findall(r"^(?:    )?(acc-[a-z]+ .*)$", text, re.MULTILINE)
    return [re.sub(r"\s+# .*", "", line) for line in shown]


def pages() -> list[str]:
    found = ["README.md", *sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("docs/*.md"))]
    return [page for page in found if commands(page)]


PAGES = [page for page in pages() if page not in ELSEWHERE]


def run(line: str) -> Result:
    name, *words = shlex.split(line)
    app = importlib.import_module(f"accnn.compiler.cli.{name.replace('-', '_')}").app
    files = [map(str, sorted(Path().glob(word))) if "*" in word else [word] for word in words]
    return CliRunner().invoke(app, [word for found in files for word in found])


def save(
    name: str,
    nodes: list[onnx.NodeProto],
    inputs: dict[str, list[int | str]],
    result: list[int | str],
) -> None:
    """Write a network of an output ``y`` and weights ``w`` (8x8); inputs but ``x`` are integers."""
    infos = [
        helper.make_tensor_value_info(
            item, TensorProto.FLOAT if item == "x" else TensorProto.INT64, shape
        )
        for item, shape in inputs.items()
    ]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, result)
    weights = [numpy_helper.from_array(np.eye(8, dtype=np.float32), "w")]
    graph = helper.make_graph(nodes, name, infos, [output], weights)
    opset = helper.make_opsetid("", 17)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=9), f"{name}.onnx")


def dynamic() -> ModelProto:
    """Return a network of images as large as the page says, which reads a corner of them."""
    model = tiny(batch="n", name="input", size=224)
    corner = [("starts", [0, 0]), ("ends", [4, 4]), ("axes", [2, 3])]
    model.graph.initializer.extend(
        numpy_helper.from_array(np.array(values), name) for name, values in corner
    )
    part = helper.make_node("Slice", ["input", *(name for name, _ in corner)], ["few"], name="part")
    model.graph.node[0].input[0] = "few"
    model.graph.node.insert(0, part)
    for dim in model.graph.output[0].type.tensor_type.shape.dim[2:]:
        dim.dim_value = 4
    return model


def prepare(line: str) -> None:
    """Write the network that a command is shown with, where not any one will do."""
    node = helper.make_node
    if "--shape input=" in line:
        onnx.save(dynamic(), "net.onnx")
    elif "--shape batch=" in line:
        shape: list[int | str] = ["batch", "sequence", 8]
        save("bert", [node("MatMul", ["x", "w"], ["y"])], {"x": shape}, shape)
    elif "--accuracy" in line:
        nodes = [
            node("GlobalAveragePool", ["x"], ["mean"]),
            node("Flatten", ["mean"], ["row"]),
            node("MatMul", ["row", "w"], ["y"]),
        ]
        save("net", nodes, {"x": [1, 8, 8, 8]}, [1, 8])
        draw = np.random.default_rng(1)
        np.savez("samples.npz", x=draw.standard_normal((4, 8, 8, 8), np.float32))
        labels = draw.integers(0, 8, 4)
        np.savez("labels.npz", x=draw.standard_normal((4, 8, 8, 8), np.float32), labels=labels)
    elif "--constant axes=" in line:
        nodes = [
            node("ReduceSum", ["x", "axes"], ["sum"], keepdims=1),
            node("TopK", ["x", "k"], ["values", "places"], axis=1),
            node("Add", ["sum", "values"], ["y"]),
        ]
        save("net", nodes, {"x": [2, 8, 8], "axes": [2], "k": [1]}, [2, 5, 8])
    else:
        onnx.save(tiny(), "net.onnx")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder that holds what pages name."""
    monkeypatch.chdir(tmp_path)
    for name in NAMES:
        onnx.save(tiny(kind="Sigmoid" if name == "other" else "Relu"), f"{name}.onnx")
    draw = np.random.default_rng(0).standard_normal
    np.savez("in.npz", x=draw((1, 3, 8, 8), np.float32))
    np.savez("samples.npz", x=draw((4, 3, 8, 8), np.float32))
    Path("layers.csv").write_text("R,S,P,Q,C,K\n3,3,8,8,8,8\n")
    Path("study.toml").write_text(LAYERS_STUDY)


def stages() -> None:
    """Write what passes are run on: a module before its plan, and the reproducer of a pass."""
    done = run("acc-compile net.onnx --arch edge-1m --until fold-layout -o stages.acc")
    assert done.exit_code == 0, done.output
    text = Path("stages.acc/module.ir").read_text()
    Path("net.ir").write_text(text)
    Path("net.reproducer.ir").write_text(f"// pipeline: eliminate-dead\n{text}")


def write_shown(page: str) -> None:
    """Write the files that a page shows under a comment with their name."""
    text = (ROOT / page).read_text()
    for name, body in re.findall(r"^    // (\w+\.txt)\n((?:    .*\n)+)", text, re.MULTILINE):
        Path(name).write_text(re.sub(r"^    ", "", body, flags=re.MULTILINE))


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=pytest.mark.slow if page in LONG else ()) for page in PAGES]
)
def test_every_command_of_a_page_runs(page: str) -> None:
    lines = commands(page)
    write_shown(page)
    if any(line.startswith("acc-opt ") for line in lines):
        stages()
    if "before.acc" in (ROOT / page).read_text():
        for name, fuse in (("before", "off"), ("after", "groups")):
            run(f"acc-compile net.onnx --arch simba --fuse {fuse} -o {name}.acc")
    for line in lines:
        prepare(line)
        if "--parquet" in line and find_spec("pyarrow") is None:
            line = line.partition(" --parquet")[0]
        done = run(line)
        if "--dump-config" in line:
            Path("run.toml").write_text(done.stdout)
        assert done.exit_code == 0, f"{line}: {done.output}{done.exception!r}"


def test_pages_with_commands_are_found() -> None:
    assert len(PAGES) >= 15
    assert set(ELSEWHERE) < set(pages())
    assert set(LONG) < set(PAGES)
