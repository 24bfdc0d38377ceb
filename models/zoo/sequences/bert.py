"""BERT, base and tiny, from token ids to the pooled first token (as Hugging Face transformers).

It reads ``input_ids``, ``token_type_ids`` and ``attention_mask``, ``[N, L]`` int64.

References:
    Devlin, Chang, Lee, Toutanova: BERT: Pre-training of Deep Bidirectional Transformers for
    Language Understanding. NAACL 2019. Turc et al.: Well-Read Students Learn Better. 2019 (tiny).
"""

from ....ir.errors import OptionError
from ..layers.attention import Attention, attend, padding_mask
from ..layers.builder import NetBuilder
from ..layers.structure import LayerValue, ParameterRole

_WORDS, _POSITIONS, _TYPES = 30522, 512, 2
_EPSILON = 1e-12


def bert_base(net: NetBuilder) -> LayerValue:
    """Add BERT-base (109,482,240 parameters)."""
    return _bert(net, layers=12, width=768, heads=12)


def bert_tiny(net: NetBuilder) -> LayerValue:
    """Add BERT-tiny (4,385,920 parameters)."""
    return _bert(net, layers=2, width=128, heads=2)


def _bert(net: NetBuilder, *, layers: int, width: int, heads: int) -> LayerValue:
    """Add the encoder and the pooler.

    Raises:
        OptionError: The text has more tokens than there are positions.
    """
    shape = (net.options.batch, net.options.sequence)
    if shape[1] > _POSITIONS:
        raise OptionError(f"{net.name}: {shape[1]} tokens; at most {_POSITIONS} have positions")
    x = _embedded(net, shape, net.channels(width))
    mask = padding_mask(net, net.input("attention_mask", shape, below=2))
    how = Attention(heads=heads, mask=mask)
    for index in range(layers):
        name = f"layer{index}"
        x = _joined(net, x, attend(net, x, f"{name}.attention", how), f"{name}.attention")
        y = net.project(x, f"{name}.expand", 4 * x.shape[-1])
        y = net.project(net.gelu(y, f"{name}.gelu"), f"{name}.reduce", x.shape[-1])
        x = _joined(net, x, y, name)
    first = net.op("Gather", "first", (x, net.index("first.position", 0)), axis=1)
    return net.op("Tanh", "pooler.tanh", [net.linear(first, "pooler", first.shape[-1])])


def _embedded(net: NetBuilder, shape: tuple[int, int], width: int) -> LayerValue:
    ids = net.input("input_ids", shape, below=_WORDS)
    kinds = net.input("token_type_ids", shape, below=_TYPES)
    x = net.add(
        net.embedding(ids, "words", _WORDS, width),
        net.embedding(kinds, "types", _TYPES, width),
        "words.typed",
    )
    table = net.parameter("positions.weight", (_POSITIONS, width), ParameterRole.WEIGHT, std=1.0)
    positions = net.slice(table, "positions", (0,), 0, shape[1])
    return net.layer_norm(net.add(x, positions, "embedded"), "embedded.norm", epsilon=_EPSILON)


def _joined(net: NetBuilder, x: LayerValue, y: LayerValue, name: str) -> LayerValue:
    return net.layer_norm(net.add(y, x, f"{name}.add"), f"{name}.norm", epsilon=_EPSILON)
