"""Fuse an activation into the float operator that feeds it.

::

    %a = conv2d(%x, %w) : f32      ->     %b = conv2d(%x, %w) {act = "relu"} : f32
    %b = relu(%a) : f32
"""

from collections.abc import Mapping

from ....ir.graph import Attr, Graph, Op, sorted_attrs
from ....ir.types import DType

_FUSABLE = frozenset({"conv2d", "dense", "add", "mul"})
_ACTIVATIONS = frozenset({"relu", "clip", "leaky_relu"})


def fuse_activations(graph: Graph) -> Graph:
    """Fuse each activation whose operand has no other use; the old operator becomes dead."""
    use_count = graph.use_count

    def fuse(op: Op, producer: Mapping[str, Op]) -> Op | None:
        if op.kind not in _ACTIVATIONS:
            return None
        source = producer.get(op.operands[0])
        if source is None or source.kind not in _FUSABLE or use_count[source.name] > 1:
            return None
        if source.result.type.dtype is not DType.F32 or source.str("act", "none") != "none":
            return None
        act: tuple[tuple[str, Attr], ...] = (("act", op.kind), *op.attrs)
        return Op(
            kind=source.kind,
            operands=source.operands,
            results=op.results,
            attrs=sorted_attrs([*(pair for pair in source.attrs if pair[0] != "act"), *act]),
            loc=source.loc,
        )

    return graph.rewrite(fuse)
