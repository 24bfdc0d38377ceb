"""ONNX tensors as arrays and element types."""

from collections.abc import Mapping

import numpy as np
from onnx import TensorProto, numpy_helper

from ...ir.elementary import Array, Floats, dequantize
from ...ir.errors import ModelError
from ...ir.types import DType, TensorType

_SUPPORTED: Mapping[int, DType] = {
    TensorProto.FLOAT: DType.F32,
    TensorProto.INT8: DType.S8,
    TensorProto.UINT8: DType.U8,
    TensorProto.INT16: DType.S16,
    TensorProto.UINT16: DType.U16,
    TensorProto.INT32: DType.S32,
    TensorProto.INT64: DType.S64,
    TensorProto.BOOL: DType.BOOL,
}
"""What a network may compute with; shape arithmetic and constants may use any type."""


def element_type(code: int, what: str) -> DType:
    """Return the element type for ONNX's code.

    Raises:
        ModelError: The type is not supported.
    """
    if code not in _SUPPORTED:
        names = ", ".join(TensorProto.DataType.Name(known).lower() for known in _SUPPORTED)
        raise ModelError(f"{what} has element type {_type_name(code)}; supported: {names}")
    return _SUPPORTED[code]


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


def dequantized(array: Array, found: TensorType) -> Floats:
    """Return the numbers that a quantised constant stands for."""
    assert found.quant is not None, "the operator table demands it"
    shape = [1] * array.ndim
    if found.quant.axis is not None:
        shape[found.quant.axis] = -1
    scale = np.array(found.quant.scale, np.float32).reshape(shape)
    return dequantize(array, scale, np.array(found.quant.zero_point).reshape(shape))


def _type_name(code: int) -> str:
    known = TensorProto.DataType.values()
    return TensorProto.DataType.Name(code).lower() if code in known else str(code)
