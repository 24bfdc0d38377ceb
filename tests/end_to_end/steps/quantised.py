"""Steps whose operators compute on integers of eight bits."""

import numpy as np

from tests.end_to_end.random_onnx import Sketch, Tensor

from .step import Step

_DOMAIN = {"domain": "com.microsoft"}


def _point(net: Sketch) -> tuple[str, str]:
    """Return a scale and a zero point."""
    return net.scalar(net.one_of(0.05, 0.011)), net.constant(np.uint8(net.one_of(128, 0, 101)))


def _quantised(net: Sketch, x: Tensor) -> tuple[Tensor, str, str]:
    scale, zero = _point(net)
    return net.apply("QuantizeLinear", x, scale, zero), scale, zero


def _there_and_back(net: Sketch, x: Tensor) -> Tensor:
    assert net.opset is not None
    scale = net.scalar(net.one_of(0.05, 0.011))
    # Some of onnxruntime's rewritings lose the type of the newer QuantizeLinear.
    signed = (np.int8(0), np.int8(-7)) if net.opset < 21 else ()
    zero = net.constant(net.one_of(np.uint8(128), *signed))
    domain = net.one_of({}, {}, _DOMAIN)
    if domain:
        numbers = net.node("QuantizeLinear", [x.name, scale, zero], x.shape, **domain)
        net.made[-1] = Tensor(numbers.name, x.shape, _type_of(net, zero))
    else:
        numbers = net.apply("QuantizeLinear", x, scale, zero)
    return net.apply("DequantizeLinear", numbers, scale, zero, shape=x.shape, **domain)


def _type_of(net: Sketch, constant: str) -> int:
    return next(item.data_type for item in net.weights if item.name == constant)


def _weights(net: Sketch, *shape: int) -> tuple[str, str, str]:
    kind = net.one_of(np.int8, np.uint8)
    info = np.iinfo(kind)
    rng = np.random.default_rng(sum(shape))
    values = rng.integers(info.min // 2, info.max // 2, shape).astype(kind)
    return net.constant(values), net.scalar(0.02), net.constant(kind(0))


def _product(net: Sketch, x: Tensor) -> Tensor:
    """Multiply integers by constant weights; the result is quantised, too."""
    numbers, *point = _quantised(net, x)
    result = _point(net)
    if len(x.shape) == 4:
        weights = _weights(net, 5, x.shape[1], 1, 1)
        found = net.apply("QLinearConv", numbers, *point, *weights, *result)
    else:
        weights = _weights(net, x.shape[-1], 6)
        found = net.apply("QLinearMatMul", numbers, *point, *weights, *result)
    return net.apply("DequantizeLinear", found, *result)


def _dynamic(net: Sketch, x: Tensor) -> Tensor:
    """Quantise as the network runs, multiply integers, make floats of them."""
    numbers, scale, zero = net.apply_for(3, "DynamicQuantizeLinear", x)
    kind = "ConvInteger" if len(x.shape) == 4 else "MatMulInteger"
    shape = (3, x.shape[1], 1, 1) if len(x.shape) == 4 else (x.shape[-1], 5)
    weights, _, none = _weights(net, *shape)
    found = net.apply(kind, numbers, weights, zero, *net.one_of((), (none,)))
    scaled = net.apply("Mul", net.apply("Cast", found, to=1), scale)
    return net.apply("Mul", scaled, net.scalar(0.01))


def _of_bytes(net: Sketch, x: Tensor) -> Tensor:
    """Compute with an operator of onnxruntime's own, from bytes to bytes."""
    numbers, *point = _quantised(net, x)
    result = _point(net)
    kind = net.one_of("QLinearAdd", "QLinearMul", "QLinearLeakyRelu", "QLinearSigmoid")
    operands = [numbers.name, *point]
    if kind in ("QLinearAdd", "QLinearMul"):
        operands += [numbers.name, *point]
    more = {"alpha": 0.25} if kind == "QLinearLeakyRelu" else {}
    return _dequantised(net, kind, [*operands, *result], x.shape, result, **more)


def _dequantised(
    net: Sketch,
    kind: str,
    operands: list[str],
    shape: tuple[int, ...],
    result: tuple[str, str],
    **attributes: object,
) -> Tensor:
    found = net.node(kind, operands, shape, **_DOMAIN, **attributes)
    net.made[-1] = Tensor(found.name, shape, _type_of(net, result[1]))
    return net.apply("DequantizeLinear", net.made[-1], *result)


def _pool_of_bytes(net: Sketch, x: Tensor) -> Tensor:
    numbers, *point = _quantised(net, x)
    result = _point(net)
    operands, shape = [numbers.name, *point, *result], (*x.shape[:2], 1, 1)
    if net.one_of(True, False):
        kind, more = "QLinearGlobalAveragePool", {"channels_last": 0}
    else:
        kind, more = "QLinearAveragePool", {"kernel_shape": list(x.shape[2:])}
    return _dequantised(net, kind, operands, shape, result, **more)


def _joined(net: Sketch, x: Tensor) -> Tensor:
    """Join integers of two scales."""
    result, one, other = _point(net), _quantised(net, x), _quantised(net, x)
    operands = [*result, *(item if isinstance(item, str) else item.name for item in (*one, *other))]
    shape = (*x.shape[:-1], 2 * x.shape[-1])
    return _dequantised(net, "QLinearConcat", operands, shape, result, axis=len(shape) - 1)


def _softmax(net: Sketch, x: Tensor) -> Tensor:
    numbers, *point = _quantised(net, x)
    result = (net.scalar(1 / 256), net.constant(np.uint8(0)))
    how = {"opset": net.opset, "axis": len(x.shape) - 1}
    operands = [numbers.name, *point, *result]
    return _dequantised(net, "QLinearSoftmax", operands, x.shape, result, **how)


def _dense(net: Sketch, x: Tensor) -> Tensor:
    numbers, *point = _quantised(net, x)
    weights, scale, zero = _weights(net, x.shape[1], 7)
    result = _point(net)
    operands = [numbers.name, *point, weights, scale, zero, "", *result]
    return _dequantised(net, "QGemm", operands, (x.shape[0], 7), result)


QUANTISED = (
    Step(_there_and_back),
    Step(_product, ranks=(2, 3, 4)),
    Step(_dynamic, ranks=(2, 3, 4), most=2500),
    Step(_of_bytes),
    Step(_pool_of_bytes, ranks=(4,)),
    Step(_joined),
    Step(_softmax),
    Step(_dense, ranks=(2,)),
)
