"""Random networks of any operators: onnxruntime runs them, and every operator is drawn."""

import random
from functools import cache

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import ModelProto

from accnn.models.onnx_import.table import OPERATORS

from . import any_network

NETWORKS, PARTS = 2000, 5
NOT_DRAWN = {
    "OptionalGetElement": "its operand is no tensor",
    "OptionalHasElement": "its operand is no tensor",
    "Scatter": "no opset after 10 has it",
    "Swish": "onnxruntime cannot run it",
    "Upsample": "no opset after 9 has it",
}
"""Judged by ONNX's own test cases alone, and why."""


@cache
def network(number: int) -> ModelProto:
    return any_network(random.Random(number).choice)


def sample_of(model: ModelProto) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {
        item.name: rng.standard_normal(
            [dim.dim_value for dim in item.type.tensor_type.shape.dim]
        ).astype(np.float32)
        for item in model.graph.input
    }


def test_every_operator_is_drawn():
    drawn = {(node.domain, node.op_type) for i in range(NETWORKS) for node in network(i).graph.node}

    missing = {kind for domain, kind in OPERATORS if (domain, kind) not in drawn}
    assert missing == set(NOT_DRAWN)


@pytest.mark.parametrize("numbers", [range(part, 100, PARTS) for part in range(PARTS)], ids=str)
def test_onnxruntime_runs_them(numbers: range):
    for number in numbers:
        model = network(number)
        onnx.checker.check_model(model, full_check=True)
        session = ort.InferenceSession(
            model.SerializeToString(), providers=["CPUExecutionProvider"]
        )
        (declared,) = model.graph.output
        (result,) = session.run(None, sample_of(model))
        shape = tuple(dim.dim_value for dim in declared.type.tensor_type.shape.dim)
        assert result.shape == shape and result.dtype == np.float32


def test_the_same_number_gives_the_same_network():
    again = any_network(random.Random(5).choice)

    assert again.SerializeToString(deterministic=True) == network(5).SerializeToString(
        deterministic=True
    )
