"""Instructions of operators without accumulators: element-wise ones, pools, conversions, copies."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from ...ir.errors import PassError
from ...ir.isa.instructions import (
    Access,
    Activate,
    Activation,
    AnyInstruction,
    Binary,
    BinaryKind,
    Convert,
    Copy,
    Dequantize,
    Gather,
    Lookup,
    Pool,
    QBinary,
    Quantize,
    Reduce,
    ReduceKind,
    Select,
    Window,
)
from ...ir.operators.access import Part
from ...ir.operators.families.gathers import gathered_axis
from ...ir.operators.families.windowed import REDUCE, pool_window
from ...ir.operators.spec import Family
from ...ir.operators.views import activation_of, call_of, clamp_of
from ...ir.ops import operand_types, part_of, spec_of
from ...ir.tiles.graph import Range
from .addressing import squeeze
from .site import SelectionSite


def select_vector(site: SelectionSite) -> AnyInstruction:
    """Return the instruction of a tile operation without accumulators.

    Raises:
        PassError: The machine has no instruction for the operator.
    """
    select = _SELECT.get(spec_of(site.op).family)
    if select is None:
        raise PassError(f"the machine has no instruction for {site.op.kind} %{site.op.name}")
    return select(site)


def select_keep(site: SelectionSite) -> Copy:
    """Return the copy of rows from an inner tile into the one that follows it."""
    box, (source,) = site.step.box, site.step.reads
    shape = tuple(axis.size for axis in box)
    shape, (dst, src) = squeeze(shape, site.access(site.step.out, box), site.access(source, box))
    return Copy(dst=dst, src=src, shape=shape, element_bytes=site.tile(source).element_bytes)


def _loops(site: SelectionSite) -> tuple[tuple[int, ...], Access, list[Access]]:
    """Return squeezed loops over the result's box with accesses to result and operands."""
    box = site.step.box
    sources: list[Access] = []
    for position, read in enumerate(_part(site).reads):
        access = site.read(position, read.box(box))
        address = access.address + read.back(box, access.strides)
        sources.append(replace(access, address=address, strides=read.strides(access.strides)))
    shape = tuple(axis.size for axis in box)
    shape, (dst, *sources) = squeeze(shape, site.written(box), *sources)
    return shape, dst, list(sources)


def _part(site: SelectionSite) -> Part:
    """Return the part of the operator that an operation belongs to."""
    return part_of(site.op, operand_types(site.op, site.graph.types), site.step.box)


def _pair(site: SelectionSite) -> AnyInstruction:
    shape, dst, (a, b) = _loops(site)
    kind = BinaryKind(site.op.kind)
    result = site.op.result.type
    if result.quant is None:
        call = activation_of(site.op)
        return Binary(
            kind=kind,
            dst=dst,
            a=a,
            b=b,
            shape=shape,
            act=call.act,
            low=call.a,
            high=call.b,
            dtype=site.type(site.op.operands[0]).dtype,
        )
    quants = [site.quant(name) for name in (*site.op.operands, site.op.name)]
    low, high = clamp_of(site.op, result)
    return QBinary(
        kind=kind,
        dst=dst,
        a=a,
        b=b,
        shape=shape,
        dtype=result.dtype,
        scales=(quants[0][0], quants[1][0], quants[2][0]),
        zeros=(quants[0][1], quants[1][1], quants[2][1]),
        low=low,
        high=high,
    )


def _lookup(site: SelectionSite) -> Lookup:
    shape, dst, (source,) = _loops(site)
    (table,) = site.parameters
    return Lookup(dst=dst, src=source, table=site.access(table, site.tile(table).box), shape=shape)


def _quantize(site: SelectionSite) -> Quantize:
    shape, dst, (source,) = _loops(site)
    scale, zero = site.quant(site.op.name)
    dtype = site.op.result.type.dtype
    return Quantize(dst=dst, src=source, shape=shape, dtype=dtype, scale=scale, zero_point=zero)


def _dequantize(site: SelectionSite) -> Dequantize:
    shape, dst, (source,) = _loops(site)
    scale, zero = site.quant(site.op.operands[0])
    dtype = site.type(site.op.operands[0]).dtype
    return Dequantize(dst=dst, src=source, shape=shape, dtype=dtype, scale=scale, zero_point=zero)


def _function(site: SelectionSite) -> Activate:
    shape, dst, (source,) = _loops(site)
    call = call_of(site.op, Activation(site.op.kind))
    return Activate(
        dst=dst,
        src=source,
        bias=None,
        shape=shape,
        act=call.act,
        a=call.a,
        b=call.b,
        dtype=site.op.result.type.dtype,
    )


def _choice(site: SelectionSite) -> Select:
    shape, dst, (condition, a, b) = _loops(site)
    size = site.op.result.type.dtype.bytes
    return Select(dst=dst, condition=condition, a=a, b=b, shape=shape, element_bytes=size)


def _cast(site: SelectionSite) -> Convert:
    shape, dst, (source,) = _loops(site)
    dtype = site.type(site.op.operands[0]).dtype
    return Convert(dst=dst, src=source, shape=shape, dtype=dtype, to=site.op.result.type.dtype)


def _gather(site: SelectionSite) -> Gather:
    shape, dst, (source, index) = _loops(site)
    types = operand_types(site.op, site.graph.types)
    view, axis = gathered_axis(site.op, types)
    tile = site.tile(site.step.reads[0])
    return Gather(
        dst=dst,
        src=source,
        index=index,
        shape=shape,
        element_bytes=tile.element_bytes,
        dtype=site.type(site.op.operands[1]).dtype,
        step=tile.strides[axis],
        extent=view.shape[axis],
    )


def _reduce(site: SelectionSite) -> Reduce:
    """Return the reduction; its instruction has the reduced axis as the last loop."""
    axis, (read,) = site.op.int("axis"), _part(site).reads
    box = list(read.box(site.step.box))
    src = site.read(0, tuple(box))
    dst = site.written(site.step.box)
    others = [loop for loop in range(len(box)) if loop != axis]
    if not others:
        dst, src = (replace(item, strides=(0, *item.strides)) for item in (dst, src))
        box, others, axis = [Range(0, 1), *box], [0], 1
    return Reduce(
        kind=ReduceKind(site.op.kind.removeprefix(REDUCE)),
        dst=replace(dst, strides=tuple(dst.strides[loop] for loop in others)),
        src=replace(src, strides=tuple(src.strides[loop] for loop in (*others, axis))),
        shape=tuple(box[loop].size for loop in (*others, axis)),
        dtype=site.type(site.op.operands[0]).dtype,
    )


def _copy(site: SelectionSite) -> Copy:
    shape, dst, (source,) = _loops(site)
    size = site.op.result.type.dtype.bytes
    return Copy(dst=dst, src=source, shape=shape, element_bytes=size)


_POOLED: Mapping[str, ReduceKind] = {"max_pool": ReduceKind.MAX, "sum_pool": ReduceKind.SUM}
"""How pools reduce that make no mean."""


def _pool(site: SelectionSite) -> Pool:
    op = site.op
    source = site.step.reads[0]
    tile = site.tile(source)
    whole = pool_window(op, site.type(op.operands[0]).shape)
    needed = _part(site).reads[0].box(site.step.box)
    rows, columns = (_common(needed[axis], tile.box[axis]) for axis in (2, 3))
    src = site.read(0, (*site.step.box[:2], rows, columns))
    starts = [site.step.box[2 + axis].start * whole.stride[axis] for axis in (0, 1)]
    origin = [item.start + whole.pads[axis] for axis, item in enumerate((rows, columns))]
    extents = site.type(op.operands[0]).shape[2:]
    last = [
        extents[axis] + whole.pads[2 + axis] - item.start - 1
        for axis, item in enumerate((rows, columns))
    ]
    scales = [site.quant(name) for name in (op.operands[0], op.name)]
    n, c, p, q = (axis.size for axis in site.step.box)
    made = op.result.type
    low, high = (0, 0) if made.quant is None else clamp_of(op, made)
    return Pool(
        kind=_POOLED.get(op.kind, ReduceKind.MEAN),
        dst=site.written(site.step.box),
        src=src,
        shape=(n, c, p, q),
        kernel=whole.kernel,
        window=Window(
            stride=whole.stride,
            dilation=whole.dilation,
            rows=rows.size,
            columns=columns.size,
            top=origin[0] - starts[0],
            left=origin[1] - starts[1],
        ),
        dtype=site.type(op.operands[0]).dtype,
        to=made.dtype,
        count=op.int("count", 1),
        include_padding=bool(op.attr("count_include_pad", False)),
        outer_rows=(-origin[0], last[0]),
        outer_columns=(-origin[1], last[1]),
        scales=(scales[0][0], scales[1][0]),
        zeros=(scales[0][1], scales[1][1]),
        float_mean=op.kind == "avg_pool" and made.dtype.is_integer,
        low=low,
        high=high,
    )


def _common(needed: Range, there: Range) -> Range:
    """Return the lines of a tile that are needed; it may have more for others."""
    return Range(max(needed.start, there.start), min(needed.stop, there.stop), there.step)


_SELECT: Mapping[Family, Callable[[SelectionSite], AnyInstruction]] = {
    Family.FUNCTION: _function,
    Family.PAIR: _pair,
    Family.REDUCTION: _reduce,
    Family.POOL: _pool,
    Family.CHOICE: _choice,
    Family.CAST: _cast,
    Family.GATHER: _gather,
    Family.LOOKUP: _lookup,
    Family.QUANTIZE: _quantize,
    Family.DEQUANTIZE: _dequantize,
    Family.MOVE: _copy,
}
