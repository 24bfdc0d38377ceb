"""ONNX tensors as arrays and element types."""

from collections.abc import Mapping

import numpy as np
from onnx import TensorProto, numpy_helper

from ...ir.errors import ModelError
from ...ir.operators.elementary import Array
from ...ir.types import DType

_SUPPORTED: Mapping[int, DType] = {
    TensorProto.FLOAT: DType.F32,
    TensorProto.INT8: DType.S8,
    TensorProto.UINT8: DType.U8,
    TensorProto.INT16: DType.S16,
    TensorProto.UINT16: DType.U16,
    TensorProto.INT32: DType.S32,
    TensorProto.UINT32: DType.U32,
    TensorProto.INT64: DType.S64,
    TensorProto.UINT64: DType.U64,
    TensorProto.BOOL: DType.BOOL,
}
"""What a network may compute with; shape arithmetic and constants may use any type."""


OTHER_FLOATS = frozenset({TensorProto.FLOAT16, TensorProto.DOUBLE})
"""Types of numbers that are computed in float32.

Not so bfloat16: with its 8 bits, what it rounds in between shows in every result.
"""


def element_type(code: int, what: str) -> DType:
    """Return the element type for ONNX's code.

    Raises:
        ModelError: The type is not supported.
    """
    if code not in _SUPPORTED:
        names = ", ".join(TensorProto.DataType.Name(known).lower() for known in _SUPPORTED)
        raise ModelError(f"{what} has element type {type_name(code)}; supported: {names}")
    return _SUPPORTED[code]


def computed_type(code: int, what: str) -> DType:
    """Return the element type in which ONNX's type is computed: floats of any width in float32.

    Raises:
        ModelError: The type is not supported.
    """
    return DType.F32 if code in OTHER_FLOATS else element_type(code, what)


def element_code(dtype: DType) -> int:
    """Return ONNX's code for an element type."""
    return next(code for code, found in _SUPPORTED.items() if found is dtype)


def to_array(tensor: TensorProto) -> Array:
    """Return the content of a tensor.

    Raises:
        ModelError: Its data does not match its shape and type.
    """
    try:
        array = numpy_helper.to_array(tensor)
    except (ValueError, TypeError, KeyError, OverflowError, MemoryError) as error:
        raise ModelError(
            f"constant {tensor.name!r}: its data does not match its type and shape ({error})"
        ) from error
    if array.dtype == object:
        raise ModelError(f"constant {tensor.name!r} holds strings")
    return np.asarray(array)


def type_name(code: int) -> str:
    """Return ONNX's name of an element type, its code where it has none."""
    known = TensorProto.DataType.values()
    return TensorProto.DataType.Name(code).lower() if code in known else str(code)
