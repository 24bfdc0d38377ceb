"""Static shapes of graph inputs: what the user fixes and what the model declares."""

import math
from collections.abc import Mapping, Sequence

from onnx import ModelProto, ValueInfoProto

from ...ir.errors import ModelError, OptionError

LARGEST_EXTENT = 2**31 - 1
LARGEST_INPUT = 2**31 - 1
"""Elements of one input; more could not be simulated."""


def run_time_inputs(model: ModelProto) -> tuple[ValueInfoProto, ...]:
    """Return the inputs that have no initialiser, in order."""
    initialised = {tensor.name for tensor in model.graph.initializer}
    return tuple(value for value in model.graph.input if value.name not in initialised)


def fix_shapes(model: ModelProto, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Write the user's shapes into the model's inputs, and what follows into its outputs.

    Raises:
        OptionError: A shape names no input, has another rank, or contradicts a fixed extent.
        ModelError: An input stays dynamic.
    """
    inputs = {value.name: value for value in run_time_inputs(model)}
    for name in shapes:
        if name not in inputs:
            raise OptionError(
                f"--shape names {name!r}, which is no input of the model",
                hint=f"inputs: {', '.join(inputs) or 'none'}",
            )
    symbols: dict[str, int] = {}
    for name, shape in shapes.items():
        symbols.update(_fix(inputs[name], shape))
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
    extents = tuple(dim.dim_value if dim.HasField("dim_value") else 0 for dim in dims)
    if math.prod(extents) > LARGEST_INPUT:
        raise ModelError(
            f"input {value.name!r} has the shape [{', '.join(map(str, extents))}], "
            f"more than {LARGEST_INPUT} elements"
        )
    if any(extent < 1 for extent in extents):
        shown = [str(dim.dim_value or dim.dim_param or "?") for dim in dims]
        example = ",".join(text if text.isdigit() else "1" for text in shown)
        raise ModelError(
            f"input {value.name!r} has the dynamic shape [{', '.join(shown)}]",
            hint=f"fix it: --shape {value.name}={example}",
        )
    return extents


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
