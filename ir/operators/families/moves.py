"""Operators that only move elements: each is its rule of shapes and its access map.

What they compute follows from the map (``access.move``), and so do their tiles and their copies.
"""

import math
from collections.abc import Callable, Iterator
from enum import StrEnum
from itertools import accumulate, product

from ...graph import Op
from ...tiles.graph import Range
from ..access import ONCE, SAME, AxisMap, Part, Read, View, broadcast, one_part, whole
from ..attributes import AXIS
from ..checks import check_same_type
from ..spec import AttrSpec, AttrType, Family, OpSpec, Rounding, Types, present, refusal


def move_spec(
    kind: str,
    summary: str,
    *attrs: AttrSpec,
    shape: Callable[[Op, Types], tuple[int, ...]],
    access: Callable[[Op, Types], tuple[Part, ...]],
    operands: tuple[str, ...] = ("x",),
    variadic: bool = False,
    optional: int = 0,
) -> OpSpec:
    """Return an operator that moves elements of one type.

    Args:
        kind: Its name.
        summary: One sentence on what it computes.
        attrs: Its attributes.
        shape: Its rule of shapes.
        access: Its access map.
        operands: Names of its operands.
        variadic: Whether the last operand may be repeated.
        optional: How many of the last operands may be absent.
    """
    return OpSpec(
        kind=kind,
        summary=summary,
        family=Family.MOVE,
        operands=operands,
        variadic=variadic,
        optional=optional,
        attrs=attrs,
        shape=shape,
        check=check_same_type,
        access=access,
        cost=lambda op, types: 0,
        rounding=Rounding.MOVES,
    )


def same_elements(out: View, source: View) -> tuple[Part, ...]:
    """Return the part in which two views of equal shape agree element by element."""
    return one_part(out, Read(0, source, (SAME,) * len(source.shape)))


def _reshape_shape(op: Op, types: Types) -> tuple[int, ...]:
    """The attribute ``shape``, which must keep the number of elements."""
    source, shape = present(op, types, 0), op.ints("shape")
    if math.prod(shape) != source.elements:
        raise refusal(op, f"cannot reshape {source.shape} to {shape}")
    return shape


def _reshape(op: Op, types: Types) -> tuple[Part, ...]:
    row = View.dense((op.result.type.elements,))
    return same_elements(row, row)


def _transpose_shape(op: Op, types: Types) -> tuple[int, ...]:
    """The operand's extents in the order ``perm``."""
    shape, perm = present(op, types, 0).shape, op.ints("perm")
    if sorted(perm) != list(range(len(shape))):
        raise refusal(op, f"{perm} is no permutation of the axes of {shape}")
    return tuple(shape[axis] for axis in perm)


def _transpose(op: Op, types: Types) -> tuple[Part, ...]:
    source = View.dense(present(op, types, 0).shape)
    return same_elements(View.dense(op.result.type.shape), source.permuted(op.ints("perm")))


def _concat_shape(op: Op, types: Types) -> tuple[int, ...]:
    """The operands' shape, summed along ``axis``."""
    shapes = [present(op, types, index).shape for index in range(len(types))]
    axis = op.int("axis")
    if axis >= len(shapes[0]):
        raise refusal(op, f"axis {axis} is outside of shape {shapes[0]}")
    rests = {shape[:axis] + shape[axis + 1 :] for shape in shapes}
    if len(rests) > 1 or len({len(shape) for shape in shapes}) > 1:
        raise refusal(op, f"shapes {shapes} differ beside axis {axis}")
    return *shapes[0][:axis], sum(shape[axis] for shape in shapes), *shapes[0][axis + 1 :]


def _concat(op: Op, types: Types) -> tuple[Part, ...]:
    axis = op.int("axis")
    inner = math.prod(op.result.type.shape[axis + 1 :])
    out = _as_rows(op.result.type.shape, axis)
    sources = (_as_rows(present(op, types, index).shape, axis) for index in range(len(types)))
    starts = (start * inner for start in concat_starts(op, types))
    return tuple(_joined(out, 1, *item) for item in enumerate(zip(sources, starts, strict=True)))


def concat_along_axes(op: Op, types: Types) -> tuple[Part, ...]:
    """Return the parts of a concatenation along the result's own axes.

    Args:
        op: The concatenation.
        types: Of its operands.
    """
    out, axis = View.dense(op.result.type.shape), op.int("axis")
    sources = (View.dense(present(op, types, index).shape) for index in range(len(types)))
    pairs = zip(sources, concat_starts(op, types), strict=True)
    return tuple(_joined(out, axis, *item) for item in enumerate(pairs))


def _joined(out: View, axis: int, operand: int, place: tuple[View, int]) -> Part:
    """Return the part of a concatenation that is one operand, from an index of the axis on."""
    source, start = place
    domain, axes = list(whole(source.shape)), [SAME] * len(source.shape)
    domain[axis] = Range(start, start + source.shape[axis])
    axes[axis] = AxisMap(-start)
    return Part(out, tuple(domain), (Read(operand, source, tuple(axes)),))


def concat_starts(op: Op, types: Types) -> tuple[int, ...]:
    """Return the index along its axis at which each operand of a concatenation begins.

    Args:
        op: The concatenation.
        types: Of its operands.
    """
    extents = [present(op, types, index).shape[op.int("axis")] for index in range(len(types))]
    return tuple(accumulate(extents[:-1], initial=0))


CHANNELS = 1
"""The axis of channels, of images ``[N, C, H, W]`` and of matrices ``[rows, columns]``."""


def joins_channels(op: Op) -> bool:
    """Whether an operator is a concatenation along the channels of images or matrices."""
    is_along = op.kind == "concat" and op.int("axis") == CHANNELS
    return is_along and len(op.result.type.shape) in (2, 4)


def _as_rows(shape: tuple[int, ...], axis: int) -> View:
    """Fold the axes before ``axis`` into one, and the others into another."""
    return View.dense((math.prod(shape[:axis]), math.prod(shape[axis:])))


def _slice_shape(op: Op, types: Types) -> tuple[int, ...]:
    """The attribute ``shape``; what it starts and ends with lies within the operand."""
    source, shape = present(op, types, 0).shape, op.ints("shape")
    starts, steps = op.ints("starts"), op.ints("steps")
    if not len(source) == len(shape) == len(starts) == len(steps):
        raise refusal(op, f"has starts {starts}, steps {steps} and shape {shape} for {source}")
    for extent, size, start, step in zip(source, shape, starts, steps, strict=True):
        if not (0 <= start < extent and 0 <= start + (size - 1) * step < extent):
            raise refusal(op, f"takes {size} elements from {start} by {step} of {extent}")
    return shape


def _slice(op: Op, types: Types) -> tuple[Part, ...]:
    source, out = View.dense(present(op, types, 0).shape), View.dense(op.result.type.shape)
    axes = map(AxisMap, op.ints("starts"), op.ints("steps"))
    return one_part(out, Read(0, source, tuple(axes)))


def _expand_shape(op: Op, types: Types) -> tuple[int, ...]:
    """The attribute ``shape``, to which the operand broadcasts."""
    source, shape = present(op, types, 0).shape, op.ints("shape")
    pairs = zip(source[::-1], shape[::-1], strict=False)
    if len(source) > len(shape) or any(own not in (1, wanted) for own, wanted in pairs):
        raise refusal(op, f"cannot broadcast {source} to {shape}")
    return shape


def _expand(op: Op, types: Types) -> tuple[Part, ...]:
    source, shape = present(op, types, 0).shape, op.result.type.shape
    return one_part(View.dense(shape), broadcast(0, source, shape))


def _repeated_shape(op: Op, types: Types) -> tuple[int, ...]:
    """Every extent times its number of repeats."""
    source, repeats = present(op, types, 0).shape, op.ints("repeats")
    if len(source) != len(repeats):
        raise refusal(op, f"has repeats {repeats} for shape {source}")
    return tuple(extent * count for extent, count in zip(source, repeats, strict=True))


def _tile(op: Op, types: Types) -> tuple[Part, ...]:
    """Repeats are the outer of each axis's two."""
    return _repeat(op, types, lambda count, extent: ((count, ONCE), (extent, SAME)))


def _repeat_elements(op: Op, types: Types) -> tuple[Part, ...]:
    """Repeats are the inner of each axis's two."""
    return _repeat(op, types, lambda count, extent: ((extent, SAME), (count, ONCE)))


def _repeat(
    op: Op, types: Types, split: Callable[[int, int], tuple[tuple[int, AxisMap], ...]]
) -> tuple[Part, ...]:
    source, shape, axes = list[int](), list[int](), list[AxisMap]()
    for extent, count in zip(present(op, types, 0).shape, op.ints("repeats"), strict=True):
        for size, axis in ((extent, SAME),) if count == 1 else split(count, extent):
            shape.append(size)
            axes.append(axis)
            source.append(size if axis is SAME else 1)
    return one_part(View.dense(shape), Read(0, View.dense(source), tuple(axes)))


def _rearrange_shape(op: Op, types: Types) -> tuple[int, ...]:
    """The attribute ``shape``; ``factors`` split the operand, ``perm`` orders them."""
    source, shape = present(op, types, 0), op.ints("shape")
    factors, perm = op.ints("factors"), op.ints("perm")
    if math.prod(shape) != source.elements or math.prod(factors) != source.elements:
        raise refusal(op, f"cannot see {source.shape} as {factors} and make {shape}")
    if sorted(perm) != list(range(len(factors))):
        raise refusal(op, f"{perm} is no permutation of the axes of {factors}")
    return shape


def _rearrange(op: Op, types: Types) -> tuple[Part, ...]:
    source = View.dense(op.ints("factors")).permuted(op.ints("perm"))
    return same_elements(View.dense(source.shape), source)


def _take_shape(op: Op, types: Types) -> tuple[int, ...]:
    """The operand's shape with as many indices along ``axis`` as are taken."""
    shape, axis, indices = present(op, types, 0).shape, op.int("axis"), op.ints("indices")
    if axis >= len(shape) or max(indices) >= shape[axis]:
        raise refusal(op, f"takes index {max(indices)} along axis {axis} of {shape}")
    return *shape[:axis], len(indices), *shape[axis + 1 :]


def _take(op: Op, types: Types) -> tuple[Part, ...]:
    source, out = View.dense(present(op, types, 0).shape), View.dense(op.result.type.shape)
    axis, parts = op.int("axis"), list[Part]()
    for outputs, rule in _runs(op.ints("indices")):
        domain, axes = list(whole(out.shape)), [SAME] * len(out.shape)
        domain[axis], axes[axis] = outputs, rule
        parts.append(Part(out, tuple(domain), (Read(0, source, tuple(axes)),)))
    return tuple(parts)


def _runs(indices: tuple[int, ...]) -> Iterator[tuple[Range, AxisMap]]:
    """Yield maximal runs of indices with one step, as ranges of the result and their maps."""
    start = 0
    while start < len(indices):
        stop = start + 1
        step = indices[stop] - indices[start] if stop < len(indices) else 1
        while stop < len(indices) and indices[stop] - indices[stop - 1] == step:
            stop += 1
        yield Range(start, stop), AxisMap(indices[start] - start * step, step)
        start = stop


class PadMode(StrEnum):
    """What stands around a padded tensor."""

    CONSTANT = "constant"
    EDGE = "edge"
    REFLECT = "reflect"
    WRAP = "wrap"


def _pad_shape(op: Op, types: Types) -> tuple[int, ...]:
    """Every extent with what is added before and after."""
    source, pads = present(op, types, 0).shape, op.ints("pads")
    if len(pads) != 2 * len(source):
        raise refusal(op, f"has pads {pads} for shape {source}")
    values = types[1].elements if len(types) > 1 and types[1] is not None else 0
    if values != (op.str("mode") == PadMode.CONSTANT):
        raise refusal(op, f"has {values} values around it, mode {op.str('mode')}")
    before, after = pads[: len(source)], pads[len(source) :]
    spare = {PadMode.REFLECT: 1, PadMode.WRAP: 0}.get(PadMode(op.str("mode")))
    if spare is not None and any(
        max(ends) > extent - spare for extent, *ends in zip(source, before, after, strict=True)
    ):
        raise refusal(op, f"has pads {pads}, more than mode {op.str('mode')} finds in {source}")
    return tuple(map(sum, zip(source, before, after, strict=True)))


def _pad(op: Op, types: Types) -> tuple[Part, ...]:
    shape, pads, mode = present(op, types, 0).shape, op.ints("pads"), PadMode(op.str("mode"))
    source, out = View.dense(shape), View.dense(op.result.type.shape)
    value = Read(1, View.dense((1,) * len(shape)), (ONCE,) * len(shape))
    stripes = [
        tuple(_stripes(mode, extent, pads[axis], pads[len(shape) + axis]))
        for axis, extent in enumerate(shape)
    ]
    parts: list[Part] = []
    for stripe in product(*stripes):
        axes = tuple(rule for _, rule in stripe if rule is not None)
        read = Read(0, source, axes) if len(axes) == len(shape) else value
        parts.append(Part(out, tuple(outputs for outputs, _ in stripe), (read,)))
    return tuple(parts)


def _stripes(
    mode: PadMode, extent: int, before: int, after: int
) -> Iterator[tuple[Range, AxisMap | None]]:
    """Yield the ranges of an axis of the result; without a map stands the constant."""
    end = before + extent
    low, high = {
        PadMode.CONSTANT: (None, None),
        PadMode.EDGE: (AxisMap(0, 0), AxisMap(extent - 1, 0)),
        PadMode.REFLECT: (AxisMap(before, -1), AxisMap(2 * (extent - 1) + before, -1)),
        PadMode.WRAP: (AxisMap(extent - before), AxisMap(-end)),
    }[mode]
    if before:
        yield Range(0, before), low
    yield Range(before, end), AxisMap(-before)
    if after:
        yield Range(end, end + after), high


def _stretch(op: Op, types: Types) -> tuple[Part, ...]:
    """Every axis is split in two: the element, and the steps until the next one."""
    shape, repeats = present(op, types, 0).shape, op.ints("repeats")
    pairs = [size for both in zip(shape, repeats, strict=True) for size in both]
    source = View.dense(size for extent in shape for size in (extent, 1))
    out, value = View.dense(pairs), View.dense((1,) * len(pairs))
    inner = [(Range(0, 1), *([Range(1, count)] if count > 1 else [])) for count in repeats]
    parts: list[Part] = []
    for choice in product(*inner):
        domain = (axis for pair in zip(shape, choice, strict=True) for axis in _pair(*pair))
        is_element = all(outputs.start == 0 for outputs in choice)
        read = Read(0, source, (SAME,) * len(pairs)) if is_element else None
        read = read or Read(1, value, (ONCE,) * len(pairs))
        parts.append(Part(out, tuple(domain), (read,)))
    return tuple(parts)


def _pair(extent: int, inner: Range) -> tuple[Range, Range]:
    return Range(0, extent), inner


def _ints(name: str, minimum: int | None = None) -> AttrSpec:
    return AttrSpec(name=name, type=AttrType.INTS, required=True, minimum=minimum)


MOVES = (
    move_spec(
        "reshape",
        "The same elements in the same order under another shape.",
        _ints("shape", 1),
        shape=_reshape_shape,
        access=_reshape,
    ),
    move_spec(
        "transpose",
        "Axes in the order perm: result axis i is operand axis perm[i].",
        _ints("perm", 0),
        shape=_transpose_shape,
        access=_transpose,
    ),
    move_spec(
        "concat",
        "Operands one after the other along an axis.",
        AXIS,
        shape=_concat_shape,
        access=_concat,
        variadic=True,
    ),
    move_spec(
        "slice",
        "From every axis shape elements, from starts on by steps; a negative step goes back.",
        *(_ints("starts", 0), _ints("steps"), _ints("shape", 1)),
        shape=_slice_shape,
        access=_slice,
    ),
    move_spec(
        "expand",
        "The operand broadcast to a shape.",
        _ints("shape", 1),
        shape=_expand_shape,
        access=_expand,
    ),
    move_spec(
        "tile",
        "The operand repeated along every axis.",
        _ints("repeats", 1),
        shape=_repeated_shape,
        access=_tile,
    ),
    move_spec(
        "repeat",
        "Every element repeated along every axis, as in resizing to the nearest.",
        _ints("repeats", 1),
        shape=_repeated_shape,
        access=_repeat_elements,
    ),
    move_spec(
        "stretch",
        "Elements set apart by repeats along every axis, with a value between and after them.",
        _ints("repeats", 1),
        shape=_repeated_shape,
        access=_stretch,
        operands=("x", "value"),
    ),
    move_spec(
        "rearrange",
        "The operand seen with axes of extents factors, these in the order perm, under a shape.",
        *(_ints("factors", 1), _ints("perm", 0), _ints("shape", 1)),
        shape=_rearrange_shape,
        access=_rearrange,
    ),
    move_spec(
        "take",
        "Slices along an axis, by constant indices.",
        *(AXIS, _ints("indices", 0)),
        shape=_take_shape,
        access=_take,
    ),
    move_spec(
        "pad",
        "The operand with a border: one value, its edge, its reflection, or itself again.",
        _ints("pads", 0),
        AttrSpec(name="mode", type=AttrType.STR, required=True, allowed=tuple(PadMode)),
        shape=_pad_shape,
        access=_pad,
        operands=("x", "value"),
        optional=1,
    ),
)
"""Their declarations."""
