"""Steps that compute along axes: reductions, normalisations, running sums."""

import math

import numpy as np
from onnx import TensorProto

from tests.end_to_end.random_onnx import Sketch, Tensor

from .step import Step, axis_of, floats, integers, positive, within

_REDUCTIONS = (
    *("ReduceL1", "ReduceL2", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin"),
    *("ReduceSum", "ReduceSumSquare", "ReduceLogSum", "ReduceProd"),
)
_GUARDS = {"ReduceLogSum": positive, "ReduceProd": within}


def _reduced(net: Sketch, x: Tensor) -> Tensor:
    kind = net.choose(_REDUCTIONS)
    rank = len(x.shape)
    axes = sorted({axis_of(net, x) % rank for _ in range(net.one_of(1, 1, 2))})
    if net.one_of(True, False):
        axes = [axis - rank for axis in axes]
    keep = net.one_of(0, 1) if len(axes) < rank else 1
    guarded = _GUARDS[kind](net, x) if kind in _GUARDS else x
    assert net.opset is not None
    if net.opset < 18 and kind != "ReduceSum":
        return net.apply(kind, guarded, axes=axes, keepdims=keep)
    return net.apply(kind, guarded, integers(net, *axes), keepdims=keep)


def _position(net: Sketch, x: Tensor) -> Tensor:
    kind, keep = net.one_of("ArgMax", "ArgMin"), net.one_of(0, 1) if len(x.shape) > 1 else 1
    last = {"select_last_index": net.one_of(0, 1)}
    return floats(net, net.apply(kind, x, axis=axis_of(net, x), keepdims=keep, **last))


def _one_hot(net: Sketch, x: Tensor) -> Tensor:
    axis = axis_of(net, x)
    places = net.apply("ArgMax", x, axis=axis, keepdims=0)
    values = net.constant(np.array([-0.5, 1.5], np.float32))
    depth = net.constant(np.int64(x.shape[axis] + net.one_of(0, 2)))
    return net.apply("OneHot", places, depth, values, axis=net.one_of(-1, 0))


def _soft(net: Sketch, x: Tensor) -> Tensor:
    return net.apply(net.one_of("Softmax", "LogSoftmax", "Hardmax"), x, axis=axis_of(net, x))


def _running(net: Sketch, x: Tensor) -> Tensor:
    assert net.opset is not None
    kind = net.one_of("CumSum", "CumProd") if net.opset >= 26 else "CumSum"
    axis = net.constant(np.int64(axis_of(net, x)))
    how = {"exclusive": net.one_of(0, 1), "reverse": net.one_of(0, 1)}
    return net.apply(kind, within(net, x), axis, **how)


def _top(net: Sketch, x: Tensor) -> Tensor:
    axis = axis_of(net, x)
    count = integers(net, net.one_of(*range(1, x.shape[axis] + 1)))
    values, places = net.apply_for(2, "TopK", x, count, axis=axis, largest=net.one_of(0, 1))
    return net.one_of(values, floats(net, places))


def _layer_normalisation(net: Sketch, x: Tensor) -> Tensor:
    assert net.opset is not None
    axis = axis_of(net, x) % len(x.shape)
    scale = net.weight(*x.shape[axis:], scale=0.1, shift=1.0)
    if net.opset >= 23 and net.one_of(True, False):
        return net.apply("RMSNormalization", x, scale, axis=axis)
    bias = [net.weight(*x.shape[axis:], scale=0.1)] if net.one_of(True, False) else []
    return net.apply("LayerNormalization", x, scale, *bias, axis=axis, epsilon=1e-3)


def _lp_normalisation(net: Sketch, x: Tensor) -> Tensor:
    return net.apply("LpNormalization", positive(net, x), axis=axis_of(net, x), p=net.one_of(1, 2))


def _channel_normalisation(net: Sketch, x: Tensor) -> Tensor:
    assert net.opset is not None
    channels = x.shape[1]
    scales = (net.weight(channels, scale=0.1, shift=1.0), net.weight(channels, scale=0.1))
    if net.opset >= 21 and net.one_of(True, False):
        groups = net.choose([count for count in (1, 2, 4, channels) if channels % count == 0])
        how = {"num_groups": groups, "epsilon": 1e-3}
        return net.apply("GroupNormalization", x, *scales, shape=x.shape, **how)
    return net.apply("InstanceNormalization", x, *scales, epsilon=1e-3)


def _batch_normalisation(net: Sketch, x: Tensor) -> Tensor:
    return net.norm(x)


def _local_response(net: Sketch, x: Tensor) -> Tensor:
    size, alpha = net.one_of(1, 3, 5), net.one_of(1e-4, 0.1)
    return net.apply("LRN", x, size=size, alpha=alpha, beta=net.one_of(0.75, 0.5), bias=1.5)


def _mean_variance(net: Sketch, x: Tensor) -> Tensor:
    axes = net.one_of([0, 2, 3], [2, 3], [1, 2, 3])
    if math.prod(x.shape[axis] for axis in axes) < 4:
        return net.apply("Neg", x)
    # Of equal values onnxruntime takes the root of a rounding, which may be negative.
    varied = net.apply("Add", x, net.weight(*x.shape))
    return net.apply("MeanVarianceNormalization", varied, axes=axes)


def _spectrum(net: Sketch, x: Tensor) -> Tensor:
    """Return the absolute values of what the discrete Fourier transform makes of the last axis."""
    shape = integers(net, *x.shape, 1)
    signal = net.apply("Reshape", x, shape)
    axis = net.constant(np.int64(-2))
    found = net.apply("DFT", signal, "", axis, onesided=net.one_of(0, 1))
    return net.apply("ReduceL2", found, integers(net, -1), keepdims=0)


def _frames(net: Sketch, x: Tensor) -> Tensor:
    """Return the absolute values of the short-time Fourier transform of rows."""
    rows, length = x.shape[0], x.elements // x.shape[0]
    size = net.choose([count for count in (1, 2, 4, 8) if count <= length])
    signal = net.apply("Reshape", x, integers(net, rows, length, 1))
    step = net.constant(np.int64(net.one_of(1, 2, 3)))
    window = net.weight(size, scale=0.1, shift=1.0)
    found = net.apply("STFT", signal, step, window, onesided=1)
    assert found.type == TensorProto.FLOAT
    return net.apply("ReduceL1", found, integers(net, -1), keepdims=0)


AXES = (
    Step(_reduced),
    Step(_reduced),
    Step(_position),
    Step(_one_hot, ranks=(2, 3, 4), most=1000),
    Step(_soft),
    Step(_running),
    Step(_top),
    Step(_layer_normalisation, first=17),
    Step(_lp_normalisation, first=13),
    Step(_channel_normalisation, ranks=(3, 4)),
    Step(_batch_normalisation, ranks=(4,)),
    Step(_local_response, ranks=(4,)),
    Step(_mean_variance, ranks=(4,)),
    Step(_spectrum, first=20, ranks=(1, 2, 3), most=500),
    Step(_frames, first=18, ranks=(2, 3, 4), most=500),
)
