"""``If``, ``Loop`` and ``Scan`` unrolled: their bodies' nodes in the order of execution.

Which branch is taken and how often a loop runs must be known while the network is imported. Nodes
are handed out one by one, each imported before the next is asked for, so that a condition that an
iteration computes from constants can be looked at.
"""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from onnx import AttributeProto, GraphProto, NodeProto, helper

from ....ir.operators.elementary import Array
from ..arguments import constant_input, normal_axis
from ..builder import Builder
from ..node import Node
from ..tensors import to_array
from .renaming import renamed

MOST_ITERATIONS = 4096
"""Iterations that a loop may have."""

_KINDS = frozenset({"If", "Loop", "Scan"})
_OLDEST_SCAN = 9
"""The opset since which ``Scan`` has no axis of batches."""


def has_bodies(node: Node) -> bool:
    """Whether a node runs graphs that it carries."""
    return not node.domain and node.kind in _KINDS


def bodies(node: Node) -> Iterator[GraphProto]:
    """Yield the graphs that a node carries."""
    for attribute in node.proto.attribute:
        if attribute.type == AttributeProto.GRAPH:
            yield attribute.g


def unrolled(node: Node, b: Builder) -> Iterator[Node]:
    """Yield the nodes that a node stands for; tensors inside have names of their own.

    Args:
        node: A node of which ``has_bodies`` holds.
        b: The graph under construction; it must import each node before it asks for the next.

    Raises:
        ComputedOperandError: The condition or the number of iterations is computed.
        ModelError: There are too many iterations, or the form is not supported.
    """
    if node.kind == "If":
        yield from _if(node, b)
    elif node.kind == "Loop":
        yield from _loop(node, b)
    else:
        yield from _scan(node, b)


def _if(node: Node, b: Builder) -> Iterator[Node]:
    holds = bool(constant_input(b, node, 0, "condition").reshape(-1)[0])
    branch = _Body(node, b, node.graph("then_branch" if holds else "else_branch"))
    results = yield from branch.run("branch", ())
    for result, out in zip(results, node.outputs, strict=False):
        yield from _named(node, "Identity", [result], out)


def _loop(node: Node, b: Builder) -> Iterator[Node]:
    body = _Body(node, b, node.graph("body"))
    trips = MOST_ITERATIONS + 1
    if node.has_input(0):
        trips = int(constant_input(b, node, 0, "number of iterations").reshape(-1)[0])
    condition = node.inputs[1] if node.has_input(1) else ""
    carried, rows, number = node.inputs[2:], list[tuple[str, ...]](), 0
    while number < trips and (not condition or _holds(node, b, condition)):
        if number == MOST_ITERATIONS:
            raise node.refusal(f"runs more than {MOST_ITERATIONS} times")
        count = f"{node.outputs[0]}/{number}/number"
        b.set_known(count, _integer(number))
        b.set_known(f"{count}/condition", np.array(True))
        given = (count, condition or f"{count}/condition", *carried)
        results = yield from body.run(str(number), given)
        condition, carried = results[0], results[1 : 1 + len(carried)]
        rows.append(results[1 + len(carried) :])
        number += 1
    yield from _finished(node, carried, rows, body)


def _holds(node: Node, b: Builder, condition: str) -> bool:
    loop = NodeProto()
    loop.CopyFrom(node.proto)
    loop.input[1] = condition
    return bool(constant_input(b, Node(loop, node.opset), 1, "condition").reshape(-1)[0])


def _finished(
    node: Node, carried: Sequence[str], rows: Sequence[tuple[str, ...]], body: "_Body"
) -> Iterator[Node]:
    """Yield the nodes that make a loop's outputs: last values, and rows of all iterations."""
    for name, out in zip(carried, node.outputs, strict=False):
        yield from _named(node, "Identity", [name], out)
    outs = node.outputs[len(carried) :]
    for position, out in enumerate(outs):
        if not rows:
            raise node.refusal(f"never runs, so that {out!r} has no elements")
        yield from body.stacked([row[position] for row in rows], out, 0)


def _scan(node: Node, b: Builder) -> Iterator[Node]:
    if node.opset < _OLDEST_SCAN:
        raise node.refusal(f"is not supported at opset {node.opset} ({_OLDEST_SCAN} or newer)")
    body, count = _Body(node, b, node.graph("body")), node.int("num_scan_inputs", 1)
    carried, sources = tuple(node.inputs[:-count]), node.inputs[-count:]
    outs = node.outputs[len(carried) :]
    axes = node.ints("scan_input_axes", (0,) * count)
    backward = node.ints("scan_input_directions", (0,) * count)
    shapes = [b.type_of(name).shape for name in sources]
    axes = [normal_axis(node, axis, len(s)) for axis, s in zip(axes, shapes, strict=True)]
    steps = shapes[0][axes[0]]
    if steps > MOST_ITERATIONS:
        raise node.refusal(f"runs more than {MOST_ITERATIONS} times")
    rows: list[tuple[str, ...]] = []
    for number in range(steps):
        given = list(carried)
        for source, axis, is_backward in zip(sources, axes, backward, strict=True):
            at = steps - 1 - number if is_backward else number
            name = f"{node.outputs[0]}/{number}/{len(given)}"
            b.set_known(f"{name}/at", _integer(at))
            yield from _named(node, "Gather", [source, f"{name}/at"], name, axis=axis)
            given.append(name)
        results = yield from body.run(str(number), given)
        carried = results[: len(carried)]
        rows.append(results[len(carried) :])
    for name, out in zip(carried, node.outputs, strict=False):
        yield from _named(node, "Identity", [name], out)
    turned = node.ints("scan_output_directions", (0,) * len(outs))
    out_axes = node.ints("scan_output_axes", (0,) * len(outs))
    for position, out in enumerate(outs):
        parts = [row[position] for row in (reversed(rows) if turned[position] else rows)]
        yield from body.stacked(parts, out, out_axes[position])


def _integer(number: int) -> Array:
    return np.array(number, np.int64)


def _named(
    node: Node, kind: str, inputs: Sequence[str], out: str, axis: int | None = None
) -> Iterator[Node]:
    """Yield one node that makes an output, unless nobody wants it."""
    if out:
        proto = helper.make_node(kind, inputs, [out], f"{kind} of {node.proto.name or out}")
        if axis is not None:
            proto.attribute.append(helper.make_attribute("axis", axis))
        yield Node(proto, node.opset)


@dataclass(frozen=True)
class _Body:
    """A graph that a node runs.

    Attributes:
        node: The node.
        b: The graph under construction.
        graph: The graph that it runs.
    """

    node: Node
    b: Builder
    graph: GraphProto

    def run(self, label: str, given: Sequence[str]) -> Generator[Node, None, tuple[str, ...]]:
        """Yield the body's nodes, and return the names of its outputs.

        Args:
            label: What sets the names of this run apart.
            given: Names of what it is given, in the order of its inputs.

        Raises:
            ModelError: All bodies of the model, run by run, have too many nodes.
        """
        self.b.count_unrolled(self.node, len(self.graph.node))
        prefix = f"{self.node.outputs[0] or self.node.proto.name}/{label}"
        names = {value.name: name for value, name in zip(self.graph.input, given, strict=True)}
        for tensor in self.graph.initializer:
            names[tensor.name] = f"{prefix}/{tensor.name}"
            self.b.set_known(names[tensor.name], to_array(tensor))
        for proto in self.graph.node:
            names |= {name: f"{prefix}/{name}" for name in proto.output if name}
        for proto in self.graph.node:
            yield Node(renamed(proto, names), self.node.opset)
        return tuple(names.get(value.name, value.name) for value in self.graph.output)

    def stacked(self, parts: Sequence[str], out: str, axis: int) -> Iterator[Node]:
        """Yield the nodes that line up values along a new axis."""
        if not out:
            return
        rank = len(self.b.type_of(parts[0]).shape) + 1
        axis = normal_axis(self.node, axis, rank)
        rows = [f"{out}/{number}" for number in range(len(parts))]
        self.b.set_known(f"{out}/axis", _integer(axis).reshape(1))
        for part, row in zip(parts, rows, strict=True):
            lined = helper.make_node("Unsqueeze", [part, f"{out}/axis"], [row], f"row of {out}")
            yield Node(lined, max(self.node.opset, 13))
        yield from _named(self.node, "Concat", rows, out, axis=axis)
