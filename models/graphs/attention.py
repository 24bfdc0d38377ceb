"""ViT-B/16 and the base Transformer, attention taken apart into its products.

References:
    Dosovitskiy et al. An Image is Worth 16x16 Words. 2020.
    Vaswani et al. Attention is All You Need. NIPS, 2017.
"""

from ...ir.graph import Graph
from .builder import GraphBuilder


def vit() -> Graph:
    """ViT-B/16: 12 layers of width 768 with 12 heads, input [1, 3, 224, 224]."""
    net = GraphBuilder("vit")
    patches = net.op(
        "patch_embed",
        [net.input("image", 1, 3, 224, 224)],
        (1, 196, 768),
        weights=((768, 3, 16, 16), (768,)),
    )
    x = net.op("prepend_class", [patches], (1, 197, 768), weights=((768,),))
    x = net.op("add_position", [x], (1, 197, 768), weights=((197, 768),))
    for _ in range(12):
        y = _norm(net, x)
        x = net.add(_attend(net, y, y, 12), x)
        y = net.unary("gelu", net.linear(_norm(net, x), 3072))
        x = net.add(net.linear(y, 768), x)
    token = net.op("class_token", [_norm(net, x)], (1, 768))
    return net.finish(net.linear(token, 1000))


def transformer() -> Graph:
    """Transformer of 6 + 6 layers, width 512, 8 heads.

    The inputs are embedded sequences [10, 32, 512] and [20, 32, 512]: length, batch, width.
    """
    net = GraphBuilder("transformer")
    memory = net.input("source", 10, 32, 512)
    y = net.input("target", 20, 32, 512)
    for _ in range(6):
        memory = _norm(net, net.add(_attend(net, memory, memory, 8), memory))
        memory = _feed_forward(net, memory)
    memory = _norm(net, memory)
    for _ in range(6):
        y = _norm(net, net.add(_attend(net, y, y, 8), y))
        y = _norm(net, net.add(_attend(net, y, memory, 8), y))
        y = _feed_forward(net, y)
    return net.finish(_norm(net, y))


def _feed_forward(net: GraphBuilder, x: str) -> str:
    y = net.linear(net.linear(x, 2048), 512)
    return _norm(net, net.add(y, x))


def _attend(net: GraphBuilder, x: str, context: str, heads: int) -> str:
    width = net.shape(x)[-1]
    query, key, value = net.linear(x, width), net.linear(context, width), net.linear(context, width)
    rows, columns = _tokens(net, x), _tokens(net, context)
    batch = 1 if net.shape(x)[0] == 1 else net.shape(x)[1]
    scores = net.op("scores", [query, key], (batch, heads, rows, columns))
    weights = net.unary("softmax", scores)
    return net.linear(net.op("mix", [weights, value], net.shape(x)), width)


def _tokens(net: GraphBuilder, x: str) -> int:
    first, second, _ = net.shape(x)
    return second if first == 1 else first


def _norm(net: GraphBuilder, x: str) -> str:
    width = net.shape(x)[-1]
    return net.op("layer_norm", [x], net.shape(x), weights=((width,), (width,)))
