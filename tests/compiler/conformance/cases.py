"""Cases for tests of the runner, made from ONNX's own."""

import os
from dataclasses import replace

import numpy as np

from accnn.compiler.conformance.judge import CaseOutcome, Status
from accnn.models.onnx_cases import DataSet, NodeCase, node_cases


def relu() -> NodeCase:
    return next(case for case in node_cases(["Relu"]) if case.name == "test_relu")


def expecting(case: NodeCase, *outputs: object) -> NodeCase:
    """Return a case with other expected outputs."""
    (data,) = case.data_sets
    return replace(case, data_sets=(DataSet(data.inputs, outputs),))  # pyright: ignore[reportArgumentType]


def right(case: NodeCase) -> np.ndarray:
    (data,) = case.data_sets
    assert isinstance(data.outputs[0], np.ndarray)
    return data.outputs[0]


class Deadly:
    """Ends the process that unpickles it."""

    def __reduce__(self):
        return os._exit, (1,)


def verdict(case: str, status: Status, operator: str = "Relu", **fields: object) -> CaseOutcome:
    """Return a made-up verdict."""
    known = {"tier": 1, "plain": True, "expanded": False, "reason": ""}
    return CaseOutcome(case=case, operator=operator, status=status, **{**known, **fields})  # pyright: ignore[reportArgumentType]
