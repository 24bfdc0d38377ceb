"""Let one operator move elements where several do, one after the other.

::

    %a = reshape(%x) {shape = [6, 2, 4]} : s8<6x2x4>
    %b = transpose(%a) {perm = [1, 0, 2]} : s8<2x6x4>
    %y = reshape(%b) {shape = [12, 4, 1, 1]} : s8<12x4x1x1>

    ->  %y = rearrange(%x) {factors = [6, 2, 4], perm = [1, 0, 2], shape = [12, 4, 1, 1]}

Reshapes, transpositions and rearrangements are merged with those that read them, if nobody else
does. Each walks through its operand along axes with strides; where the axes of one split evenly
into those of the next, both together do, too.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, TypeAlias

from ...ir.graph import Attr, Graph, Op, sorted_attrs
from ...ir.module import Module, Stage
from ...ir.operators.access import MOST_LOOPS, dense_strides
from ...ir.ops import is_move, operand_types, parts_of
from ..base import Context, Pass
from .substitute import rewritten

_Walk: TypeAlias = tuple[tuple[int, int], ...]
"""How a result walks through its operand: extents and strides, the outermost axis first."""


@dataclass(frozen=True)
class MergeMoves(Pass):
    """Merge reshapes and transpositions that follow each other."""

    name: ClassVar[str] = "merge-moves"
    gives: ClassVar[frozenset[Stage]] = frozenset({Stage.GRAPH})

    def run(self, module: Module, ctx: Context) -> Module:
        """Return the module with one operator for each row of moves; results keep their names."""
        graph, made = module.graph, dict[str, Op]()
        for op in graph.ops:
            made[op.name] = _merged(graph, made, op) or op
        ops = tuple(made.values())
        if ops == graph.ops:
            return module
        found = rewritten(module, replace(graph, ops=ops))
        ctx.counters.add("operators merged", len(graph.ops) - len(found.graph.ops))
        return found


def _merged(graph: Graph, made: dict[str, Op], op: Op) -> Op | None:
    """Return what does the same as an operator and the one before it, if there is such."""
    before = made.get(op.operands[0]) if op.operands else None
    if before is None or before.name in graph.outputs or len(graph.consumers[before.name]) > 1:
        return None
    inner, outer = _walk(graph, before), _walk(graph, op)
    if inner is None or outer is None:
        return None
    walk = _through(inner, outer)
    if walk is None or len(walk) > MOST_LOOPS:
        return None
    return _along(op, before.operands[0], walk)


def _walk(graph: Graph, op: Op) -> _Walk | None:
    """Return how an operator walks through its operand; ``None`` if it does not visit each once."""
    if not is_move(op) or len(op.operands) != 1:
        return None
    parts = parts_of(op, graph.types)
    (source,) = operand_types(op, graph.types)
    if len(parts) != 1 or source is None or source.elements != op.result.type.elements:
        return None
    (part,) = parts
    (read,) = part.reads
    region = read.region(part.domain)
    walk = _joined(zip(region.shape, region.strides, strict=True))
    is_dense = part.out.strides == dense_strides(part.out.shape)
    return walk if is_dense and region.offset == 0 and _covers(walk) else None


def _covers(walk: _Walk) -> bool:
    """Whether axes, in the order of their strides, cover all elements, each once."""
    step = 1
    for extent, stride in sorted(walk, key=lambda axis: axis[1]):
        if stride != step:
            return False
        step *= extent
    return True


def _joined(axes: Iterator[tuple[int, int]]) -> _Walk:
    """Return axes without those of one element, and those as one that run through both."""
    found: list[tuple[int, int]] = []
    for extent, stride in axes:
        if extent == 1:
            continue
        if found and found[-1][1] == extent * stride:
            extent *= found.pop()[0]
        found.append((extent, stride))
    return tuple(found)


def _through(inner: _Walk, outer: _Walk) -> _Walk | None:
    """Return how the second walk goes through the operand of the first.

    Args:
        inner: Through the operand.
        outer: Through the result of that.
    """
    found: list[tuple[int, int]] = []
    for extent, stride in outer:
        pieces = _pieces(inner, extent, stride)
        if pieces is None:
            return None
        found += pieces
    return _joined(iter(found))


def _pieces(walk: _Walk, extent: int, stride: int) -> list[tuple[int, int]] | None:
    """Return an axis of the result of a walk as axes of its operand, if they split evenly."""
    found: list[tuple[int, int]] = []
    low = 1
    for size, step in reversed(walk):
        high = low * size
        start, stop = max(low, stride), min(high, extent * stride)
        if start < stop:
            if start % low or stop % start or high % stop:
                return None
            found.append((stop // start, step * (start // low)))
        low = high
    is_whole = math.prod(size for size, _ in found) == extent
    return found[::-1] if is_whole else None


def _along(op: Op, source: str, walk: _Walk) -> Op:
    """Return the operator that walks through a tensor and makes the result of another one."""
    shape = op.result.type.shape
    strides: Sequence[int] = sorted((stride for _, stride in walk), reverse=True)
    attrs: dict[str, Attr] = {"shape": shape}
    if len(walk) > 1:
        extents = {stride: extent for extent, stride in walk}
        attrs["factors"] = tuple(extents[stride] for stride in strides)
        attrs["perm"] = tuple(strides.index(stride) for _, stride in walk)
    kind = "rearrange" if len(walk) > 1 else "reshape"
    return replace(op, kind=kind, operands=(source,), attrs=sorted_attrs(attrs.items()))
