"""The base Transformer: six layers that encode, six that decode, width 512 (as torch.nn).

It reads embedded sequences ``source`` and ``target``, ``[N, L, 512]``.

References:
    Vaswani et al.: Attention is All You Need. NIPS 2017.
"""

from ..layers.attention import Attention, attend
from ..layers.builder import NetBuilder
from ..layers.structure import LayerValue

_LAYERS = 6
_HOW = Attention(heads=8)


def transformer(net: NetBuilder) -> LayerValue:
    """Add the Transformer (44,140,544 parameters)."""
    shape = (net.options.batch, net.options.sequence, net.channels(512))
    memory, y = net.input("source", shape), net.input("target", shape)
    for index in range(_LAYERS):
        name = f"encoder{index}"
        memory = _joined(net, memory, attend(net, memory, f"{name}.self", _HOW), f"{name}.1")
        memory = _joined(net, memory, _feed_forward(net, memory, name), f"{name}.2")
    memory = net.layer_norm(memory, "encoder.norm")
    for index in range(_LAYERS):
        name = f"decoder{index}"
        y = _joined(net, y, attend(net, y, f"{name}.self", _HOW), f"{name}.1")
        mixed = attend(net, y, f"{name}.cross", _HOW, context=memory)
        y = _joined(net, y, mixed, f"{name}.2")
        y = _joined(net, y, _feed_forward(net, y, name), f"{name}.3")
    return net.layer_norm(y, "decoder.norm")


def _feed_forward(net: NetBuilder, x: LayerValue, name: str) -> LayerValue:
    width = x.shape[-1]
    y = net.relu(net.project(x, f"{name}.expand", 4 * width), f"{name}.relu")
    return net.project(y, f"{name}.reduce", width)


def _joined(net: NetBuilder, x: LayerValue, y: LayerValue, name: str) -> LayerValue:
    return net.layer_norm(net.add(x, y, f"{name}.add"), f"{name}.norm")
