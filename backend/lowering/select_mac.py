"""Instructions of operators with accumulators: multiply-accumulate, then finish."""

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import TypeAlias

from ...ir.errors import ModelError
from ...ir.isa.instructions import (
    Access,
    Activate,
    AnyInstruction,
    BinaryKind,
    Mac,
    Requant,
    RequantLookup,
    RequantPair,
    Window,
)
from ...ir.operators.access import Box
from ...ir.operators.image import AXES, ImageAxes, matrix_axes, rows_met
from ...ir.operators.views import SlidingWindow, activation_of, clamp_of, window_of
from ...ir.ops import other_read
from ...ir.tiles.graph import Range, multiplier_name
from ...ir.types import TensorType
from ...ir.workload import DIMS, Dim
from .site import SelectionSite

Numbers: TypeAlias = Callable[[int | None], int]
"""From the number of a tile graph's nest to that of the program's; -1 for none."""


def select_mac(site: SelectionSite, numbers: Numbers, *, clear: bool) -> Mac:
    """Return the instruction that adds the products of a tile operation to its accumulators.

    Args:
        site: The operation and where its tiles lie.
        numbers: Of the program's descriptors.
        clear: Whether sums start from zero.
    """
    ranges = dict(zip(DIMS, site.step.box, strict=True))
    (_, w), acc = site.step.reads, site.step.out
    x_type, w_type = (site.type(name) for name in site.op.operands[:2])
    layout, whole = site.tile(acc).layout, window_of(site.op, (1, 1))
    image = _image_met(site, whole, ranges)
    wanted = (ranges[Dim.N], ranges[Dim.G], ranges[Dim.C], *image)
    return Mac(
        acc=site.access(acc, site.step.sums),
        x=_read_image(site, wanted, w_type.shape[1]),
        w=site.access(w, tuple(ranges[dim] for dim in (Dim.G, Dim.K, Dim.C, Dim.R, Dim.S))),
        extents=tuple(ranges[dim].size for dim in DIMS),  # type: ignore[arg-type]
        window=_mac_window(whole, image, ranges),
        x_dtype=x_type.dtype,
        w_dtype=w_type.dtype,
        x_zero=0 if x_type.quant is None else x_type.quant.zero_point[0],
        w_zero=_weight_zero(site, w_type),
        acc_bytes=site.tile(acc).element_bytes,
        accumulate=not clear,
        nest=numbers(site.step.nests[site.npu]),
        tile=0 if layout is None else site.locate(acc),
        layout=numbers(layout),
    )


def _weight_zero(site: SelectionSite, type: TensorType) -> int:
    if type.quant is None:
        return 0
    if len(set(type.quant.zero_point)) > 1:
        raise ModelError(
            f"%{site.op.name}: weights with several zero points are not supported",
            hint="quantise weights symmetrically (s8), or per tensor",
        )
    return type.quant.zero_point[0]


def _image_met(
    site: SelectionSite, whole: SlidingWindow, ranges: Mapping[Dim, Range]
) -> tuple[Range, Range]:
    """Return the rows and columns of the input that an operation reads of its tile."""
    tile = site.tile(site.step.reads[0])
    if len(tile.box) == AXES:
        return tile.box[3], tile.box[4]
    if site.op.kind == "dense":
        return ranges[Dim.P], Range(0, 1)
    extents = site.type(site.op.operands[0]).shape[2:]
    moved = zip((Dim.P, Dim.Q), (Dim.R, Dim.S), extents, strict=True)
    rows, columns = (
        rows_met(whole, axis, ranges[output], ranges[tap], extent)
        for axis, (output, tap, extent) in enumerate(moved)
    )
    return Range(rows.start, rows.stop), Range(columns.start, columns.stop)


def _read_image(site: SelectionSite, box: Box, channels: int) -> Access:
    """Return the access to a box ``N G channel row column`` of the first operand.

    Args:
        site: The operation and where its tiles lie.
        box: The box.
        channels: Of one group.
    """
    index = site.step.reads[0]
    if len(site.tile(index).box) == AXES:
        return site.access(index, box)
    shape = site.type(site.op.operands[0]).shape
    axes = ImageAxes(channels, matrix_axes(site.op.kind, shape))
    access = site.read(0, _own_box(axes, box))
    return replace(access, strides=axes.split(access.strides))


def _written_image(site: SelectionSite, box: Box) -> Access:
    """Return the access to a box ``N G channel row column`` of the result.

    Args:
        site: The operation and where its tiles lie.
        box: The box.
    """
    if len(site.tile(site.step.out).box) == AXES:
        return site.access(site.step.out, box)
    axes = _result_axes(site)
    access = site.written(_own_box(axes, box))
    return replace(access, strides=axes.split(access.strides))


def _result_axes(site: SelectionSite) -> ImageAxes:
    """Return the axes of the result, as the array sees them."""
    shape = site.op.result.type.shape
    return ImageAxes(shape[1] // site.op.int("groups", 1), matrix_axes(site.op.kind, shape))


def _own_box(axes: ImageAxes, box: Box) -> Box:
    own = axes.own_box(box)
    assert own is not None  # tiling refuses parts of the channels of several groups
    return own


def _mac_window(
    whole: SlidingWindow, image: tuple[Range, Range], ranges: Mapping[Dim, Range]
) -> Window:
    rows, columns = image
    starts = (ranges[Dim.P].start, ranges[Dim.Q].start)
    taps = (ranges[Dim.R].start, ranges[Dim.S].start)
    first = [
        starts[axis] * whole.stride[axis] + taps[axis] * whole.dilation[axis] - whole.pads[axis]
        for axis in (0, 1)
    ]
    return Window(
        stride=(whole.stride[0] // rows.step, whole.stride[1] // columns.step),
        dilation=(
            max(1, whole.dilation[0] // rows.step),
            max(1, whole.dilation[1] // columns.step),
        ),
        rows=rows.size,
        columns=columns.size,
        top=(rows.start - first[0]) // rows.step,
        left=(columns.start - first[1]) // columns.step,
    )


def select_finish(site: SelectionSite, numbers: Numbers) -> AnyInstruction:
    """Return the instruction that turns a finished accumulator tile into outputs."""
    box, sums = site.step.box, site.tile(site.step.reads[0])
    shape = tuple(axis.size for axis in box)
    acc = site.access(site.step.reads[0], box)
    layout = numbers(sums.layout)
    dst = _written_image(site, box)
    channels = {
        site.tile(index).tensor: _per_channel(site, index, box) for index in site.parameters
    }
    bias = channels.get(site.op.operands[2]) if len(site.op.operands) > 2 else None
    result = site.op.result.type
    if result.quant is None:
        call = activation_of(site.op)
        return Activate(
            dst=dst,
            src=acc,
            bias=bias,
            shape=shape,
            act=call.act,
            a=call.a,
            b=call.b,
            layout=layout,
        )
    low, high = clamp_of(site.op, result)
    requant = Requant(
        dst=dst,
        acc=acc,
        bias=bias,
        multiplier=channels[multiplier_name(site.op.name)],
        shape=shape,
        dtype=result.dtype,
        zero_point=result.quant.zero_point[0],
        low=low,
        high=high,
        acc_bytes=sums.element_bytes,
        layout=layout,
    )
    return _joined(site, requant) if site.step.joined else requant


def _joined(site: SelectionSite, requant: Requant) -> RequantPair | RequantLookup:
    """Return the instruction that finishes sums, and does the work of the member behind, too."""
    op, last = site.graph.producer[site.step.joined], len(site.step.reads) - 1
    read = other_read(site.graph, op, site.op.name)
    finishing = {item.name: getattr(requant, item.name) for item in fields(requant)}
    if read is None:
        table = site.step.reads[last]
        return RequantLookup(**finishing, table=site.access(table, site.tile(table).box))
    axes = _result_axes(site)
    other = site.read(last, read.box(_own_box(axes, site.step.box)))
    scales, zeros = zip(*map(site.quant, (*op.operands, op.name)), strict=True)
    least, most = clamp_of(op, op.result.type)
    return RequantPair(
        **finishing,
        kind=BinaryKind(op.kind),
        other=replace(other, strides=axes.split(read.strides(other.strides))),
        is_second=read.operand == 0,
        scales=scales,
        zeros=zeros,
        least=least,
        most=most,
    )


def _per_channel(site: SelectionSite, index: int, box: tuple[Range, ...]) -> Access:
    """Return the access to per-channel values from loops over ``n g k p q``."""
    access = site.access(index, (box[1], box[2]))
    group, channel = access.strides
    return Access(access.space, access.npu, access.address, (0, group, channel, 0, 0))
