"""Import of ``Einsum``: from left to right, each step a batched product of matrices."""

import math

from .....ir.errors import ModelError
from ...builder import Builder
from ...node import Node
from ..chain import Chain
from ..reductions import reduced
from .matrices import batched_product

_ELLIPSIS = "..."
_BATCH = "ABCDEFGH"
"""Labels that stand for the axes of an ellipsis; the last ones for the last axes."""


def einsum(node: Node, b: Builder) -> None:
    """``Einsum``."""
    chain, values = Chain(node, b), [b.value(name) for name in node.inputs]
    labels, wanted = _labels(node, [len(chain.shape(value)) for value in values])
    pairs = [_without_repeats(chain, *pair) for pair in zip(values, labels, strict=True)]
    values, labels = [value for value, _ in pairs], [found for _, found in pairs]
    value, have = values[0], labels[0]
    for number in range(1, len(values)):
        later = wanted + "".join(labels[number + 1 :])
        value, have = _combined(chain, (value, have), (values[number], labels[number]), later)
    value, have = _summed(chain, value, have, wanted)
    chain.bind(chain.transpose(value, [have.index(label) for label in wanted]))


def _labels(node: Node, ranks: list[int]) -> tuple[list[str], str]:
    """Return the labels of every operand and of the result."""
    left, arrow, right = node.str("equation", "").replace(" ", "").partition("->")
    terms, widest = left.split(","), 0
    if len(terms) != len(ranks):
        raise node.refusal(f"has {len(ranks)} operands for {left!r}")
    found: list[str] = []
    for term, rank in zip(terms, ranks, strict=True):
        free = rank - len(term.replace(_ELLIPSIS, "")) if _ELLIPSIS in term else 0
        widest = max(widest, free)
        found.append(term.replace(_ELLIPSIS, _BATCH[len(_BATCH) - free :]))
    _check(node, found, ranks)
    batch = _BATCH[len(_BATCH) - widest :]
    if arrow:
        return found, right.replace(_ELLIPSIS, batch)
    together = "".join(found)
    once = sorted(label for label in set(together) - set(batch) if together.count(label) == 1)
    return found, batch + "".join(once)


def _check(node: Node, found: list[str], ranks: list[int]) -> None:
    for labels, rank in zip(found, ranks, strict=True):
        if len(labels) != rank:
            raise _unsuited(node, labels, rank)


def _unsuited(node: Node, labels: str, rank: int) -> ModelError:
    return node.refusal(f"labels {rank} axes {labels!r}; supported: one label for each axis")


def _without_repeats(chain: Chain, value: str, labels: str) -> tuple[str, str]:
    """Return the diagonals of axes that share a label, and what labels are left."""
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            others = [axis for axis in range(len(labels)) if axis not in (first, second)]
            value = chain.transpose(value, (*others, first, second))
            *shape, extent, _ = chain.shape(value)
            flat = chain.reshape(value, (*shape, extent * extent))
            value = chain.slice(flat, len(shape), 0, extent, extent + 1)
            labels = "".join(labels[axis] for axis in others) + label
    return value, labels


def _summed(chain: Chain, value: str, have: str, wanted: str) -> tuple[str, str]:
    """Return a value without the axes that nobody wants, and its labels."""
    axes = [axis for axis, label in enumerate(have) if label not in wanted]
    if not axes:
        return value, have
    kept = [axis for axis in range(len(have)) if axis not in axes]
    total = reduced(chain, "sum", value, axes)
    shape = tuple(chain.shape(value)[axis] for axis in kept)
    return chain.reshape(total, shape), "".join(have[axis] for axis in kept)


def _combined(
    chain: Chain, first: tuple[str, str], second: tuple[str, str], later: str
) -> tuple[str, str]:
    """Return the product of two values, summed over what nobody wants later, and its labels."""
    a, left = _summed(chain, *first, second[1] + later)
    b, right = _summed(chain, *second, left + later)
    shared = [label for label in left if label in right]
    batch = "".join(label for label in shared if label in later)
    inner = "".join(label for label in shared if label not in later)
    rows = "".join(label for label in left if label not in right)
    columns = "".join(label for label in right if label not in left)
    a = chain.transpose(a, [left.index(label) for label in batch + rows + inner])
    b = chain.transpose(b, [right.index(label) for label in batch + inner + columns])
    outer = chain.shape(a)[: len(batch)]
    high, wide = chain.shape(a)[len(batch) :][: len(rows)], chain.shape(b)[len(batch + inner) :]
    depth = math.prod(chain.shape(b)[len(batch) : len(batch + inner)])
    product = batched_product(
        chain,
        chain.reshape(a, (*outer, math.prod(high), depth)),
        chain.reshape(b, (*outer, depth, math.prod(wide))),
    )
    return chain.reshape(product, (*outer, *high, *wide)), batch + rows + columns
