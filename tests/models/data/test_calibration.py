"""Calibration data: files and folders, and every way in which they can be wrong."""

import numpy as np
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from accnn.ir.errors import OptionError
from accnn.models.data.calibration import InputSpec, index_bounds, read_samples

IMAGE = InputSpec(name="x", shape=(2, 3), dtype=np.dtype(np.float32))
MASK = InputSpec(name="m", shape=(2,), dtype=np.dtype(np.int64))


def images(samples: int = 1) -> np.ndarray:
    return np.arange(samples * 6, dtype=np.float32).reshape(2 * samples, 3)


def test_an_array_holds_several_samples(tmp_path):
    np.savez(tmp_path / "d.npz", x=images(3))
    samples = [s["x"] for s in read_samples(tmp_path / "d.npz", (IMAGE,))]

    assert len(samples) == 3
    np.testing.assert_array_equal(np.concatenate(samples), images(3))


def test_a_folder_is_read_in_the_order_of_names(tmp_path):
    np.save(tmp_path / "b.npy", images() + 1)
    np.savez(tmp_path / "a.npz", x=images())
    (tmp_path / "notes.txt").write_text("not data")
    first, second = (s["x"] for s in read_samples(tmp_path, (IMAGE,)))

    np.testing.assert_array_equal(first + 1, second)


def test_inputs_are_matched_by_name(tmp_path):
    np.savez(tmp_path / "d.npz", m=np.array([0, 1]), x=images())
    (sample,) = read_samples(tmp_path / "d.npz", (IMAGE, MASK))

    assert {name: array.dtype for name, array in sample.items()} == {"x": "f4", "m": "i8"}


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"y": images()}, r"holds the arrays 'y', but the model's inputs are 'x'"),
        ({}, r"holds the arrays none, but the model's inputs are 'x'"),
        ({"x": images().astype(float)}, "'x' is float64, the model reads float32"),
        ({"x": images()[:, :2]}, r"'x' has the shape \[2, 2\], the model reads \[2, 3\]"),
        ({"x": images(2)[:3]}, r"'x' has the shape \[3, 3\], the model reads \[2, 3\]"),
        ({"x": images()[:0]}, r"'x' has the shape \[0, 3\], the model reads \[2, 3\]"),
        ({"x": np.array([{}], dtype=object)}, "not readable as NumPy data: Object arrays"),
    ],
)
def test_arrays_that_do_not_suit_the_model_are_refused(tmp_path, arrays, message):
    np.savez(tmp_path / "d.npz", allow_pickle=True, **arrays)

    with pytest.raises(OptionError, match=message):
        list(read_samples(tmp_path / "d.npz", (IMAGE,)))


def test_inputs_with_different_numbers_of_samples_are_refused(tmp_path):
    np.savez(tmp_path / "d.npz", x=images(2), m=np.array([0, 1]))

    with pytest.raises(OptionError, match="different numbers of samples: 'x' 2, 'm' 1"):
        list(read_samples(tmp_path / "d.npz", (IMAGE, MASK)))


def test_one_array_for_two_inputs_is_refused(tmp_path):
    np.save(tmp_path / "d.npy", images())

    with pytest.raises(OptionError, match="the model has 2 inputs; use .npz files"):
        list(read_samples(tmp_path / "d.npy", (IMAGE, MASK)))


@pytest.mark.parametrize("name", ["d.npz", "d.npy"])
@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 broken", b"\x93NUMPY broken"])
def test_damaged_files_are_refused(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)

    with pytest.raises(OptionError, match="not readable as NumPy data"):
        list(read_samples(tmp_path / name, (IMAGE,)))


def test_a_missing_path_is_refused(tmp_path):
    with pytest.raises(OptionError, match="does not exist"):
        list(read_samples(tmp_path / "d.npz", (IMAGE,)))


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(OptionError, match="holds no .npz or .npy file"):
        list(read_samples(tmp_path, (IMAGE,)))


def test_another_kind_of_file_is_refused(tmp_path):
    (tmp_path / "d.csv").write_text("1,2")

    with pytest.raises(OptionError, match="neither .npz nor .npy nor a folder"):
        list(read_samples(tmp_path / "d.csv", (IMAGE,)))


def model(*nodes: NodeProto) -> ModelProto:
    infos = [helper.make_tensor_value_info(n, TensorProto.INT64, (2,)) for n in ("i", "j")]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    tables = [
        numpy_helper.from_array(np.zeros((30, 5), np.float32), "wide"),
        numpy_helper.from_array(np.zeros((20, 5), np.float32), "low"),
    ]
    return helper.make_model(helper.make_graph(nodes, "net", infos, [output], tables))


def gather(table: str, indices: str, **attributes: int) -> NodeProto:
    return helper.make_node("Gather", [table, indices], ["y"], **attributes)


def test_an_index_is_below_the_extent_of_its_axis():
    assert index_bounds(model(gather("wide", "i"))) == {"i": 30}
    assert index_bounds(model(gather("wide", "i", axis=1))) == {"i": 5}


def test_the_least_extent_counts():
    assert index_bounds(model(gather("wide", "i"), gather("low", "i"))) == {"i": 20}


def test_casts_and_moves_are_followed():
    cast = helper.make_node("Cast", ["j"], ["c"], to=TensorProto.INT32)
    wide = helper.make_node("Unsqueeze", ["c", "axes"], ["u"])

    assert index_bounds(model(cast, wide, gather("low", "u"))) == {"j": 20}


def test_what_is_gathered_from_a_result_is_unknown():
    computed = helper.make_node("Relu", ["wide"], ["r"])

    assert index_bounds(model(computed, gather("r", "i"))) == {}
