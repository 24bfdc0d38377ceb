"""Inputs of the network that the user binds to constant values, as for axes, sizes and widths."""

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
from onnx import ModelProto, TensorShapeProto, ValueInfoProto, helper, numpy_helper

from ....ir.errors import OptionError
from ....ir.operators.elementary import Array
from .shapes import run_time_inputs

ConstantValue: TypeAlias = "bool | int | float | tuple[ConstantValue, ...]"
"""A number, or a row of such values; rows of rows have the shape of the tensor."""

_OLDEST_WITHOUT_INPUTS = 4
"""The IR version since which an initialiser need not be an input, too."""


def bind_constants(model: ModelProto, constants: Mapping[str, ConstantValue]) -> None:
    """Turn inputs into initialisers.

    Args:
        model: What is changed.
        constants: Values of inputs, by name; a flat row takes the shape that the model declares.

    Raises:
        OptionError: A name is no input, or a value does not suit its declared type and shape.
    """
    inputs = {value.name: value for value in run_time_inputs(model)}
    for name, given in constants.items():
        if name not in inputs:
            raise OptionError(
                f"--constant names {name!r}, which is no input of the model",
                hint=f"inputs: {', '.join(inputs) or 'none'}",
            )
        array = _array(inputs[name], given)
        model.graph.initializer.append(numpy_helper.from_array(array, name))
        if model.ir_version >= _OLDEST_WITHOUT_INPUTS:
            model.graph.input.remove(inputs[name])


def as_rows(array: Array) -> ConstantValue:
    """Return an array as a number, or as rows of rows of numbers."""
    if not array.ndim:
        number: bool | int | float = array.item()
        return number
    return tuple(as_rows(item) for item in array)


def flat(given: ConstantValue) -> tuple[bool | int | float, ...]:
    """Return the numbers of a value, row by row."""
    if not isinstance(given, tuple):
        return (given,)
    return tuple(number for item in given for number in flat(item))


def _array(value: ValueInfoProto, given: ConstantValue) -> Array:
    tensor = value.type.tensor_type
    if not tensor.elem_type:
        raise OptionError(f"--constant {value.name}: the input is no tensor")
    dtype = helper.tensor_dtype_to_np_dtype(tensor.elem_type)
    try:
        exact = np.asarray(given)
        array = exact.astype(dtype)
    except (ValueError, TypeError, OverflowError):
        raise OptionError(
            f"--constant {value.name}={_shown(given)}: no tensor of numbers"
        ) from None
    rounds = exact.dtype.kind == "f" and array.dtype.kind not in "iub"
    if not rounds and (array != exact).any():
        raise OptionError(f"--constant {value.name}={_shown(given)}: not all are of type {dtype}")
    if not tensor.HasField("shape"):
        return array
    return _shaped(value.name, array, tensor.shape)


def _shaped(name: str, array: Array, declared: TensorShapeProto) -> Array:
    """Return an array under the declared shape; one extent may follow from the number of values."""
    extents = [dim.dim_value if dim.HasField("dim_value") else -1 for dim in declared.dim]
    suits = len(extents) == array.ndim and all(
        wanted in (-1, own) for wanted, own in zip(extents, array.shape, strict=True)
    )
    if suits:
        return array
    try:
        return array.reshape(extents)
    except ValueError:
        wanted = ", ".join("?" if extent < 0 else str(extent) for extent in extents)
        raise OptionError(
            f"--constant {name} has the shape {list(array.shape)}, the model says [{wanted}]"
        ) from None


def _shown(given: ConstantValue) -> str:
    return str(given).replace(" ", "")
