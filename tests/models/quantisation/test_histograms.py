"""Ranges that leave out rare values, against onnxruntime's own calibrators."""

import logging

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, create_calibrator

from accnn.models.quantisation.histograms import cut_ranges
from accnn.models.quantisation.prepare import prepare
from accnn.models.quantisation.ranges import CalibrationMethod as Method
from accnn.models.quantisation.ranges import measure_ranges

SIZE = 50_000


def doubled(size=SIZE):
    """A model that doubles a row."""
    row = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, size]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Add", ["x", "x"], ["y"])], "g", row[:1], row[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)


def rows(count=2, *, outlier=50.0, size=SIZE):
    """Normal numbers, one of which is far from all others."""
    rng = np.random.default_rng(0)
    found = [rng.normal(size=(1, size)).astype(np.float32) for _ in range(count)]
    found[-1][0, 7] = outlier
    return [{"x": row} for row in found]


def cut(model, samples, method, percentile=99.9):
    """Return the ranges that remain, by name."""
    prepared = prepare(model)
    whole = measure_ranges(prepared, samples)
    return cut_ranges(prepared, whole, samples, method, percentile).bounds


@pytest.mark.parametrize("method", [Method.PERCENTILE, Method.ENTROPY])
def test_one_value_far_off_is_left_out(method):
    whole = measure_ranges(prepare(doubled()), rows()).bounds["y"]
    low, high = cut(doubled(), rows(), method)["y"]

    assert whole[1] == 100.0
    assert -11 < low < -5 and 5 < high < 40


def test_a_percentile_holds_that_share_of_the_values():
    samples = rows(outlier=0.0)
    low, high = cut(doubled(), samples, Method.PERCENTILE, 90.0)["x"]

    values = np.concatenate([row["x"] for row in samples])
    assert np.mean((values >= low) & (values <= high)) == pytest.approx(0.9, abs=0.005)


def test_all_percent_are_the_whole_range_up_to_a_bin():
    whole = measure_ranges(prepare(doubled()), rows()).bounds["y"]

    found = cut(doubled(), rows(), Method.PERCENTILE, 100.0)["y"]

    np.testing.assert_allclose(found, whole, atol=2 * 100 / 2048)


def test_the_cuts_are_those_of_onnxruntime(tmp_path):
    path, samples = tmp_path / "model.onnx", rows(3)
    onnx.save(doubled(), path)

    class Reader(CalibrationDataReader):
        def __init__(self):
            self.left = list(samples)

        def get_next(self):
            return self.left.pop(0) if self.left else None

    logging.getLogger().addHandler(logging.NullHandler())
    calibrator = create_calibrator(
        path,
        augmented_model_path=tmp_path / "augmented.onnx",
        calibrate_method=CalibrationMethod.Percentile,
        extra_options={"symmetric": False, "percentile": 99.0},
    )
    calibrator.collect_data(Reader())
    theirs = calibrator.compute_data()["y"].range_value

    ours = cut(doubled(), samples, Method.PERCENTILE, 99.0)["y"]

    np.testing.assert_allclose(ours, [float(end) for end in theirs], rtol=1e-6)


def test_nothing_is_printed(capsys):
    cut(doubled(100), rows(size=100), Method.ENTROPY)

    assert capsys.readouterr().out == ""


def test_a_tensor_of_zeros_has_a_range():
    zeros = [{"x": np.zeros((1, 10), np.float32)}]

    for method in (Method.PERCENTILE, Method.ENTROPY):
        assert cut(doubled(10), zeros, method)["y"] == (0.0, 0.0)
