"""Typed views of the attributes that several operator kinds share."""

from dataclasses import dataclass, replace

import numpy as np

from ..graph import Op
from ..types import TensorType
from .elementary import Array
from .functions import FUNCTIONS, Activation


@dataclass(frozen=True, slots=True)
class Call:
    """A function with its numbers, as instructions have it.

    Attributes:
        act: Which function.
        a: Its first number, 0 where it has none.
        b: Its second number, 0 where it has none.
    """

    act: Activation
    a: float = 0.0
    b: float = 0.0

    def __call__(self, values: Array) -> Array:
        """Return the function of float32 values."""
        with np.errstate(all="ignore"):
            return FUNCTIONS[self.act].evaluate(values, self.a, self.b)


@dataclass(frozen=True, slots=True, kw_only=True)
class SlidingWindow:
    """A sliding window over the two last axes of ``[N, C, H, W]``.

    Attributes:
        kernel: Height and width of the window [tap].
        stride: Vertical and horizontal step [element].
        pads: Padding at the top, left, bottom and right [element].
        dilation: Vertical and horizontal distance of the taps [element].
        overhang: Further padding at the bottom and right, which an average never counts.
    """

    kernel: tuple[int, int]
    stride: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)
    dilation: tuple[int, int] = (1, 1)
    overhang: tuple[int, int] = (0, 0)

    def counting_overhang(self) -> "SlidingWindow":
        """Return the same window with its overhang turned into plain padding."""
        top, left, bottom, right = self.pads
        below, beside = self.overhang
        return replace(self, pads=(top, left, bottom + below, right + beside), overhang=(0, 0))

    def reach(self) -> tuple[int, int]:
        """Rows and columns from the first to the last tap, both included [element]."""
        (R, S), (dr, ds) = self.kernel, self.dilation
        return (R - 1) * dr + 1, (S - 1) * ds + 1

    def padded(self, height: int, width: int) -> tuple[int, int]:
        """Extents of the padded input, overhang included [element]."""
        top, left, bottom, right = self.pads
        return (
            height + top + bottom + self.overhang[0],
            width + left + right + self.overhang[1],
        )

    def output(self, height: int, width: int) -> tuple[int, int]:
        """Extents of the output; below one where the window does not fit [element]."""
        rows, columns = self.padded(height, width)
        reach_rows, reach_columns = self.reach()
        return (
            (rows - reach_rows) // self.stride[0] + 1,
            (columns - reach_columns) // self.stride[1] + 1,
        )


def has_attr(op: Op, name: str) -> bool:
    """Whether an operator carries an attribute."""
    return any(key == name for key, _ in op.attrs)


def optional_float(op: Op, name: str) -> float | None:
    """Return an attribute that is a number, ``None`` where it is absent."""
    return op.float(name) if has_attr(op, name) else None


def call_of(op: Op, act: Activation) -> Call:
    """Return a function with the numbers that an operator gives it."""
    numbers = (op.float(item.name, item.default) for item in FUNCTIONS[act].numbers)
    return Call(act, *numbers)


def activation_of(op: Op) -> Call:
    """Return the activation that a float operator applies to its result before it stores it."""
    return call_of(op, Activation(op.str("act", "none")))


def clamp_of(op: Op, result: TensorType) -> tuple[int, int]:
    """Return the inclusive bounds of an integer operator's quantised result.

    They are the attributes ``qlo`` and ``qhi`` where present, and else the range of the type.
    """
    low, high = result.dtype.range
    return op.int("qlo", low), op.int("qhi", high)


def window_of(op: Op, kernel: tuple[int, int] | None = None) -> SlidingWindow:
    """Return the window of a convolution or pooling operator.

    Args:
        op: The operator.
        kernel: Filter height and width of a convolution; pools carry it as an attribute.
    """
    return SlidingWindow(
        kernel=_pair(op, "kernel") if kernel is None else kernel,
        stride=_pair(op, "stride", (1, 1)),
        pads=_pads(op),
        dilation=_pair(op, "dilation", (1, 1)),
        overhang=_pair(op, "overhang", (0, 0)),
    )


def _pair(op: Op, name: str, default: tuple[int, int] | None = None) -> tuple[int, int]:
    first, second = op.ints(name, default)
    return first, second


def _pads(op: Op) -> tuple[int, int, int, int]:
    top, left, bottom, right = op.ints("pads", (0, 0, 0, 0))
    return top, left, bottom, right
