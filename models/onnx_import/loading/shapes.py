"""Static shapes of graph inputs: what the user fixes and what the model declares."""

import math
from collections.abc import Mapping, Sequence

from onnx import ModelProto, ValueInfoProto

from ....ir.errors import ModelError, OptionError
from ....ir.types import MOST_AXES

LARGEST_EXTENT = 2**31 - 1
LARGEST_INPUT = 2**31 - 1
"""Elements of one input; more could not be simulated."""


def run_time_inputs(model: ModelProto) -> tuple[ValueInfoProto, ...]:
    """Return the inputs that have no initialiser, in order."""
    initialised = {tensor.name for tensor in model.graph.initializer}
    return tuple(value for value in model.graph.input if value.name not in initialised)


def fix_shapes(model: ModelProto, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Write the user's shapes into the model's inputs, and what follows into its outputs.

    Args:
        model: What is changed.
        shapes: Shapes of inputs, and extents of axes, by name; an input goes before an axis.

    Raises:
        OptionError: A shape names no input and no axis, has another rank, or contradicts a fixed
            extent.
        ModelError: An input remains dynamic.
    """
    inputs = {value.name: value for value in run_time_inputs(model)}
    symbols: dict[str, int] = {}
    for name, shape in shapes.items():
        if name in inputs:
            symbols.update(_fix(inputs[name], shape))
        else:
            symbols[name] = _axis(name, shape, inputs)
    for value in (*inputs.values(), *model.graph.output, *model.graph.value_info):
        _substitute(value, symbols)
    for value in inputs.values():
        static_shape(value)


def static_shape(value: ValueInfoProto) -> tuple[int, ...]:
    """Return the shape of an input.

    Raises:
        ModelError: It is unknown, dynamic, empty or absurdly large.
    """
    if not value.type.tensor_type.HasField("shape"):
        raise ModelError(
            f"input {value.name!r} has no shape", hint=f"fix it: --shape {value.name}=1,3,224,224"
        )
    dims = value.type.tensor_type.shape.dim
    if len(dims) > MOST_AXES:
        raise ModelError(f"input {value.name!r} has {len(dims)} axes, more than {MOST_AXES}")
    extents = tuple(dim.dim_value if dim.HasField("dim_value") else 0 for dim in dims)
    if math.prod(extents) > LARGEST_INPUT:
        raise ModelError(
            f"input {value.name!r} has the shape [{', '.join(map(str, extents))}], "
            f"more than {LARGEST_INPUT} elements"
        )
    if any(extent < 1 for extent in extents):
        shown = [
            str(dim.dim_value) if dim.HasField("dim_value") else dim.dim_param or "?"
            for dim in dims
        ]
        example = ",".join(text if text.isdigit() and text != "0" else "1" for text in shown)
        if "0" in shown:
            raise ModelError(
                f"input {value.name!r} has no elements: its shape is [{', '.join(shown)}]",
                hint=f"where 0 stands for an unknown extent: --shape {value.name}={example}",
            )
        raise ModelError(
            f"input {value.name!r} has the dynamic shape [{', '.join(shown)}]",
            hint=f"fix it: --shape {value.name}={example}",
        )
    return extents


def _axis(name: str, shape: Sequence[int], inputs: Mapping[str, ValueInfoProto]) -> int:
    """Return the extent of a named axis.

    Raises:
        OptionError: No input has it, or it is given more than one extent, or an absurd one.
    """
    dims = (dim for value in inputs.values() for dim in value.type.tensor_type.shape.dim)
    axes = dict.fromkeys(dim.dim_param for dim in dims if dim.dim_param)
    if name not in axes:
        known = f"inputs: {', '.join(inputs) or 'none'}; axes: {', '.join(axes) or 'none'}"
        raise OptionError(
            f"--shape names {name!r}, which is no input of the model and no axis", hint=known
        )
    if len(shape) != 1 or not 1 <= shape[0] <= LARGEST_EXTENT:
        raise OptionError(f"--shape {name}={_csv(shape)}: an axis has one extent, 1 or more")
    return shape[0]


def _fix(value: ValueInfoProto, shape: Sequence[int]) -> dict[str, int]:
    """Set the shape of one input; return the symbols that got a value."""
    if any(not 1 <= extent <= LARGEST_EXTENT for extent in shape):
        raise OptionError(
            f"--shape {value.name}={_csv(shape)}: extents must be 1 to {LARGEST_EXTENT}"
        )
    tensor = value.type.tensor_type
    declared = tensor.HasField("shape")
    if declared and len(tensor.shape.dim) != len(shape):
        raise OptionError(
            f"--shape {value.name}={_csv(shape)} has rank {len(shape)}, the model says "
            f"{len(tensor.shape.dim)}"
        )
    if not declared:
        for _ in shape:
            tensor.shape.dim.add()
    symbols: dict[str, int] = {}
    for dim, extent in zip(tensor.shape.dim, shape, strict=True):
        if dim.dim_value > 0 and dim.dim_value != extent:
            raise OptionError(
                f"--shape {value.name}={_csv(shape)} contradicts the model's {dim.dim_value}"
            )
        if dim.dim_param:
            symbols[dim.dim_param] = extent
        dim.dim_value = extent
    return symbols


def _substitute(value: ValueInfoProto, symbols: Mapping[str, int]) -> None:
    for dim in value.type.tensor_type.shape.dim:
        if dim.dim_param in symbols:
            dim.dim_value = symbols[dim.dim_param]


def _csv(shape: Sequence[int]) -> str:
    return ",".join(str(extent) for extent in shape)
