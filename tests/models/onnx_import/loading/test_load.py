"""Reading model files: every way in which one may be bad is one clear error."""

import os
import random
import signal
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from accnn.ir.errors import ModelError, OptionError
from accnn.models.onnx_import import import_model, load_model
from tests.thinned import examples


def model(shape=(1, 3, 8, 8)):
    w = np.random.default_rng(0).normal(size=(4, 3, 3, 3)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w"], ["y"], name="conv")],
        "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None] * 4)],
        [numpy_helper.from_array(w, "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "model.onnx"
    onnx.save(model(), path)
    return path


def save_external(folder: Path, location: str, **entries) -> Path:
    """Save a model whose weights claim to lie at ``location``."""
    found = model()
    weights = found.graph.initializer[0]
    (folder / "w.bin").write_bytes(weights.raw_data)
    weights.ClearField("raw_data")
    weights.data_location = TensorProto.EXTERNAL
    for key, value in {"location": location, **entries}.items():
        entry = weights.external_data.add()
        entry.key, entry.value = key, str(value)
    path = folder / "model.onnx"
    path.write_bytes(found.SerializeToString())
    return path


def test_a_good_file_loads(saved):
    assert [op.kind for op in import_model(load_model(saved)).graph.ops] == ["conv2d"]


def test_a_missing_file(tmp_path):
    with pytest.raises(ModelError, match=r"none\.onnx: no such file"):
        load_model(tmp_path / "none.onnx")


def test_a_folder(tmp_path):
    with pytest.raises(ModelError, match="not a file"):
        load_model(tmp_path)


def test_an_empty_file(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(b"")

    with pytest.raises(ModelError, match="the file is empty"):
        load_model(path)


def test_a_file_of_another_format(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_text("this is not a network")

    with pytest.raises(ModelError, match="not an ONNX model"):
        load_model(path)


def test_a_truncated_file(saved):
    saved.write_bytes(saved.read_bytes()[:300])

    with pytest.raises(ModelError, match="not an ONNX model, or truncated"):
        load_model(saved)


def test_a_model_that_breaks_the_standard(saved):
    broken = model()
    broken.graph.node[0].op_type = "Sponge"
    saved.write_bytes(broken.SerializeToString())

    with pytest.raises(ModelError, match="not a valid ONNX model.*Sponge"):
        load_model(saved)


@pytest.mark.parametrize("end", [signal.SIGSEGV, signal.SIGABRT])
def test_a_crash_of_a_library_is_a_message(saved, monkeypatch, end):
    monkeypatch.setattr(onnx.checker, "check_model", lambda _: os.kill(os.getpid(), end))

    with pytest.raises(ModelError, match=rf"reading it ends the process \({end.name}\)"):
        load_model(saved)


def of_nodes(*nodes):
    graph = helper.make_graph(
        [helper.make_node("Relu", [read], [made], name=f"make {made}") for read, made in nodes],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])],
        [helper.make_tensor_value_info("b", TensorProto.FLOAT, [1])],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def test_a_cycle_is_called_one(saved):
    saved.write_bytes(of_nodes(("b", "a"), ("a", "b")).SerializeToString())

    with pytest.raises(ModelError, match="the network has a cycle: '[ab]' needs itself"):
        load_model(saved)


def test_nodes_in_another_order_are_told(saved):
    saved.write_bytes(of_nodes(("a", "b"), ("x", "a")).SerializeToString())

    with pytest.raises(ModelError, match=r"node 'make b' reads 'a' before it is computed"):
        load_model(saved)


def test_external_data_beside_the_model_is_read(tmp_path):
    path = save_external(tmp_path, "w.bin")

    network = import_model(load_model(path))

    assert np.array_equal(network.constants["w"], import_model(model()).constants["w"])


@pytest.mark.parametrize(
    "location", ["../w.bin", "sub/../../w.bin", "/etc/passwd", "C:\\w.bin", "", "w.bin\0x"]
)
def test_external_data_outside_of_the_folder_is_refused(tmp_path, location):
    folder = tmp_path / "inner"
    folder.mkdir()
    (tmp_path / "w.bin").write_bytes(bytes(432))

    with pytest.raises(ModelError, match="tensor 'w': .* is not a path inside of the model's"):
        load_model(save_external(folder, location))


def test_external_data_through_a_link_is_refused(tmp_path):
    folder = tmp_path / "inner"
    folder.mkdir()
    (tmp_path / "secret").write_bytes(bytes(432))
    (folder / "link").symlink_to(tmp_path / "secret")

    with pytest.raises(ModelError, match="'link' leads through a link"):
        load_model(save_external(folder, "link"))


def test_external_data_through_a_linked_folder_is_refused(tmp_path):
    folder, other = tmp_path / "inner", tmp_path / "other"
    folder.mkdir()
    other.mkdir()
    (other / "w").write_bytes(bytes(432))
    (folder / "sub").symlink_to(other)

    with pytest.raises(ModelError, match="leads through a link"):
        load_model(save_external(folder, "sub/w"))


def test_external_data_of_another_name_is_refused(tmp_path):
    """A hard link is no link to be seen, and leads as far."""
    folder = tmp_path / "inner"
    folder.mkdir()
    (tmp_path / "secret").write_bytes(bytes(432))
    (folder / "link").hardlink_to(tmp_path / "secret")

    with pytest.raises(ModelError, match="'link' is a hard link"):
        load_model(save_external(folder, "link"))


def save_body(folder: Path, location: str) -> Path:
    """Save a model whose weights stand in the branch of a node, and claim to lie elsewhere."""
    info = helper.make_tensor_value_info
    branch = helper.make_graph(
        [helper.make_node("Add", ["x", "w"], ["a"])],
        "then",
        [],
        [info("a", TensorProto.FLOAT, [3])],
    )
    weights = branch.initializer.add(name="w", data_type=TensorProto.FLOAT, dims=[3])
    weights.data_location = TensorProto.EXTERNAL
    weights.external_data.add(key="location", value=location)
    other = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["b"])], "else", [], [info("b", TensorProto.FLOAT, [3])]
    )
    choice = helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=other)
    always = numpy_helper.from_array(np.array(True), "c")
    values = [info(name, TensorProto.FLOAT, [3]) for name in "xy"]
    graph = helper.make_graph([choice], "net", values[:1], values[1:], [always])
    opsets = [helper.make_opsetid("", 17)]
    path = folder / "model.onnx"
    path.write_bytes(
        helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()
    )
    return path


def test_external_data_of_a_body_lies_beside_the_model_too(tmp_path, monkeypatch):
    weights = np.array([1, 2, 3], np.float32)
    (tmp_path / "w.bin").write_bytes(weights.tobytes())
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    Path("w.bin").write_bytes(bytes(12))

    network = import_model(load_model(save_body(tmp_path, "w.bin")))

    assert any(np.array_equal(array, weights) for array in network.constants.values())


def test_external_data_of_a_body_outside_of_the_folder_is_refused(tmp_path):
    with pytest.raises(ModelError, match="tensor 'w': .* is not a path inside of the model's"):
        load_model(save_body(tmp_path, "/etc/hostname"))


def test_missing_external_data(tmp_path):
    with pytest.raises(ModelError, match=r"'gone\.bin' does not exist beside the model"):
        load_model(save_external(tmp_path, "gone.bin"))


@pytest.mark.parametrize(
    ("entries", "text"),
    [
        ({"offset": 400}, "its data does not match|not a valid ONNX"),
        ({"offset": 1000}, "lie outside of"),
        ({"length": 1000}, "lie outside of"),
        ({"offset": -4}, "offset '-4' is not a number"),
        ({"length": "9" * 30}, "is not a number"),
    ],
)
def test_external_data_of_a_wrong_size(tmp_path, entries, text):
    with pytest.raises(ModelError, match=text):
        import_model(load_model(save_external(tmp_path, "w.bin", **entries)))


def test_weights_shorter_than_their_shape(saved):
    broken = model()
    broken.graph.initializer[0].dims[0] = 2**40
    saved.write_bytes(broken.SerializeToString())

    with pytest.raises(ModelError):
        import_model(load_model(saved))


def test_more_axes_than_any_tensor_has(saved):
    saved.write_bytes(model((1,) * 65).SerializeToString())

    with pytest.raises(ModelError, match="input 'x' has 65 axes, more than 64"):
        load_model(saved)


def test_thousands_of_nodes_in_a_row(saved):
    """More than calls may be nested."""
    nodes = [("x", "0"), *((str(number), str(number + 1)) for number in range(4998))]
    saved.write_bytes(of_nodes(*nodes, ("4998", "b")).SerializeToString())

    assert len(import_model(load_model(saved)).graph.ops) == 5000 > sys.getrecursionlimit()


def test_a_dynamic_shape_is_refused_with_the_remedy(saved):
    saved.write_bytes(model(("N", 3, 8, None)).SerializeToString())

    with pytest.raises(ModelError) as caught:
        load_model(saved)

    assert "input 'x' has the dynamic shape [N, 3, 8, ?]" in str(caught.value)
    assert "hint: fix it: --shape x=1,3,8,1" in str(caught.value)


def test_an_extent_of_zero_is_not_called_dynamic(saved):
    saved.write_bytes(model((0, 3, 8, 8)).SerializeToString())

    with pytest.raises(ModelError) as caught:
        load_model(saved)

    assert "input 'x' has no elements: its shape is [0, 3, 8, 8]" in str(caught.value)
    assert "hint: where 0 stands for an unknown extent: --shape x=1,3,8,8" in str(caught.value)


def test_a_dynamic_shape_can_be_fixed(saved):
    saved.write_bytes(model(("N", 3, "H", "W")).SerializeToString())

    network = import_model(load_model(saved, shapes={"x": (2, 3, 8, 9)}))

    assert network.graph.inputs[0].type.shape == (2, 3, 8, 9)
    assert network.graph.ops[0].result.type.shape == (2, 4, 6, 7)


def test_a_dynamic_axis_can_be_fixed_by_its_name(saved):
    saved.write_bytes(model(("N", 3, "size", "size")).SerializeToString())

    found = load_model(saved, shapes={"N": (2,), "size": (8,)})

    assert import_model(found).graph.inputs[0].type.shape == (2, 3, 8, 8)


def test_an_input_goes_before_an_axis(saved):
    saved.write_bytes(model(("x", 3, 8, 8)).SerializeToString())

    found = load_model(saved, shapes={"x": (2, 3, 8, 8)})

    assert import_model(found).graph.inputs[0].type.shape == (2, 3, 8, 8)


@pytest.mark.parametrize(
    ("shapes", "text"),
    [
        ({"M": (2,)}, "no input of the model and no axis\n  hint: inputs: x; axes: N, H"),
        ({"N": (2, 3)}, "--shape N=2,3: an axis has one extent, 1 or more"),
        ({"N": (0,)}, "--shape N=0: an axis has one extent, 1 or more"),
    ],
)
def test_an_axis_that_does_not_suit(saved, shapes, text):
    saved.write_bytes(model(("N", 3, "H", 8)).SerializeToString())

    with pytest.raises(OptionError) as caught:
        load_model(saved, shapes=shapes)

    assert text in str(caught.value)


def test_an_input_without_any_shape_can_be_fixed(saved):
    saved.write_bytes(model(None).SerializeToString())

    with pytest.raises(ModelError, match="input 'x' has no shape"):
        load_model(saved)
    assert load_model(saved, shapes={"x": (2, 3, 8, 9)})


@pytest.mark.parametrize(
    ("shapes", "text"),
    [
        ({"z": (1,)}, "--shape names 'z', which is no input of the model and no axis"),
        ({"x": (1, 3, 8)}, "--shape x=1,3,8 has rank 3, the model says 4"),
        ({"x": (1, 5, 8, 8)}, "--shape x=1,5,8,8 contradicts the model's 3"),
        ({"x": (0, 3, 8, 8)}, "extents must be 1 to"),
    ],
)
def test_a_shape_that_does_not_suit(saved, shapes, text):
    with pytest.raises(OptionError) as caught:
        load_model(saved, shapes=shapes)

    assert text in str(caught.value)


def _attempt(path: Path, blob: bytes) -> None:
    path.write_bytes(blob)
    try:
        import_model(load_model(path))
    except ModelError:
        return


def test_truncations_and_flipped_bytes_raise_nothing_but_model_errors(saved):
    whole, dice = saved.read_bytes(), random.Random(5)
    for _ in range(examples(75)):
        _attempt(saved, whole[: dice.randrange(len(whole))])
    for _ in range(examples(150)):
        blob = bytearray(whole)
        for _ in range(dice.randrange(1, 4)):
            blob[dice.choice((dice.randrange(len(blob)), dice.randrange(60)))] = dice.randrange(256)
        _attempt(saved, bytes(blob))


def test_random_bytes_raise_nothing_but_model_errors(saved):
    dice = random.Random(6)
    for size in range(0, 200, 200 // examples(100)):
        _attempt(saved, dice.randbytes(size))
