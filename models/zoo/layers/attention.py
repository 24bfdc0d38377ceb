"""Attention over several heads, taken apart as exporters write it.

Args:
    net: Gets the layers.
    x: The operand.
    name: Beginning of the layers' names.
    widths: Of the parts.
    heads: How many.
    keys: Whether they are keys.
    operands: Queries, keys and values.
    mask: Added to the products; ``None`` for nothing.
    length: Positions.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .builder import NetBuilder
from .structure import LayerValue

_TO_HEADS, _KEYS = (0, 2, 1, 3), (0, 2, 3, 1)
_MASKED = float(np.finfo(np.float32).min)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """How a layer attends.

    Attributes:
        heads: Heads of queries, keys and values.
        fused: Whether one product makes queries, keys and values, which are then split.
        mask: Added to the scores, if any.
        gain: Factor on the weights of the output; sums grow slowly with depth.
    """

    heads: int
    fused: bool = False
    mask: LayerValue | None = None
    gain: float = 1.0


class Operands(NamedTuple):
    """Queries and values ``[N, heads, L, d]``, keys ``[N, heads, d, L]``."""

    query: LayerValue
    key: LayerValue
    value: LayerValue


def attend(
    net: NetBuilder, x: LayerValue, name: str, how: Attention, *, context: LayerValue | None = None
) -> LayerValue:
    """Let ``x`` attend to itself, or to a context: ``[N, L, W] -> [N, L, W]``.

    Args:
        net: What it is added to.
        x: Queries are made of it.
        name: Prefix of the names of its layers.
        how: Heads and form.
        context: Keys and values are made of it; ``x`` if not given.
    """
    width = x.shape[-1]
    source = x if context is None else context
    if how.fused:
        joined = net.project(x, f"{name}.qkv", 3 * width)
        query, key, value = split(net, joined, f"{name}.split", (width, width, width))
    else:
        query = net.project(x, f"{name}.query", width)
        key = net.project(source, f"{name}.key", width)
        value = net.project(source, f"{name}.value", width)
    operands = Operands(
        to_heads(net, query, f"{name}.query", how.heads),
        to_heads(net, key, f"{name}.key", how.heads, keys=True),
        to_heads(net, value, f"{name}.value", how.heads),
    )
    mixed = mix(net, operands, name, how.mask)
    return net.project(mixed, f"{name}.output", width, gain=how.gain)


def split(
    net: NetBuilder, x: LayerValue, name: str, widths: tuple[int, ...]
) -> tuple[LayerValue, ...]:
    """Cut the last axis into parts."""
    sizes = net.indices(f"{name}.sizes", widths)
    return net.ops("Split", name, (x, sizes), len(widths), axis=-1)


def to_heads(
    net: NetBuilder, x: LayerValue, name: str, heads: int, *, keys: bool = False
) -> LayerValue:
    """Cut ``[N, L, W]`` into heads ``[N, heads, L, d]``; of keys ``[N, heads, d, L]``."""
    _, length, width = x.shape
    cut = net.reshape(x, f"{name}.cut", (0, length, heads, width // heads))
    return net.transpose(cut, f"{name}.turn", _KEYS if keys else _TO_HEADS)


def mix(net: NetBuilder, operands: Operands, name: str, mask: LayerValue | None) -> LayerValue:
    """Return the values, weighted by how well keys fit queries, with heads joined again."""
    query, key, value = operands
    _, heads, length, depth = query.shape
    scores = net.op("MatMul", f"{name}.scores", (query, key))
    root = net.scalar(f"{name}.root", math.sqrt(depth))
    scores = net.op("Div", f"{name}.scaled", (scores, root))
    if mask is not None:
        scores = net.add(scores, mask, f"{name}.masked")
    weights = net.op("Softmax", f"{name}.softmax", [scores], axis=-1)
    mixed = net.op("MatMul", f"{name}.mix", (weights, value))
    turned = net.transpose(mixed, f"{name}.join", _TO_HEADS)
    return net.reshape(turned, f"{name}.joined", (0, length, heads * depth))


def causal_mask(net: NetBuilder, name: str, length: int) -> LayerValue:
    """Add the constant ``[1, 1, L, L]`` that keeps positions from seeing later ones."""
    later: NDArray[np.bool_] = np.triu(np.ones((1, 1, length, length), np.bool_), 1)
    return net.floats(name, np.where(later, np.float32(_MASKED), np.float32(0)))


def padding_mask(net: NetBuilder, seen: LayerValue) -> LayerValue:
    """Turn an input ``[N, L]`` of ones and zeros into what is added to scores, ``[N, 1, 1, L]``."""
    spread = net.op("Unsqueeze", "mask.spread", (seen, net.indices("mask.axes", (1, 2))))
    as_float = net.op("Cast", "mask.float", [spread], to=1)
    hidden = net.op("Sub", "mask.hidden", (net.scalar("mask.one", 1.0), as_float))
    return net.mul(hidden, net.scalar("mask.low", _MASKED), "mask")
