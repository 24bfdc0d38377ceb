"""Networks that fail are made as small as what is wrong with them."""

import onnx
import pytest

from .draws import Draw, Outcome, Verdict, is_same
from .reduce import reduced


def kinds(model: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in model.graph.node]


@pytest.mark.parametrize("kind", ["MaxPool", "Softmax", "Conv", "TopK", "Cast"])
def test_what_is_left_is_what_is_wrong(kind: str) -> None:
    models = (Draw(11, number, steps=8).model for number in range(2000))
    model = next(item for item in models if kind in kinds(item) and len(kinds(item)) > 5)
    tried: list[onnx.ModelProto] = []

    def fails(candidate: onnx.ModelProto) -> bool:
        tried.append(candidate)
        onnx.checker.check_model(candidate, full_check=True)
        return kind in kinds(candidate)

    found = reduced(model, fails)

    assert kinds(found) == [kind]
    assert all(len(kinds(item)) < len(kinds(model)) for item in tried)


def test_two_that_fail_together_remain_together() -> None:
    models = (Draw(12, number, steps=8).model for number in range(1000))
    model = next(item for item in models if {"Conv", "Relu"} <= set(kinds(item)))

    found = reduced(model, lambda candidate: {"Conv", "Relu"} <= set(kinds(candidate)))

    assert {"Conv", "Relu"} <= set(kinds(found))
    assert len(kinds(found)) <= 4


def test_what_does_not_fail_when_smaller_remains_as_it_is() -> None:
    model = Draw(11, 3).model

    assert reduced(model, lambda _: False) is model
    assert reduced(model, lambda _: True, trials=0) is model


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (Outcome(Verdict.ERROR, "line 7\naccnn.ir.errors.SimulationError: mx0[3]: rf"), True),
        (Outcome(Verdict.ERROR, "line 7\nKeyError: 3"), False),
        (Outcome(Verdict.WRONG, "failed: y: 3"), False),
        (Outcome(Verdict.RIGHT), False),
    ],
)
def test_errors_of_one_class_are_the_same(other: Outcome, same: bool) -> None:
    first = Outcome(Verdict.ERROR, "line 1\naccnn.ir.errors.SimulationError: mx0[9]: ab")

    assert is_same(first, other) == same
