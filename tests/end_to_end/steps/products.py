"""Steps that multiply and add, or look through windows, in any number of dimensions."""

import math

from tests.end_to_end.random_onnx import Sketch, Tensor

from .step import Step, floats, integers, positive, reshaped

_IMAGES = (3, 4, 5)
"""Ranks of tensors with one, two or three dimensions behind batch and channels."""


def _windows(net: Sketch, x: Tensor) -> dict[str, list[int]]:
    """Return windows that fit: kernel, strides and pads."""
    kernel = [net.choose([tap for tap in (1, 2, 3) if tap <= extent]) for extent in x.shape[2:]]
    strides = [net.one_of(1, 2) for _ in kernel]
    pads = [net.one_of(0, tap // 2) for tap in kernel * 2]
    return {"kernel_shape": kernel, "strides": strides, "pads": pads}


def _convolution(net: Sketch, x: Tensor) -> Tensor:
    windows, channels = _windows(net, x), x.shape[1]
    groups = net.choose([count for count in (1, 1, 2, channels) if channels % count == 0])
    wanted = groups * net.one_of(1, 2, 5)
    taps = windows["kernel_shape"]
    fan_in = channels // groups * math.prod(taps)
    weight = net.weight(wanted, channels // groups, *taps, scale=fan_in**-0.5)
    bias = [net.weight(wanted, scale=0.1)] if net.one_of(True, False) else []
    if net.one_of(True, False):
        windows["dilations"] = [1 if tap == 1 else net.one_of(1, 1, 2) for tap in taps]
        reach = zip(x.shape[2:], taps, windows["dilations"], strict=True)
        if any(extent < (tap - 1) * apart + 1 for extent, tap, apart in reach):
            del windows["dilations"]
    return net.apply("Conv", x, weight, *bias, group=groups, **windows)


def _automatic(net: Sketch, x: Tensor) -> Tensor:
    """Add a convolution or a pool whose padding goes by its name."""
    how = {"auto_pad": net.one_of("SAME_UPPER", "SAME_LOWER", "VALID")}
    kernel = [min(extent, net.one_of(1, 2, 3)) for extent in x.shape[2:]]
    how["strides"] = [min(tap, net.one_of(1, 2)) for tap in kernel]
    kind = net.one_of("Conv", "MaxPool", "AveragePool")
    if kind == "Conv":
        fan_in = x.shape[1] * math.prod(kernel)
        weight = net.weight(4, x.shape[1], *kernel, scale=fan_in**-0.5)
        return net.apply(kind, x, weight, **how)
    return net.apply(kind, x, kernel_shape=kernel, **how)


def _transposed(net: Sketch, x: Tensor) -> Tensor:
    kernel = [net.one_of(1, 2, 3) for _ in x.shape[2:]]
    strides = [net.one_of(1, 2) for _ in kernel]
    how = {
        "strides": strides,
        "pads": [net.one_of(0, tap // 2) if extent > 1 else 0 for tap, extent in _twice(kernel, x)],
        "output_padding": [net.one_of(0, step - 1) for step in strides],
    }
    channels = x.shape[1]
    groups = net.choose([count for count in (1, 2) if channels % count == 0])
    weight = net.weight(channels, net.one_of(1, 3), *kernel, scale=0.3)
    return net.apply("ConvTranspose", x, weight, group=groups, kernel_shape=kernel, **how)


def _twice(kernel: list[int], x: Tensor) -> list[tuple[int, int]]:
    return list(zip(kernel, x.shape[2:], strict=True)) * 2


def _pool(net: Sketch, x: Tensor) -> Tensor:
    windows = _windows(net, x)
    kind = net.one_of("MaxPool", "AveragePool", "LpPool")
    if kind == "LpPool":
        return net.apply(kind, x, p=net.one_of(1, 2), **windows)
    if kind == "AveragePool":
        return net.apply(kind, x, count_include_pad=net.one_of(0, 1), **windows)
    if net.one_of(True, False) or len(x.shape) == 5:
        return net.apply(kind, x, **windows)
    values, places = net.apply_for(2, kind, x, **windows)
    return net.apply("Add", values, floats(net, places))


def _global_pool(net: Sketch, x: Tensor) -> Tensor:
    assert net.opset is not None
    if net.one_of(True, False) or net.opset >= 22:  # onnxruntime lacks the newer GlobalLpPool
        return net.apply(net.one_of("GlobalAveragePool", "GlobalMaxPool"), x)
    return net.apply("GlobalLpPool", positive(net, x), p=net.one_of(1, 2))


def _columns(net: Sketch, x: Tensor) -> Tensor:
    """Lay columns of two by two back into an image."""
    if x.elements // x.shape[0] % 4:
        return net.apply("Neg", x)
    blocks = x.elements // (x.shape[0] * 4)
    columns = reshaped(net, x, x.shape[0], 4, blocks)
    image, block = integers(net, 2, blocks + 1), integers(net, 2, 2)
    return net.apply("Col2Im", columns, image, block)


def _dense(net: Sketch, x: Tensor) -> Tensor:
    """Add a Gemm with any of its attributes."""
    transposes = {"transA": net.one_of(0, 1), "transB": net.one_of(0, 1)}
    rows, depth = x.shape[::-1] if transposes["transA"] else x.shape
    wide = net.one_of(1, 6, 16)
    shape = (wide, depth) if transposes["transB"] else (depth, wide)
    bias = net.one_of((), (1,), (wide,), (rows, 1), (rows, wide), None)
    more = [] if bias is None else [net.weight(*bias)]
    factors = {"alpha": net.one_of(1.0, 0.5), "beta": net.one_of(1.0, 2.0)}
    weight = net.weight(*shape, scale=depth**-0.5)
    return net.apply("Gemm", x, weight, *more, **transposes, **factors)


def _batched(net: Sketch, x: Tensor) -> Tensor:
    """Multiply matrices of a batch, by one of all or one of each; or by what is computed."""
    depth, wide = x.shape[-1], net.one_of(1, 4, 9)
    batch = net.one_of((), (), x.shape[:-2])
    shape = (*batch, depth, wide)
    if math.prod(shape) > 4000:
        shape = (depth, 1)
    if net.one_of(True, False):
        weight = net.weight(*shape, scale=depth**-0.5)
    else:
        weight = net.computed(*shape)
    return net.apply("MatMul", x, weight)


_EQUATIONS = ("ij,jk->ik", "ij,kj->ki", "ij,ij->i", "ij,ij->ij", "ij->ji", "ij,jk->", "ij,j->i")


def _einsum(net: Sketch, x: Tensor) -> Tensor:
    equation = net.choose(_EQUATIONS)
    inputs, _, _ = equation.partition("->")
    extents = {"i": x.shape[0], "j": x.shape[1], "k": 3}
    others = [[extents[label] for label in term] for term in inputs.split(",")[1:]]
    weights = [net.weight(*shape, scale=x.shape[1] ** -0.5) for shape in others]
    found = net.apply("Einsum", x, *weights, equation=equation)
    return found if found.shape else reshaped(net, found, 1, 1)


def _recurrent(net: Sketch, x: Tensor) -> Tensor:
    kind = net.one_of("RNN", "GRU", "LSTM")
    steps = min(x.shape[0], 5)
    first = net.apply("Slice", x, integers(net, 0), integers(net, steps))
    batch, size = x.shape[1], net.one_of(2, 4)
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[kind]
    how = net.one_of("forward", "reverse", "bidirectional")
    ways = 2 if how == "bidirectional" else 1
    weights = [
        net.weight(ways, gates * size, x.shape[2], scale=0.3),
        net.weight(ways, gates * size, size, scale=0.3),
    ]
    bias = [net.weight(ways, 2 * gates * size, scale=0.1)] if net.one_of(True, False) else []
    attributes = {"hidden_size": size, "direction": how}
    if kind == "GRU":
        attributes["linear_before_reset"] = net.one_of(0, 1)
    found = net.apply(kind, first, *weights, *bias, **attributes)
    return reshaped(net, found, steps, ways * batch, size)


PRODUCTS = (
    Step(_convolution, ranks=_IMAGES, most=2500),
    Step(_automatic, ranks=_IMAGES, most=2500),
    Step(_transposed, ranks=_IMAGES, most=500),
    Step(_pool, ranks=_IMAGES),
    Step(_global_pool, ranks=_IMAGES),
    Step(_columns, first=18, most=500),
    Step(_dense, ranks=(2,)),
    Step(_batched, ranks=(2, 3, 4, 5)),
    Step(_einsum, ranks=(2,), most=1500),
    Step(_recurrent, ranks=(3,), most=600),
)
