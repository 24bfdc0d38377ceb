"""Classes of examples: against labels, and against a float model."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from accnn.ir.errors import OptionError
from accnn.ir.report import Accuracy
from accnn.models.accuracy import measure_accuracy

CLASSES = 7


def scorer(order=None, *, outputs=(2, CLASSES)):
    """A model whose score of class ``c`` is input ``order[c]``."""
    matrix = np.eye(CLASSES, dtype=np.float32)[:, list(order or range(CLASSES))]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, CLASSES])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, list(outputs))
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["scores"]),
        helper.make_node("Reshape", ["scores", "shape"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [x],
        [y],
        [numpy_helper.from_array(matrix, "w"), numpy_helper.from_array(np.array(outputs), "shape")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)


@pytest.fixture
def save(tmp_path):
    """Write examples, of which class ``c`` has the highest score and the next ones less."""

    def save(classes, **arrays):
        path = tmp_path / "examples.npz"
        x = -((np.arange(CLASSES)[None] - np.array(classes)[:, None]) % CLASSES)
        np.savez(path, x=x.astype(np.float32), **arrays)
        return path

    return save


def test_against_labels_and_the_float_model(save):
    swapped = scorer((1, 0, 2, 3, 4, 5, 6))  # gives 1 where the float model gives 0
    path = save([0, 1, 2, 3], labels=np.array([0, 1, 2, 0]))

    assert measure_accuracy(path, swapped, scorer()) == Accuracy(
        data="examples.npz",
        samples=4,
        top1_agreement=0.5,
        top5_agreement=0.75,  # class 1 first makes class 0 last, which comes to be class 1
        top1=0.25,
        top5=0.5,
        float_top1=0.75,
        float_top5=1.0,
    )


def test_without_labels_there_is_agreement_alone(save):
    found = measure_accuracy(save([4, 5]), scorer(), scorer())

    assert found == Accuracy(data="examples.npz", samples=2, top1_agreement=1.0, top5_agreement=1.0)


def test_without_a_float_model_there_are_labels_alone(save):
    path = save([4, 5], labels=np.array([4, 0]))

    found = measure_accuracy(path, scorer(), None)

    assert (found.top1, found.top5) == (0.5, 1.0)
    assert found.top1_agreement is None and found.float_top1 is None


def test_with_neither_there_is_nothing_to_compare(save):
    with pytest.raises(OptionError, match="holds no array 'labels'.*no float network"):
        measure_accuracy(save([4, 5]), scorer(), None)


def test_positions_of_extent_one_are_scores_too(save):
    found = measure_accuracy(save([4, 5]), scorer(outputs=(2, CLASSES, 1, 1)), scorer())

    assert found.top1_agreement == 1.0


@pytest.mark.parametrize("outputs", [(14,), (2, 1, 7), (1, 2, 7)])
def test_other_outputs_are_no_scores(save, outputs):
    with pytest.raises(OptionError, match="not one score for each class"):
        measure_accuracy(save([4, 5]), scorer(outputs=outputs), scorer())


@pytest.mark.parametrize("label", [-1, CLASSES])
def test_a_label_that_is_no_class_is_refused(save, label):
    with pytest.raises(OptionError, match=f"label {label} is no class; there are {CLASSES}"):
        measure_accuracy(save([4, 5], labels=np.array([0, label])), scorer(), None)


def test_as_many_labels_as_examples(save):
    with pytest.raises(OptionError, match="different numbers of samples"):
        measure_accuracy(save([4, 5], labels=np.zeros(4, np.int64)), scorer(), None)


def test_labels_are_integers(save):
    with pytest.raises(OptionError, match="'labels' is float64, the model reads int64"):
        measure_accuracy(save([4, 5], labels=np.zeros(2)), scorer(), None)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(OptionError, match="does not exist"):
        measure_accuracy(tmp_path / "none.npz", scorer(), scorer())
