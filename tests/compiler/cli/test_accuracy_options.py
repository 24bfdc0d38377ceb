"""``acc-compile`` on a classifier: methods of calibration, accuracy on examples."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from typer.testing import CliRunner, Result

from accnn.compiler.cli import acc_compile
from accnn.ir.report import Report, from_json

CLASSES = 6


def classifier() -> onnx.ModelProto:
    """Return a convolution over the whole image: scores ``[1, 6, 1, 1]``."""
    w = np.random.default_rng(0).standard_normal((CLASSES, 3, 8, 8)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w"], ["y"])],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, CLASSES, 1, 1])],
        [numpy_helper.from_array(w, "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


@pytest.fixture(autouse=True)
def examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder with a network, images, and the right classes of these."""
    monkeypatch.chdir(tmp_path)
    onnx.save(classifier(), "net.onnx")
    images = np.random.default_rng(1).standard_normal((20, 3, 8, 8)).astype(np.float32)
    w = numpy_helper.to_array(classifier().graph.initializer[0])
    labels = np.einsum("nchw,kchw->nk", images, w).argmax(axis=1)
    others = (labels + 1) % CLASSES
    np.savez("images.npz", x=images)
    np.savez("labels.npz", x=images, labels=labels)
    np.savez("wrong.npz", x=images, labels=np.where(np.arange(20) < 5, others, labels))
    np.savez("beyond.npz", x=images, labels=labels + CLASSES)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(
        acc_compile.app, ["net.onnx", "--mapper", "output-stationary", *arguments]
    )


def report_of(done: Result) -> Report:
    assert done.exit_code == 0, done.output
    return from_json(Path("net.acc/report.json").read_text())


def test_labels_and_the_float_network_are_compared():
    done = run("--arch", "simba", "--calibration", "images.npz", "--accuracy", "wrong.npz")
    found = report_of(done).accuracy

    assert found is not None
    assert (found.data, found.samples) == ("wrong.npz", 20)
    assert found.top1_agreement is not None and found.top1_agreement >= 0.9
    assert found.top5_agreement == 1.0
    assert found.float_top1 == 0.75
    assert "accuracy on 20 examples of wrong.npz: agrees with the float model on" in done.stdout
    assert "accuracy on 20 examples of wrong.npz" in Path("net.acc/report.html").read_text()


def test_a_float_machine_has_labels_alone():
    done = run("--arch", "edge-fp32", "--accuracy", "labels.npz")
    found = report_of(done).accuracy

    assert found is not None
    assert (found.top1, found.top5, found.top1_agreement) == (1.0, 1.0, None)


def test_without_examples_nothing_is_said_of_accuracy():
    done = run("--arch", "simba")

    assert report_of(done).accuracy is None
    assert "accuracy on" not in done.stdout


def test_the_method_of_calibration_is_told():
    given = ("--calibration", "images.npz", "--calibration-method", "percentile")
    done = run("--arch", "simba", *given, "--percentile", "99")
    report = report_of(done)

    assert report.quantization is not None
    assert report.quantization.method == "percentile"
    assert report.options["percentile"] == 99.0
    assert [item.name for item in report.quantization.layers] == ["y"]
    assert "ranges by percentile from images.npz; worst layers: y" in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("method", "are_equal"),
    [
        (("minmax",), True),
        (("percentile", "--percentile", "90"), False),
        (("entropy",), True),  # of so few values none is rare
    ],
)
def test_a_method_may_give_another_network(method: tuple[str, ...], are_equal: bool):
    report_of(run("--arch", "simba"))
    plain = Path("net.acc/model.onnx").read_bytes()

    chosen = report_of(run("--arch", "simba", "--calibration-method", *method))

    assert chosen.quantization is not None and chosen.quantization.method == method[0]
    assert (Path("net.acc/model.onnx").read_bytes() == plain) == are_equal


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--percentile", "20"), "percentile is 20, must be 50 to 100"),
        (("--percentile", "99"), "the calibration method is minmax"),
        (("--accuracy", "none.npz"), "none.npz does not exist"),
        (("--accuracy", "beyond.npz"), "no class; there are 6"),
        (("--accuracy", "images.npz", "--arch", "edge-fp32"), "holds no array 'labels'"),
    ],
)
def test_what_does_not_suit_is_refused(options: tuple[str, ...], message: str):
    arch = () if "--arch" in options else ("--arch", "simba")
    done = run(*arch, *options)

    assert done.exit_code == 2
    assert message in " ".join(done.stderr.split())
    assert not Path("net.acc").exists()


def test_an_unknown_method_is_refused():
    done = run("--arch", "simba", "--calibration-method", "best")

    assert done.exit_code == 2
    assert "'best' is not one of" in " ".join(done.output.split())
