"""ONNX's node cases as values: which are made, what they read."""

import numpy as np
import pytest

from accnn.models.onnx_cases import NodeCase, node_cases


@pytest.fixture(scope="module")
def softmax() -> dict[str, NodeCase]:
    return {case.name: case for case in node_cases(["Softmax"])}


def test_cases_of_one_operator_are_sorted_by_name(softmax: dict[str, NodeCase]):
    assert "test_softmax_axis_0" in softmax
    assert list(softmax) == sorted(softmax)
    assert {case.operator for case in softmax.values()} == {"Softmax"}


def test_an_expanded_case_counts_for_the_operator_that_was_expanded(
    softmax: dict[str, NodeCase],
):
    expanded, whole = softmax["test_softmax_axis_0_expanded"], softmax["test_softmax_axis_0"]

    assert expanded.expanded
    assert not whole.expanded
    assert expanded.model.graph.node[0].op_type != "Softmax"


def test_inputs_go_by_name(softmax: dict[str, NodeCase]):
    case = softmax["test_softmax_example"]
    (data,) = case.data_sets

    assert {name: array.shape for name, array in case.arrays(data).items()} == {"x": (1, 3)}
    assert isinstance(data.outputs[0], np.ndarray)


def test_plain_types_are_told_from_others():
    cases = {case.name: case for case in node_cases(["Add", "Identity"])}

    assert cases["test_add"].plain
    assert cases["test_add_int8"].plain
    assert not cases["test_add_uint64"].plain
    assert not cases["test_identity_sequence"].plain
