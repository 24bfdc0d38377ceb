"""A step of a random network, and what steps have in common."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from onnx import TensorProto

from tests.end_to_end.random_onnx import Sketch, Tensor

MOST_ELEMENTS = 6000
"""Of a result; a step that would make more is not taken."""


@dataclass(frozen=True)
class Step:
    """Some operators after a tensor of floats, ending in a tensor of floats.

    Attributes:
        run: Adds them.
        first: Oldest opset that has them all.
        ranks: Of tensors that it takes.
        most: Elements of tensors that it takes.
    """

    run: Callable[[Sketch, Tensor], Tensor]
    first: int = 13
    ranks: tuple[int, ...] = (1, 2, 3, 4, 5)
    most: int = MOST_ELEMENTS

    def fits(self, net: Sketch, x: Tensor) -> bool:
        """Whether it may come after a tensor."""
        is_known = net.opset is not None and net.opset >= self.first
        return is_known and len(x.shape) in self.ranks and x.elements <= self.most


def positive(net: Sketch, x: Tensor) -> Tensor:
    """Return numbers of one half and more."""
    return net.apply("Add", net.apply("Abs", x), net.scalar(0.5))


def within(net: Sketch, x: Tensor, most: float = 0.9) -> Tensor:
    """Return numbers between a negative and its positive."""
    return net.apply("Mul", net.apply("Tanh", x), net.scalar(most))


def floats(net: Sketch, x: Tensor) -> Tensor:
    """Return numbers or truth values as floats."""
    return net.apply("Cast", x, to=TensorProto.FLOAT)


def whole(net: Sketch, x: Tensor, kind: int, most: float = 15.0) -> Tensor:
    """Return whole numbers from zero on, of a type of integers."""
    scaled = net.apply("Mul", x, net.scalar(4.0))
    clipped = net.apply("Clip", scaled, net.scalar(0.0), net.scalar(most))
    return net.apply("Cast", net.apply("Round", clipped), to=kind)


def axis_of(net: Sketch, x: Tensor) -> int:
    """Return an axis, counted from the front or from the back."""
    rank = len(x.shape)
    return net.one_of(*range(-rank, rank))


def integers(net: Sketch, *values: int) -> str:
    """Return the name of a constant vector of int64."""
    return net.constant(np.array(values, np.int64))


def reshaped(net: Sketch, x: Tensor, *shape: int) -> Tensor:
    """Return a tensor in another shape."""
    return net.apply("Reshape", x, integers(net, *shape))
