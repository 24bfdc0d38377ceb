"""One decoder block as in Llama, in the size of TinyLlama-1.1B: ``[N, L, 2048]`` states.

RMS normalisation, rotary positions, four heads of keys and values for 32 of queries, and a gated
feed-forward. Cosines and sines of positions are constants, as in an export of fixed length.

References:
    Touvron et al.: LLaMA: Open and Efficient Foundation Language Models. 2023.
    Su et al.: RoFormer: Enhanced Transformer with Rotary Position Embedding. 2021.
    Zhang, Zeng, Wang, Lu: TinyLlama: An Open-Source Small Language Model. 2024.
"""

import numpy as np

from ..layers.attention import Operands, causal_mask, mix, to_heads
from ..layers.builder import NetBuilder
from ..layers.structure import LayerValue, ParameterRole

_WIDTH, _HIDDEN = 2048, 5632
_HEADS, _SHARED = 32, 4
_EPSILON = 1e-5
_BASE = 10_000.0


def llama_block(net: NetBuilder) -> LayerValue:
    """Add the block (44,044,288 parameters; 22 of them and two tables of words make the model)."""
    shape = (net.options.batch, net.options.sequence, net.channels(_WIDTH))
    x = net.input("hidden_states", shape)
    x = net.add(x, _attend(net, _rms_norm(net, x, "norm1")), "add1")
    y = _rms_norm(net, x, "norm2")
    hidden = net.channels(_HIDDEN)
    gate = net.project(y, "gate", hidden, bias=False)
    gate = net.mul(gate, net.op("Sigmoid", "gate.sigmoid", [gate]), "gate.swish")
    y = net.mul(gate, net.project(y, "up", hidden, bias=False), "gated")
    return net.add(x, net.project(y, "down", shape[-1], bias=False), "add2")


def _rms_norm(net: NetBuilder, x: LayerValue, name: str) -> LayerValue:
    square = net.op("Pow", f"{name}.square", (x, net.scalar(f"{name}.two", 2.0)))
    mean = net.op("ReduceMean", f"{name}.mean", [square], axes=(-1,), keepdims=1)
    above = net.add(mean, net.scalar(f"{name}.epsilon", _EPSILON), f"{name}.above")
    root = net.op("Sqrt", f"{name}.root", [above])
    inverse = net.op("Reciprocal", f"{name}.inverse", [root])
    gamma = net.parameter(f"{name}.weight", x.shape[-1:], ParameterRole.GAMMA, mean=1.0, std=0.1)
    return net.mul(gamma, net.mul(x, inverse, f"{name}.unit"), name)


def _attend(net: NetBuilder, x: LayerValue) -> LayerValue:
    _, length, width = x.shape
    shared = width // _HEADS * _SHARED
    query = to_heads(net, net.project(x, "query", width, bias=False), "query", _HEADS)
    key = to_heads(net, net.project(x, "key", shared, bias=False), "key", _SHARED)
    value = to_heads(net, net.project(x, "value", shared, bias=False), "value", _SHARED)
    cosines, sines = _positions(net, length, width // _HEADS)
    key = _repeated(net, _rotated(net, key, "key", cosines, sines), "key")
    operands = Operands(
        _rotated(net, query, "query", cosines, sines),
        net.transpose(key, "key.columns", (0, 1, 3, 2)),
        _repeated(net, value, "value"),
    )
    mixed = mix(net, operands, "attention", causal_mask(net, "mask", length))
    return net.project(mixed, "output", width, bias=False)


def _positions(net: NetBuilder, length: int, depth: int) -> tuple[LayerValue, LayerValue]:
    """Add cosines and sines ``[1, 1, L, d]`` of the angles by which pairs of channels turn."""
    speeds = _BASE ** (-np.arange(0, depth, 2) / depth)
    angles = np.tile(np.arange(length)[:, None] * speeds, 2)[None, None]
    cosines, sines = (f(angles).astype(np.float32) for f in (np.cos, np.sin))
    return net.floats("cosines", cosines), net.floats("sines", sines)


def _rotated(
    net: NetBuilder, x: LayerValue, name: str, cosines: LayerValue, sines: LayerValue
) -> LayerValue:
    depth = x.shape[-1]
    first = net.slice(x, f"{name}.first", (3,), 0, depth // 2)
    second = net.slice(x, f"{name}.second", (3,), depth // 2, depth)
    negative = net.op("Neg", f"{name}.negative", [second])
    turned = net.concat((negative, first), f"{name}.turned", axis=-1)
    kept = net.mul(x, cosines, f"{name}.kept")
    return net.add(kept, net.mul(turned, sines, f"{name}.moved"), f"{name}.rotated")


def _repeated(net: NetBuilder, x: LayerValue, name: str) -> LayerValue:
    """Give each head of keys or values to as many heads of queries."""
    N, heads, length, depth = x.shape
    wide = net.op("Unsqueeze", f"{name}.wide", (x, net.indices(f"{name}.axis", (2,))))
    shape = net.indices(f"{name}.times", (N, heads, _HEADS // _SHARED, length, depth))
    copies = net.op("Expand", f"{name}.copies", (wide, shape))
    return net.reshape(copies, f"{name}.repeated", (0, _HEADS, length, depth))
