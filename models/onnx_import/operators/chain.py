"""Several operators in a row that one ONNX node becomes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ....ir.graph import Attr
from ....ir.operators.elementary import Array
from ....ir.resources import numpy_dtype
from ....ir.types import DType, Quantization
from ..builder import Builder
from ..node import Node


@dataclass(frozen=True)
class Chain:
    """Adds operators that come from one node; they are named after its first output.

    Attributes:
        node: The ONNX node.
        b: The graph under construction.
    """

    node: Node
    b: Builder

    def __call__(self, kind: str, *operands: str, dtype: DType | None = None, **attrs: Attr) -> str:
        """Add an operator and return its result.

        Args:
            kind: Its kind.
            operands: Values that it reads.
            dtype: Element type of the result where the kind does not decide it.
            attrs: Its attributes.
        """
        return self.emit(kind, operands, attrs, dtype=dtype)

    def emit(
        self,
        kind: str,
        operands: Sequence[str],
        attrs: Mapping[str, Attr],
        *,
        dtype: DType | None = None,
        quant: Quantization | None = None,
    ) -> str:
        """Add an operator whose attributes are given as a mapping, and return its result.

        Args:
            kind: Its kind.
            operands: Values that it reads.
            attrs: Its attributes.
            dtype: Element type of the result where the kind does not decide it.
            quant: Quantisation of the result.
        """
        name = f"{self.node.outputs[0]}.{kind}"
        return self.b.emit(kind, operands, name, self.node, attrs=attrs, dtype=dtype, quant=quant)

    def input(self, index: int) -> str:
        """Return an input of the node as a value of the graph."""
        return self.b.value(self.node.input(index))

    def shape(self, value: str) -> tuple[int, ...]:
        """Return the shape of a value."""
        return self.b.types[value].shape

    def dtype(self, value: str) -> DType:
        """Return the element type of a value."""
        return self.b.types[value].dtype

    def constant(self, array: npt.ArrayLike, dtype: DType = DType.F32) -> str:
        """Return a constant of an element type."""
        held: Array = np.asarray(array, numpy_dtype(dtype))
        return self.b.constant(f"{self.node.outputs[0]}.constant", held)

    def like(self, number: float, value: str) -> str:
        """Return a constant of the element type of a value."""
        return self.constant(number, self.dtype(value))

    def cast(self, value: str, dtype: DType) -> str:
        """Return a value as numbers of a type."""
        return value if self.dtype(value) is dtype else self("cast", value, dtype=dtype)

    def reshape(self, value: str, shape: Sequence[int]) -> str:
        """Return a value under another shape."""
        if self.shape(value) == tuple(shape):
            return value
        return self("reshape", value, shape=tuple(shape))

    def transpose(self, value: str, perm: Sequence[int]) -> str:
        """Return a value with its axes in another order; a constant is permuted at once."""
        if tuple(perm) == tuple(range(len(perm))):
            return value
        return self.b.transpose(value, tuple(perm), f"{self.node.outputs[0]}.turned", self.node)

    def expand(self, value: str, shape: Sequence[int]) -> str:
        """Return a value broadcast to a shape."""
        if self.shape(value) == tuple(shape):
            return value
        return self("expand", value, shape=tuple(shape))

    def slice(self, value: str, axis: int, start: int, count: int, step: int = 1) -> str:
        """Return every ``step``-th of a value's slices along an axis.

        Args:
            value: The value.
            axis: The axis.
            start: The first index.
            count: How many.
            step: From one to the next; negative ones go back.
        """
        shape = self.shape(value)
        if (start, count, step) == (0, shape[axis], 1):
            return value
        starts, steps, extents = [0] * len(shape), [1] * len(shape), list(shape)
        starts[axis], steps[axis], extents[axis] = start, step, count
        return self("slice", value, starts=tuple(starts), steps=tuple(steps), shape=tuple(extents))

    def bind(self, value: str, output: int = 0) -> None:
        """Let an output of the node be a value."""
        self.b.bind(self.node.outputs[output], value)
