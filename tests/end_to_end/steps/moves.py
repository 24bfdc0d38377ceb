"""Steps that move elements: what is picked, laid elsewhere, repeated, padded."""

import numpy as np
from onnx import TensorProto

from tests.end_to_end.random_onnx import Sketch, Tensor

from .step import Step, axis_of, floats, integers, reshaped


def _sliced(net: Sketch, x: Tensor) -> Tensor:
    axis = axis_of(net, x)
    extent, step = x.shape[axis], net.one_of(1, 1, 2, -1, -3)
    start = net.one_of(*range(extent))
    end = net.one_of(*range(start + 1, extent + 2)) if step > 0 else net.one_of(-extent - 1, 0)
    if step < 0 and start == 0:
        end = -extent - 1
    bounds = (integers(net, value) for value in (start, end, axis, step))
    return net.apply("Slice", x, *bounds)


def _padded(net: Sketch, x: Tensor) -> Tensor:
    assert net.opset is not None
    modes = ("constant", "constant", "reflect", "edge", *(("wrap",) * (net.opset >= 19)))
    mode, rank = net.choose(modes), len(x.shape)
    room = [extent - 1 if mode == "reflect" else extent for extent in x.shape] * 2
    pads = [net.one_of(0, min(most, 1), min(most, 2)) for most in room]
    if mode == "constant" and net.one_of(True, False):
        shrunk = net.one_of(*range(rank))
        pads[shrunk] = -min(1, x.shape[shrunk] - 1)
    value = [net.scalar(0.5)] if mode == "constant" and net.one_of(True, False) else []
    return net.apply("Pad", x, integers(net, *pads), *value, mode=mode)


def _split(net: Sketch, x: Tensor) -> Tensor:
    axis = axis_of(net, x)
    extent = x.shape[axis]
    if extent == 1:
        return net.apply("Neg", x)
    first = net.one_of(*range(1, extent))
    sizes = integers(net, first, extent - first)
    parts = net.apply_for(2, "Split", x, sizes, axis=axis)
    return net.apply("Concat", *net.one_of(parts, parts[::-1], parts[:1] * 2), axis=axis)


def _gathered(net: Sketch, x: Tensor) -> Tensor:
    axis = axis_of(net, x)
    extent = x.shape[axis]
    places = [net.one_of(*range(-extent, extent)) for _ in range(net.one_of(1, 2, 5))]
    if net.one_of(True, False):
        return net.apply("Gather", x, integers(net, *places), axis=axis)
    shape = list(x.shape)
    shape[axis] = len(places)
    found = np.resize(np.array(places, np.int64), shape)
    return net.apply("GatherElements", x, net.constant(found), axis=axis)


def _gathered_nd(net: Sketch, x: Tensor) -> Tensor:
    depth = net.one_of(*range(1, len(x.shape)))
    count = net.one_of(1, 3)
    places = [[net.one_of(*range(extent)) for extent in x.shape[:depth]] for _ in range(count)]
    return net.apply("GatherND", x, net.constant(np.array(places, np.int64)))


def _computed_places(net: Sketch, x: Tensor) -> Tensor:
    """Pick rows of a constant by what is computed."""
    places = net.apply("ArgMax", x, axis=axis_of(net, x), keepdims=0)
    table = net.weight(max(x.shape), net.one_of(1, 5))
    return net.apply("Gather", table, places, axis=0)


def _scattered(net: Sketch, x: Tensor) -> Tensor:
    assert net.opset is not None
    axis, more = axis_of(net, x), ("add", "mul", *(("max", "min") * (net.opset >= 18)))
    how = net.one_of("none", net.choose(more)) if net.opset >= 16 else "none"
    attributes = {} if how == "none" else {"reduction": how}
    shape = list(x.shape)
    shape[axis] = count = net.one_of(*range(1, min(4, x.shape[axis]) + 1))
    line = np.random.default_rng(count).permutation(x.shape[axis])[:count]
    along = [1] * len(shape)
    along[axis] = count
    places = net.constant(np.broadcast_to(line.reshape(along), shape).astype(np.int64))
    return net.apply("ScatterElements", x, places, net.weight(*shape), axis=axis, **attributes)


def _scattered_nd(net: Sketch, x: Tensor) -> Tensor:
    rows = sorted({net.one_of(*range(x.shape[0])) for _ in range(2)})
    places = net.constant(np.array(rows, np.int64).reshape(-1, 1))
    return net.apply("ScatterND", x, places, net.computed(len(rows), *x.shape[1:]))


def _tensor_scattered(net: Sketch, x: Tensor) -> Tensor:
    batch, places, *rest = x.shape
    length = net.one_of(*range(1, places + 1))
    starts = integers(net, *(net.one_of(*range(places - length + 1)) for _ in range(batch)))
    new = net.computed(batch, length, *rest)
    return net.apply("TensorScatter", x, new, starts, axis=1)


def _compressed(net: Sketch, x: Tensor) -> Tensor:
    axis = axis_of(net, x)
    kept = np.array([net.one_of(True, False) for _ in range(x.shape[axis])])
    kept[net.one_of(*range(len(kept)))] = True
    shape = list(x.shape)
    shape[axis] = int(kept.sum())
    return net.apply("Compress", x, net.constant(kept), axis=axis, shape=tuple(shape))


def _turned(net: Sketch, x: Tensor) -> Tensor:
    axes = list(range(len(x.shape)))
    order = [axes.pop(net.one_of(*range(len(axes)))) for _ in x.shape]
    return net.apply("Transpose", x, perm=order)


def _repeated(net: Sketch, x: Tensor) -> Tensor:
    counts = [net.one_of(1, 1, 2) for _ in x.shape]
    return net.apply("Tile", x, integers(net, *counts))


def _expanded(net: Sketch, x: Tensor) -> Tensor:
    shape = [net.one_of(1, 2, 3) if extent == 1 else extent for extent in x.shape]
    more = () if len(shape) > 3 else net.one_of((), (2,))
    return net.apply("Expand", x, integers(net, *more, *shape))


def _ranked(net: Sketch, x: Tensor) -> Tensor:
    """Add axes of one, or leave some out."""
    ones = [axis for axis, extent in enumerate(x.shape) if extent == 1]
    if ones and len(x.shape) > 1 and net.one_of(True, False):
        return net.apply("Squeeze", x, integers(net, net.choose(ones)))
    if len(x.shape) >= 5:
        return net.apply("Flatten", x, axis=net.one_of(1, 2, 3))
    return net.apply("Unsqueeze", x, integers(net, net.one_of(0, -1, 1)))


def _reshaped(net: Sketch, x: Tensor) -> Tensor:
    """Reshape by what is computed from shapes, or by zeros and minus one."""
    kind = net.one_of("size", "shape", "zero")
    if kind == "size":
        size = net.apply("Unsqueeze", net.apply("Size", x), integers(net, 0))
        return net.apply("Reshape", x, size, shape=(x.elements,))
    if kind == "shape":
        computed = net.apply("Shape", x)
        return net.apply("Reshape", net.apply("Sigmoid", x), computed, shape=x.shape)
    return reshaped(net, x, 0, -1) if len(x.shape) > 1 else reshaped(net, x, -1, 1)


def _depth(net: Sketch, x: Tensor) -> Tensor:
    _, channels, height, width = x.shape
    if channels % 4 == 0:
        return net.apply("DepthToSpace", x, blocksize=2, mode=net.one_of("DCR", "CRD"))
    block = 2 if height % 2 == width % 2 == 0 else 1
    return net.apply("SpaceToDepth", x, blocksize=block)


def _triangle(net: Sketch, x: Tensor) -> Tensor:
    place = [net.constant(np.int64(net.one_of(-1, 0, 1)))] if net.one_of(True, False) else []
    return net.apply("Trilu", x, *place, upper=net.one_of(0, 1))


def _identity(net: Sketch, x: Tensor) -> Tensor:
    """Add a matrix of ones along a diagonal."""
    return net.apply("Add", x, net.apply("EyeLike", x, k=net.one_of(-1, 0, 2)))


def _constant(net: Sketch, x: Tensor) -> Tensor:
    return net.apply("Sub", x, net.apply("Constant", value_float=0.25))


def _reversed(net: Sketch, x: Tensor) -> Tensor:
    lengths = integers(net, *(net.one_of(*range(1, x.shape[0] + 1)) for _ in range(x.shape[1])))
    return net.apply("ReverseSequence", x, lengths, batch_axis=1, time_axis=0)


def _resized(net: Sketch, x: Tensor) -> Tensor:
    factors = (1.0, 1.0, net.one_of(1.0, 2.0, 3.0), net.one_of(1.0, 2.0))
    scales = net.constant(np.array(factors, np.float32))
    mode = net.one_of("nearest", "linear", "cubic")
    place = net.one_of("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")
    how = {"mode": mode, "coordinate_transformation_mode": place}
    if mode == "nearest":
        how |= {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    return net.apply("Resize", x, "", scales, **how)


def _sampled(net: Sketch, x: Tensor) -> Tensor:
    shape = (x.shape[0], net.one_of(1, 3), net.one_of(2, 4), 2)
    places = np.random.default_rng(shape[1]).uniform(-1.2, 1.2, shape).astype(np.float32)
    how = {"mode": net.one_of("linear", "nearest"), "align_corners": net.one_of(0, 1)}
    pads = net.one_of("zeros", "border", "reflection")
    return net.apply("GridSample", x, net.constant(places), padding_mode=pads, **how)


def _kept(net: Sketch, x: Tensor) -> Tensor:
    kind = net.one_of("Dropout", "Identity", "Cast")
    if kind == "Cast":
        kind_of = net.one_of(TensorProto.FLOAT, TensorProto.BOOL, TensorProto.INT32)
        return floats(net, net.apply("Cast", net.apply("Mul", x, net.scalar(3.0)), to=kind_of))
    return net.apply("Neg", net.apply(kind, x))


_MATRICES = (2, 3, 4, 5)

MOVES = (
    Step(_sliced),
    Step(_padded),
    Step(_split),
    Step(_gathered, most=1500),
    Step(_gathered_nd, ranks=_MATRICES),
    Step(_computed_places, ranks=_MATRICES, most=500),
    Step(_scattered),
    Step(_scattered_nd, ranks=_MATRICES),
    Step(_tensor_scattered, first=24, ranks=(3, 4)),
    Step(_compressed),
    Step(_turned),
    Step(_repeated, most=500),
    Step(_expanded, most=1500),
    Step(_ranked),
    Step(_reshaped),
    Step(_depth, ranks=(4,)),
    Step(_triangle, first=14, ranks=_MATRICES),
    Step(_identity, ranks=(2,)),
    Step(_constant),
    Step(_reversed, ranks=_MATRICES),
    Step(_resized, ranks=(4,), most=500),
    Step(_sampled, first=20, ranks=(4,), most=1500),
    Step(_kept),
)
