"""The blocks of GPT-2 (124M), from embedded to normalised states ``[N, L, 768]``.

Without the table of words, which is also the head, and without the table of positions.

References:
    Radford, Wu, Child, Luan, Amodei, Sutskever: Language Models are Unsupervised Multitask
    Learners. 2019.
"""

import math

from ..layers.attention import Attention, attend, causal_mask
from ..layers.builder import NetBuilder
from ..layers.structure import LayerValue

_LAYERS = 12


def gpt2_blocks(net: NetBuilder) -> LayerValue:
    """Add the blocks (85,056,000 of the 124,439,808 parameters)."""
    width, length = net.channels(768), net.options.sequence
    x = net.input("hidden_states", (net.options.batch, length, width))
    mask = causal_mask(net, "mask", length)
    how = Attention(heads=12, fused=True, mask=mask, gain=_LAYERS**-0.5)
    for index in range(_LAYERS):
        name = f"h{index}"
        y = attend(net, net.layer_norm(x, f"{name}.ln_1"), f"{name}.attention", how)
        x = net.add(y, x, f"{name}.add1")
        y = net.project(net.layer_norm(x, f"{name}.ln_2"), f"{name}.expand", 4 * width)
        y = net.project(_gelu_tanh(net, y, f"{name}.gelu"), f"{name}.reduce", width, gain=how.gain)
        x = net.add(x, y, f"{name}.add2")
    return net.layer_norm(x, "ln_f")


def _gelu_tanh(net: NetBuilder, x: LayerValue, name: str) -> LayerValue:
    """Add ``x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3))) / 2``."""
    cube = net.op("Pow", f"{name}.cube", (x, net.scalar(f"{name}.three", 3.0)))
    small = net.mul(cube, net.scalar(f"{name}.share", 0.044715), f"{name}.small")
    slope = net.scalar(f"{name}.slope", math.sqrt(2 / math.pi))
    inner = net.mul(net.add(x, small, f"{name}.sum"), slope, f"{name}.inner")
    bent = net.op("Tanh", f"{name}.tanh", [inner])
    lifted = net.add(bent, net.scalar(f"{name}.one", 1.0), f"{name}.lifted")
    halved = net.mul(x, net.scalar(f"{name}.half", 0.5), f"{name}.halved")
    return net.mul(halved, lifted, name)
