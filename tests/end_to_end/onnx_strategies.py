"""Random float ONNX networks, small, and made of what convolutional networks are made of."""

import itertools
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Tensor:
    """A tensor of the network under construction."""

    name: str
    shape: Shape


@dataclass
class Sketch:
    """A network under construction; every choice is Hypothesis's."""

    draw: st.DrawFn
    nodes: list[NodeProto] = field(default_factory=list)
    weights: list[TensorProto] = field(default_factory=list)
    numbers: itertools.count = field(default_factory=itertools.count)

    def one_of(self, *choices: Any) -> Any:
        return self.draw(st.sampled_from(choices))

    def weight(self, *shape: int, scale: float = 1.0, shift: float = 0.0) -> str:
        name = f"w{next(self.numbers)}"
        values = np.random.default_rng(len(name) + len(self.weights)).standard_normal(shape)
        array = (values * scale + shift).astype(np.float32)
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def node(self, kind: str, inputs: list[str], shape: Shape, **attributes: Any) -> Tensor:
        name = f"t{next(self.numbers)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], f"{kind}_{name}", **attributes))
        return Tensor(name, shape)

    def conv(self, x: Tensor, channels: int | None = None) -> Tensor:
        """Add a convolution; with ``channels``, one that keeps the image's size."""
        n, c, height, width = x.shape
        same = channels is not None
        kernel = (
            self.one_of((1, 1), (3, 3)) if same else self.one_of((1, 1), (3, 3), (3, 1), (2, 2))
        )
        dilation = 1 if same else self.one_of(1, 1, 2)
        stride = 1 if same else self.one_of(1, 2)
        pads = [tap // 2 * dilation for tap in kernel] * 2
        if not same and self.one_of(True, False):
            pads = [self.one_of(*range(tap)) for tap in kernel * 2]
        reach = [(tap - 1) * dilation + 1 for tap in kernel]
        room = [height + pads[0] + pads[2] - reach[0], width + pads[1] + pads[3] - reach[1]]
        if min(room) < 0:
            return self.node("Relu", [x.name], x.shape)
        groups = self.one_of(1, c) if same else self.one_of(1, 1, c)
        k = channels or self.one_of(1, 3, 8, 10) * groups
        fan_in = c // groups * math.prod(kernel)
        inputs = [x.name, self.weight(k, c // groups, *kernel, scale=fan_in**-0.5)]
        if self.one_of(True, False):
            inputs.append(self.weight(k, scale=0.1))
        return self.node(
            "Conv",
            inputs,
            (n, k, room[0] // stride + 1, room[1] // stride + 1),
            kernel_shape=kernel,
            strides=[stride] * 2,
            pads=pads,
            dilations=[dilation] * 2,
            group=groups,
        )

    def norm(self, x: Tensor) -> Tensor:
        c = x.shape[1]
        parameters = [
            self.weight(c, scale=0.1, shift=shift) if shift >= 0 else self.variance(c)
            for shift in (1, 0, 0, -1)
        ]
        return self.node("BatchNormalization", [x.name, *parameters], x.shape)

    def variance(self, c: int) -> str:
        name = f"w{next(self.numbers)}"
        self.weights.append(numpy_helper.from_array(np.linspace(0.5, 1.5, c, dtype="f4"), name))
        return name

    def pool(self, x: Tensor) -> Tensor:
        kernel, stride, ceil = self.one_of(2, 3), self.one_of(1, 2), self.one_of(0, 1)
        pad = self.one_of(0, kernel // 2)
        kind = self.one_of("MaxPool", "AveragePool")
        if min(x.shape[2:]) + 2 * pad < kernel:
            return self.node("GlobalAveragePool", [x.name], (*x.shape[:2], 1, 1))
        attributes: dict[str, Any] = {"ceil_mode": ceil}
        if kind == "AveragePool":
            attributes = {"count_include_pad": self.one_of(0, 1)}
        sizes = [_pooled(extent, kernel, stride, pad, attributes) for extent in x.shape[2:]]
        return self.node(
            kind,
            [x.name],
            (*x.shape[:2], *sizes),
            kernel_shape=[kernel] * 2,
            strides=[stride] * 2,
            pads=[pad] * 4,
            **attributes,
        )

    def activation(self, x: Tensor) -> Tensor:
        kind = self.one_of("Relu", "Clip", "LeakyRelu", "Sigmoid", "Identity", "Dropout")
        inputs, attributes = [x.name], {}
        if kind == "Clip":
            inputs += [self.scalar(0.0), self.scalar(6.0)]
        if kind == "LeakyRelu":
            attributes = {"alpha": 0.1}
        return self.node(kind, inputs, x.shape, **attributes)

    def scalar(self, value: float) -> str:
        name = f"w{next(self.numbers)}"
        self.weights.append(numpy_helper.from_array(np.array(value, np.float32), name))
        return name

    def residual(self, x: Tensor) -> Tensor:
        return self.node("Add", [self.conv(x, x.shape[1]).name, x.name], x.shape)

    def concat(self, x: Tensor) -> Tensor:
        other = self.conv(x, x.shape[1])
        n, c, *image = x.shape
        return self.node("Concat", [x.name, other.name], (n, 2 * c, *image), axis=1)

    def classifier(self, x: Tensor) -> Tensor:
        n, features = x.shape[0], math.prod(x.shape[1:])
        flat = self.node("Flatten", [x.name], (n, features))
        w = self.weight(10, features, scale=features**-0.5)
        y = self.node("Gemm", [flat.name, w, self.weight(10)], (n, 10), transB=1)
        return self.node("Softmax", [y.name], y.shape, axis=1) if self.one_of(True, False) else y


def _pooled(extent: int, kernel: int, stride: int, pad: int, attributes: dict[str, Any]) -> int:
    room = extent + 2 * pad - kernel
    if not attributes.get("ceil_mode"):
        return room // stride + 1
    count = -(-room // stride) + 1
    return count - 1 if (count - 1) * stride >= extent + pad else count


@st.composite
def onnx_networks(draw: st.DrawFn) -> ModelProto:
    """Return a float network of up to six layers on images of up to 16 x 16."""
    net = Sketch(draw)
    shape = tuple(net.one_of(*choices) for choices in ((1, 2), (1, 3, 8), (5, 8, 16), (7, 16)))
    x = Tensor("x", shape)
    steps = (net.conv, net.conv, net.norm, net.pool, net.activation, net.residual, net.concat)
    for step in draw(st.lists(st.sampled_from(steps), min_size=1, max_size=6)):
        x = step(x)
    if net.one_of(True, False):
        x = net.classifier(x)
    graph = helper.make_graph(
        net.nodes,
        "random",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(x.name, TensorProto.FLOAT, x.shape)],
        net.weights,
    )
    opset = helper.make_opsetid("", net.one_of(11, 13, 17))
    return helper.make_model(graph, opset_imports=[opset], ir_version=8)
