"""Random float ONNX networks, small, and made of what networks are made of."""

import itertools
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from onnx import (
    ModelProto,
    NodeProto,
    TensorProto,
    ValueInfoProto,
    helper,
    numpy_helper,
    shape_inference,
)

Shape = tuple[int, ...]
Choose = Callable[[Sequence[Any]], Any]
"""Picks one of several; who picks decides on the network."""

KERNELS = ((1, 1), (3, 3), (3, 1), (2, 2), (1, 7), (7, 1), (5, 5))
MOVES = frozenset({"Reshape", "Transpose", "Flatten", "Identity", "Dropout"})
"""Operators that compute nothing; a network of these alone is refused."""
STRIDES = ((1, 1), (1, 1), (2, 2), (1, 2), (3, 1))


@dataclass(frozen=True)
class Tensor:
    """A tensor of the network under construction."""

    name: str
    shape: Shape
    type: int = TensorProto.FLOAT

    @property
    def elements(self) -> int:
        return math.prod(self.shape)


@dataclass
class Sketch:
    """A network under construction.

    Attributes:
        choose: Makes every choice.
        most: Largest number of weights of one operator.
        opset: Of the network; ``None`` for one of some that every step has.
    """

    choose: Choose
    most: int = 40_000
    opset: int | None = None
    inputs: list[Tensor] = field(default_factory=list)
    made: list[Tensor] = field(default_factory=list)
    nodes: list[NodeProto] = field(default_factory=list)
    weights: list[TensorProto] = field(default_factory=list)
    numbers: itertools.count = field(default_factory=itertools.count)

    def one_of(self, *choices: Any) -> Any:
        return self.choose(choices)

    def input(self, *shape: int) -> Tensor:
        self.inputs.append(Tensor(f"x{len(self.inputs)}", shape))
        return self.inputs[-1]

    def weight(self, *shape: int, scale: float = 1.0, shift: float = 0.0) -> str:
        name = f"w{next(self.numbers)}"
        values = np.random.default_rng(len(name) + len(self.weights)).standard_normal(shape)
        array = (values * scale + shift).astype(np.float32)
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def constant(self, values: Any) -> str:
        name = f"w{next(self.numbers)}"
        self.weights.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def scalar(self, value: float) -> str:
        return self.constant(np.float32(value))

    def node(self, kind: str, inputs: list[str], shape: Shape, **attributes: Any) -> Tensor:
        name = f"t{next(self.numbers)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], f"{kind}_{name}", **attributes))
        self.made.append(Tensor(name, shape))
        return self.made[-1]

    def apply(
        self, kind: str, *inputs: Tensor | str, shape: Shape | None = None, **attributes: Any
    ) -> Tensor:
        """Add an operator whose result has the shape and type that ONNX infers.

        Args:
            kind: The operator.
            inputs: What it takes; an empty name leaves an operand out.
            shape: Of its floats, where ONNX infers none.
            attributes: Of the operator, or of its node.
        """
        if shape is not None:
            names = [item if isinstance(item, str) else item.name for item in inputs]
            return self.node(kind, names, shape, **attributes)
        return self.apply_for(1, kind, *inputs, **attributes)[0]

    def apply_for(
        self, results: int, kind: str, *inputs: Tensor | str, **attributes: Any
    ) -> list[Tensor]:
        """Add an operator of several results, whatever their shapes and types."""
        names = [item if isinstance(item, str) else item.name for item in inputs]
        made = [f"t{next(self.numbers)}" for _ in range(results)]
        node = helper.make_node(kind, names, made, f"{kind}_{made[0]}", **attributes)
        found = self._inferred(node)
        self.nodes.append(node)
        self.made += found
        return found

    def _inferred(self, node: NodeProto) -> list[Tensor]:
        graph = helper.make_graph(
            [node],
            "node",
            [_info(item) for item in (*self.inputs, *self.made) if item.name in node.input],
            [ValueInfoProto(name=name) for name in node.output],
            [item for item in self.weights if item.name in node.input],
        )
        opset = helper.make_opsetid("", self.opset or 17)
        model = helper.make_model(graph, opset_imports=[opset])
        inferred = shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
        found = [(item.name, item.type.tensor_type) for item in inferred.graph.output]
        made = [
            Tensor(name, tuple(dim.dim_value for dim in kind.shape.dim), kind.elem_type)
            for name, kind in found
        ]
        assert all(item.type and item.elements for item in made), f"{node.op_type}: {made}"
        return made

    def computed(self, *shape: int) -> Tensor:
        """Add what a weight may be instead of a constant: an input, or computed from one."""
        found = self.input(*shape)
        return self.one_of(found, self.node("Relu", [found.name], shape))

    # Images [N, C, H, W] ---------------------------------------------------------------------

    def conv(self, x: Tensor, channels: int | None = None) -> Tensor:
        """Add a convolution; with ``channels``, one that keeps the image's size."""
        n, c, height, width = x.shape
        same = channels is not None
        kernel = self.one_of((1, 1), (3, 3)) if same else self.one_of(*KERNELS)
        dilation = (1, 1) if same else self.one_of((1, 1), (1, 1), (2, 2), (1, 2))
        stride = (1, 1) if same else self.one_of(*STRIDES)
        pads = [tap // 2 * step for tap, step in zip(kernel, dilation, strict=True)] * 2
        if not same and self.one_of(True, False):
            pads = [self.one_of(*range(tap)) for tap in kernel * 2]
        reach = [(tap - 1) * step + 1 for tap, step in zip(kernel, dilation, strict=True)]
        room = [height + pads[0] + pads[2] - reach[0], width + pads[1] + pads[3] - reach[1]]
        if min(room) < 0:
            return self.node("Relu", [x.name], x.shape)
        groups = self.one_of(1, c) if same else self.one_of(1, 1, c, 2 if c % 2 == 0 else 1)
        k = channels or self.one_of(1, 3, 8, 10, 16, 48) * groups
        while k > groups and k * c // groups * math.prod(kernel) > self.most and not same:
            k = max(1, k // groups // 2) * groups
        fan_in = c // groups * math.prod(kernel)
        shape = (k, c // groups, *kernel)
        inputs = [x.name, self.weight(*shape, scale=fan_in**-0.5)]
        if not same and math.prod(shape) <= 2000 and self.one_of(True, False, False, False):
            inputs[1] = self.computed(*shape).name
        if self.one_of(True, False):
            inputs.append(self.weight(k, scale=0.1))
        return self.node(
            "Conv",
            inputs,
            (n, k, room[0] // stride[0] + 1, room[1] // stride[1] + 1),
            kernel_shape=kernel,
            strides=stride,
            pads=pads,
            dilations=dilation,
            group=groups,
        )

    def deep(self, x: Tensor) -> Tensor:
        """Add a 1x1 convolution from or to many channels."""
        n, c, *image = x.shape
        k = self.one_of(64, 128, 16)
        w = self.weight(k, c, 1, 1, scale=c**-0.5)
        return self.node("Conv", [x.name, w], (n, k, *image), kernel_shape=(1, 1))

    def norm(self, x: Tensor) -> Tensor:
        c = x.shape[1]
        parameters = [
            self.weight(c, scale=0.1, shift=1),
            self.weight(c, scale=0.1),
            self.weight(c, scale=0.1),
            self.constant(np.linspace(0.5, 1.5, c, dtype="f4")),
        ]
        return self.node("BatchNormalization", [x.name, *parameters], x.shape)

    def pool(self, x: Tensor) -> Tensor:
        kernel = self.one_of((2, 2), (3, 3), (1, 3), (3, 2))
        stride, ceil = self.one_of((1, 1), (2, 2), (2, 1)), self.one_of(0, 1)
        pad = self.one_of(0, 1) if min(kernel) > 1 else 0
        kind = self.one_of("MaxPool", "AveragePool")
        if any(extent + 2 * pad < tap for extent, tap in zip(x.shape[2:], kernel, strict=True)):
            return self.node("GlobalAveragePool", [x.name], (*x.shape[:2], 1, 1))
        attributes: dict[str, Any] = {"ceil_mode": ceil}
        if kind == "AveragePool" or _starts_in_padding(x.shape[2:], kernel, stride, pad):
            attributes = {}
        if kind == "AveragePool":
            attributes = {"count_include_pad": self.one_of(0, 1)}
        axes = zip(x.shape[2:], kernel, stride, strict=True)
        return self.node(
            kind,
            [x.name],
            (*x.shape[:2], *(_pooled(*axis, pad, attributes) for axis in axes)),
            kernel_shape=kernel,
            strides=stride,
            pads=[pad] * 4,
            **attributes,
        )

    def residual(self, x: Tensor) -> Tensor:
        return self.node("Add", [self.conv(x, x.shape[1]).name, x.name], x.shape)

    def concat(self, x: Tensor) -> Tensor:
        other = self.conv(x, x.shape[1])
        n, c, *image = x.shape
        return self.node("Concat", [x.name, other.name], (n, 2 * c, *image), axis=1)

    def gate(self, x: Tensor) -> Tensor:
        """Scale channels by what is computed from their means."""
        n, c = x.shape[:2]
        mean = self.node("GlobalAveragePool", [x.name], (n, c, 1, 1))
        factor = self.node("Sigmoid", [self.conv(mean, c).name], mean.shape)
        return self.node("Mul", [x.name, factor.name], x.shape)

    def turn(self, x: Tensor) -> Tensor:
        perm = self.one_of((0, 1, 3, 2), (0, 2, 1, 3), (0, 2, 3, 1))
        return self.node("Transpose", [x.name], tuple(x.shape[i] for i in perm), perm=perm)

    def tokens(self, x: Tensor) -> Tensor:
        """See an image as a matrix: one row for each channel of each image."""
        shape = (x.shape[0] * x.shape[1], math.prod(x.shape[2:]))
        return self.reshape(x, shape)

    def flatten(self, x: Tensor) -> Tensor:
        return self.node("Flatten", [x.name], (x.shape[0], math.prod(x.shape[1:])))

    # Matrices [M, L] -------------------------------------------------------------------------

    def gemm(self, x: Tensor, features: int | None = None) -> Tensor:
        m, depth = x.shape
        j = features or self.one_of(1, 5, 10, 24)
        w = self.weight(j, depth, scale=depth**-0.5)
        inputs = [x.name, w]
        if self.one_of(True, False):
            bias = self.one_of(*(False,) * 7, True)
            inputs.append(self.computed(j).name if bias else self.weight(j))
        return self.node("Gemm", inputs, (m, j), transB=1)

    def product(self, x: Tensor) -> Tensor:
        """Multiply by a matrix that is computed or an input."""
        j = self.one_of(3, 8, 17)
        if x.shape[1] * j > 4000:
            return self.gemm(x)
        w = self.computed(x.shape[1], j)
        return self.node("MatMul", [x.name, w.name], (x.shape[0], j))

    def gram(self, x: Tensor) -> Tensor:
        """Multiply a matrix by its own transpose."""
        m, depth = x.shape
        if m * m * depth > 100_000:
            return self.gemm(x)
        turned = self.node("Transpose", [x.name], (depth, m), perm=(1, 0))
        return self.node("MatMul", [x.name, turned.name], (m, m))

    def attention(self, x: Tensor) -> Tensor:
        m, _ = x.shape
        if m > 64:
            return self.gemm(x)
        width = self.one_of(4, 8, 12)
        query, key, value = (self.gemm(x, width) for _ in range(3))
        turned = self.node("Transpose", [key.name], (width, m), perm=(1, 0))
        scores = self.node("MatMul", [query.name, turned.name], (m, m))
        scaled = self.node("Mul", [scores.name, self.scalar(width**-0.5)], scores.shape)
        weights = self.node("Softmax", [scaled.name], scores.shape, axis=1)
        return self.node("MatMul", [weights.name, value.name], (m, width))

    def add(self, x: Tensor) -> Tensor:
        return self.node("Add", [self.gemm(x, x.shape[1]).name, x.name], x.shape)

    def stack(self, x: Tensor) -> Tensor:
        axis = self.one_of(0, 1)
        shape = list(x.shape)
        shape[axis] *= 2
        other = self.activation(x)
        return self.node("Concat", [x.name, other.name], tuple(shape), axis=axis)

    def softmax(self, x: Tensor) -> Tensor:
        return self.node("Softmax", [x.name], x.shape, axis=1)

    # Both ------------------------------------------------------------------------------------

    def reshape(self, x: Tensor, shape: Shape) -> Tensor:
        return self.node("Reshape", [x.name, self.constant(np.array(shape, np.int64))], shape)

    def activation(self, x: Tensor) -> Tensor:
        kinds = ("Relu", "Clip", "LeakyRelu", "Sigmoid", "Tanh")
        if x not in self.inputs:  # an output must not be an input
            kinds = (*kinds, "Identity", "Dropout")
        kind = self.choose(kinds)
        inputs, attributes = [x.name], {}
        if kind == "Clip":
            inputs += [self.scalar(0.0), self.scalar(6.0)]
        if kind == "LeakyRelu":
            attributes = {"alpha": 0.1}
        return self.node(kind, inputs, x.shape, **attributes)

    def grow(self, x: Tensor) -> Tensor:
        """Add one step to a network that ends in ``x``."""
        if len(x.shape) == 2:
            steps = (self.gemm, self.product, self.gram, self.attention, self.add, self.stack)
            return self.choose((*steps, self.activation, self.softmax))(x)
        steps = (self.conv, self.conv, self.deep, self.norm, self.pool, self.activation)
        more = (self.residual, self.concat, self.gate, self.turn, self.tokens)
        return self.choose((*steps, *more))(x)

    def model(self, outputs: Sequence[Tensor]) -> ModelProto:
        graph = helper.make_graph(
            self.nodes,
            "random",
            [_info(item) for item in self.inputs],
            [_info(item) for item in outputs],
            self.weights,
            value_info=[_info(item) for item in self.made if item not in outputs],
        )
        opsets = [helper.make_opsetid("", self.opset or self.one_of(11, 13, 17))]
        others = sorted({item.domain for item in self.nodes} - {""})
        opsets += [helper.make_opsetid(domain, 1) for domain in others]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def _info(tensor: Tensor) -> Any:
    return helper.make_tensor_value_info(tensor.name, tensor.type, tensor.shape)


def _pooled(extent: int, kernel: int, stride: int, pad: int, attributes: dict[str, Any]) -> int:
    room = extent + 2 * pad - kernel
    if not attributes.get("ceil_mode"):
        return room // stride + 1
    count = -(-room // stride) + 1
    return count - 1 if (count - 1) * stride >= extent + pad else count


def _starts_in_padding(shape: Shape, kernel: Shape, stride: Shape, pad: int) -> bool:
    """Whether the last window of a pool that rounds up lies in the padding alone.

    It is left out, but the shape inference of some versions of ONNX counts it.
    """
    axes = zip(shape, kernel, stride, strict=True)
    return any(
        _pooled(*axis, pad, {"ceil_mode": 1}) <= -(-(axis[0] + 2 * pad - axis[1]) // axis[2])
        for axis in axes
    )


def branched_network() -> ModelProto:
    """Return a small classifier with branches: a residual sum, a concatenation, a gate, a pool."""
    net = Sketch(random.Random(0).choice)
    x = net.conv(net.input(1, 8, 8, 8), 16)
    x = net.concat(net.residual(net.node("Relu", [x.name], x.shape)))
    x = net.gate(x)
    x = net.node("GlobalAveragePool", [x.name], (*x.shape[:2], 1, 1))
    return net.model([net.gemm(net.flatten(x), 10)])


def random_network(choose: Choose, *, steps: int = 6) -> ModelProto:
    """Return a float network of a few steps on images of up to 8 x 12, or on a matrix.

    Args:
        choose: Makes every choice.
        steps: How many steps it has at most.
    """
    net = Sketch(choose)
    if net.one_of(True, True, True, False):
        shape = tuple(net.one_of(*some) for some in ((1, 2), (1, 3, 8), (5, 8), (7, 12)))
    else:
        shape = net.one_of((3, 4), (12, 16), (20, 33))
    x = net.input(*shape)
    seen: list[Tensor] = []
    for _ in range(net.one_of(*range(1, steps + 1))):
        seen.append(x)
        x = net.grow(x)
    if len(x.shape) == 4 and net.one_of(True, False):
        x = net.gemm(net.flatten(x), 10)
    if all(item.op_type in MOVES for item in net.nodes):
        x = net.node("Relu", [x.name], x.shape)
    made = [item for item in seen[1:] if item != x and item not in net.inputs]
    others = [net.choose(made)] if made and net.one_of(True, False, False) else []
    return net.model([*others, x])
