"""Instructions of operators without accumulators: element-wise ones, pools, conversions, copies."""

import math
from dataclasses import replace

from ..ir.errors import PassError
from ..ir.isa import (
    Access,
    Activate,
    Activation,
    AnyInstruction,
    Binary,
    BinaryKind,
    Copy,
    Dequantize,
    Lookup,
    Pool,
    QBinary,
    Quantize,
    Reduce,
    ReduceKind,
    Window,
)
from ..ir.op_views import Window as PoolWindow
from ..ir.op_views import activation_of, clamp_of, window_of
from ..ir.tiles import Range, Role, Tile
from .addressing import squeeze
from .site import Site, fused_activation


def select_vector(site: Site) -> AnyInstruction:
    """Return the instruction of a tile operation without accumulators.

    Raises:
        PassError: The machine has no instruction for the operator.
    """
    kind = site.op.kind
    if kind in ("add", "mul", "sub", "div"):
        return _binary(site)
    if kind in _REDUCTIONS:
        return _reduce(site)
    if kind in ("max_pool", "avg_pool", "global_avg_pool"):
        return _pool(site)
    if kind == "lookup":
        return _lookup(site)
    if kind in ("quantize", "dequantize"):
        return _convert(site)
    if kind in ("reshape", "concat", "transpose"):
        return _copy(site)
    if kind in _UNARY:
        return _unary(site)
    raise PassError(f"the machine has no instruction for {kind} %{site.op.name}")


_REDUCTIONS = {"reduce_max": ReduceKind.MAX, "reduce_sum": ReduceKind.SUM}


_UNARY = {
    "relu": Activation.RELU,
    "clip": Activation.CLIP,
    "leaky_relu": Activation.LEAKY_RELU,
    "sigmoid": Activation.SIGMOID,
    "tanh": Activation.TANH,
    "exp": Activation.EXP,
}


def _operands(site: Site) -> list[Access]:
    """Return accesses to the operand tiles, repeating along axes of extent one."""
    accesses: list[Access] = []
    for index in site.step.reads[: len(site.op.operands)]:
        tile = site.tile(index)
        if tile.role is Role.PARAM:
            continue
        box = _source_box(site, tile)
        access = site.access(index, box)
        strides = tuple(
            0 if own.size == 1 else stride for own, stride in zip(box, access.strides, strict=True)
        )
        accesses.append(Access(access.space, access.npu, access.address, strides))
    return accesses


def _source_box(site: Site, tile: Tile) -> tuple[Range, ...]:
    """Return the part of an operand tile that the operation reads."""
    if not tile.is_resident:
        return tile.box
    return tuple(
        whole if whole.size == 1 else wanted
        for whole, wanted in zip(tile.box, site.step.box, strict=True)
    )


def _loops(site: Site) -> tuple[tuple[int, ...], Access, list[Access]]:
    """Return squeezed loops over the result's box with accesses to result and operands."""
    shape = tuple(axis.size for axis in site.step.box)
    dst = site.access(site.step.out, site.step.box)
    shape, (dst, *sources) = squeeze(shape, dst, *_operands(site))
    return shape, dst, list(sources)


def _binary(site: Site) -> AnyInstruction:
    shape, dst, (a, b) = _loops(site)
    kind = BinaryKind(site.op.kind)
    result = site.op.result.type
    if result.quant is None:
        act, low, high = fused_activation(activation_of(site.op))
        return Binary(kind=kind, dst=dst, a=a, b=b, shape=shape, act=act, low=low, high=high)
    quants = [_quant(site, name) for name in (*site.op.operands, site.op.name)]
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


def _quant(site: Site, name: str) -> tuple[float, int]:
    quant = site.type(name).quant
    if quant is None:
        return 1.0, 0
    return quant.scale[0], quant.zero_point[0]


def _lookup(site: Site) -> Lookup:
    shape, dst, (source,) = _loops(site)
    (table,) = site.parameters
    return Lookup(dst=dst, src=source, table=site.access(table, site.tile(table).box), shape=shape)


def _convert(site: Site) -> AnyInstruction:
    shape, dst, (source,) = _loops(site)
    if site.op.kind == "quantize":
        scale, zero = _quant(site, site.op.name)
        dtype = site.op.result.type.dtype
        return Quantize(dst=dst, src=source, shape=shape, dtype=dtype, scale=scale, zero_point=zero)
    scale, zero = _quant(site, site.op.operands[0])
    dtype = site.type(site.op.operands[0]).dtype
    return Dequantize(dst=dst, src=source, shape=shape, dtype=dtype, scale=scale, zero_point=zero)


def _unary(site: Site) -> Activate:
    shape, dst, (source,) = _loops(site)
    a, b = 0.0, 0.0
    if site.op.kind == "clip":
        a, b = site.op.float("lo", -math.inf), site.op.float("hi", math.inf)
    elif site.op.kind == "leaky_relu":
        a = site.op.float("alpha")
    return Activate(dst=dst, src=source, bias=None, shape=shape, act=_UNARY[site.op.kind], a=a, b=b)


def _reduce(site: Site) -> Reduce:
    """Return the reduction; its instruction has the reduced axis as the last loop."""
    axis, (source, *_) = site.op.int("axis"), site.step.reads
    box = list(site.step.box)
    box[axis] = site.tile(source).box[axis]
    src = site.access(source, tuple(box))
    dst = site.access(site.step.out, site.step.box)
    others = [loop for loop in range(len(box)) if loop != axis]
    return Reduce(
        kind=_REDUCTIONS[site.op.kind],
        dst=replace(dst, strides=tuple(dst.strides[loop] for loop in others)),
        src=replace(src, strides=tuple(src.strides[loop] for loop in (*others, axis))),
        shape=tuple(box[loop].size for loop in (*others, axis)),
    )


def _copy(site: Site) -> Copy:
    shape = tuple(axis.size for axis in site.step.box)
    source = site.step.reads[0]
    tile = site.tile(source)
    box = tile.box
    if tile.is_resident:
        box = tuple(
            Range(axis.start - shift, axis.stop - shift)
            for axis, shift in zip(site.step.box, _shifts(site, tile), strict=True)
        )
    src = site.access(source, box)
    dst = site.access(site.step.out, site.step.box)
    shape, (dst, src) = squeeze(shape, dst, src)
    return Copy(dst=dst, src=src, shape=shape, element_bytes=tile.element_bytes)


def _shifts(site: Site, tile: Tile) -> tuple[int, ...]:
    """Return where in the result a concatenated operand begins, along the view's axes."""
    if site.op.kind != "concat":
        return (0,) * len(tile.box)
    axis = site.op.int("axis")
    offset = 0
    for name in site.op.operands:
        extent = math.prod(site.type(name).shape[axis:])
        if name == tile.tensor and offset <= site.step.box[1].start < offset + extent:
            return 0, offset
        offset += extent
    raise PassError(f"%{site.op.name}: %{tile.tensor} is not among its operands")


def _pool(site: Site) -> Pool:
    op = site.op
    source = site.step.reads[0]
    tile = site.tile(source)
    whole = _pool_window(site)
    channels = (site.step.box[0], site.step.box[1])
    src = site.access(source, (*channels, tile.box[2], tile.box[3]))
    starts = [site.step.box[2 + axis].start * whole.stride[axis] for axis in (0, 1)]
    origin = [tile.box[2 + axis].start + whole.pads[axis] for axis in (0, 1)]
    extents = site.type(op.operands[0]).shape[2:]
    last = [extents[axis] + whole.pads[2 + axis] - tile.box[2 + axis].start - 1 for axis in (0, 1)]
    scales = [_quant(site, name) for name in (op.operands[0], op.name)]
    n, c, p, q = (axis.size for axis in site.step.box)
    return Pool(
        kind=ReduceKind.MAX if op.kind == "max_pool" else ReduceKind.MEAN,
        dst=site.access(site.step.out, site.step.box),
        src=src,
        shape=(n, c, p, q),
        kernel=whole.kernel,
        window=Window(
            stride=whole.stride,
            dilation=whole.dilation,
            rows=tile.box[2].size,
            columns=tile.box[3].size,
            top=origin[0] - starts[0],
            left=origin[1] - starts[1],
        ),
        dtype=op.result.type.dtype,
        include_padding=bool(op.attr("count_include_pad", False))
        if op.kind == "avg_pool"
        else False,
        outer_rows=(-origin[0], last[0]),
        outer_columns=(-origin[1], last[1]),
        scales=(scales[0][0], scales[1][0]),
        zeros=(scales[0][1], scales[1][1]),
        float_mean=op.kind == "avg_pool" and op.result.type.dtype.is_integer,
    )


def _pool_window(site: Site) -> PoolWindow:
    if site.op.kind != "global_avg_pool":
        return window_of(site.op)
    height, width = site.type(site.op.operands[0]).shape[2:]
    return PoolWindow(kernel=(height, width))
