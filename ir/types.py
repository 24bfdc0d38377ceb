"""Element types, quantisation and tensor types."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from .errors import VerifyError


class DType(StrEnum):
    """Element type of a tensor; the value is its spelling in text."""

    F32 = "f32"
    F64 = "f64"
    S8 = "s8"
    U8 = "u8"
    S16 = "s16"
    U16 = "u16"
    S32 = "s32"
    S64 = "s64"
    BOOL = "bool"
    U32 = "u32"
    U64 = "u64"

    @property
    def bytes(self) -> int:
        """Size of one element [byte]."""
        return _BYTES[self]

    @property
    def is_integer(self) -> bool:
        """Whether values are integers (``bool`` is not)."""
        return self not in (DType.F32, DType.F64, DType.BOOL)

    @property
    def range(self) -> tuple[int, int]:
        """Smallest and largest value of an integer type.

        Raises:
            VerifyError: The type is not an integer type.
        """
        if not self.is_integer:
            raise VerifyError(f"{self} has no integer range")
        bits = 8 * self.bytes
        if self.startswith("u"):
            return 0, 2**bits - 1
        return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1


_BYTES = {
    DType.F32: 4,
    DType.F64: 8,
    DType.S8: 1,
    DType.U8: 1,
    DType.S16: 2,
    DType.U16: 2,
    DType.S32: 4,
    DType.U32: 4,
    DType.S64: 8,
    DType.U64: 8,
    DType.BOOL: 1,
}


@dataclass(frozen=True, slots=True)
class Quantization:
    """Affine quantisation ``real = scale * (q - zero_point)``.

    Attributes:
        scale: One value, or one per index of ``axis``; float32 values held exactly.
        zero_point: As many integers as there are scales.
        axis: Axis of per-channel quantisation, ``None`` for one scale per tensor.
    """

    scale: tuple[float, ...]
    zero_point: tuple[int, ...]
    axis: int | None = None

    @property
    def single(self) -> tuple[float, int]:
        """Scale and zero point of a tensor that has one of each."""
        return self.scale[0], self.zero_point[0]

    def permuted(self, perm: tuple[int, ...]) -> "Quantization":
        """Return the quantisation of the tensor with its axes permuted."""
        if self.axis is None:
            return self
        return Quantization(self.scale, self.zero_point, perm.index(self.axis))

    def taken(self, slices: Sequence[int], axis: int) -> "Quantization":
        """Return the quantisation of some slices of the tensor, one after the other along an axis.

        Args:
            slices: Which slice of the tensor, along its own axis, each of the new one is.
            axis: Axis of the new tensor.
        """
        scale = tuple(self.scale[index] for index in slices)
        return Quantization(scale, tuple(self.zero_point[index] for index in slices), axis)

    def verify(self, dtype: DType, shape: tuple[int, ...]) -> None:
        """Check that the parameters suit a tensor.

        Raises:
            VerifyError: Counts do not match, a scale is not positive and finite, or a zero
                point lies outside of the type's range.
        """
        if self.axis is not None and not 0 <= self.axis < len(shape):
            raise VerifyError(f"quantisation axis {self.axis} is outside of shape {shape}")
        count = 1 if self.axis is None else shape[self.axis]
        if len(self.scale) != count or len(self.zero_point) != count:
            raise VerifyError(
                f"quantisation has {len(self.scale)} scales and {len(self.zero_point)} zero "
                f"points where {count} are due"
            )
        if not all(math.isfinite(scale) and scale > 0 for scale in self.scale):
            raise VerifyError("a quantisation scale must be positive and finite")
        low, high = dtype.range
        if not all(low <= zero <= high for zero in self.zero_point):
            raise VerifyError(f"a zero point lies outside of [{low}, {high}]")


MOST_AXES = 64
"""Of a tensor: so many NumPy knows."""


@dataclass(frozen=True, slots=True)
class TensorType:
    """Type of a tensor: element type, static shape, and quantisation where it has one.

    Attributes:
        dtype: Element type.
        shape: Extents, outermost first; images are ``[N, C, H, W]``. ``()`` is a scalar.
        quant: Quantisation of an integer tensor, ``None`` for plain numbers.
    """

    dtype: DType
    shape: tuple[int, ...]
    quant: Quantization | None = None

    @property
    def elements(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        """Size in memory, densely packed [byte]."""
        return self.elements * self.dtype.bytes

    def verify(self) -> None:
        """Check extents and quantisation.

        Raises:
            VerifyError: There are too many axes, an extent is below one, or the quantisation does
                not suit the tensor.
        """
        if len(self.shape) > MOST_AXES:
            raise VerifyError(f"a tensor has {len(self.shape)} axes, more than {MOST_AXES}")
        if any(extent < 1 for extent in self.shape):
            raise VerifyError(f"shape {self.shape} has an extent below one")
        if self.quant is not None:
            if not self.dtype.is_integer:
                raise VerifyError(f"a {self.dtype} tensor cannot be quantised")
            self.quant.verify(self.dtype, self.shape)

    def __str__(self) -> str:
        return f"{self.dtype}<{'x'.join(str(extent) for extent in self.shape)}>"
