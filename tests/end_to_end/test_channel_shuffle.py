"""A ShuffleNet of float32, quantised here: grouped convolutions, channels dealt out anew, ``Sum``.

Networks of this kind once differed in an eighth of their outputs, and no operator was named.
"""

import numpy as np
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

import accnn
from accnn.compiler.options import CompileOptions, VerifyMode
from accnn.ir.report import VerificationStatus
from tests.thinned import thinned

GROUPS, SIZE = 4, 16


class ShuffleNet:
    """Nodes and weights of a ShuffleNet (v1) in the making."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.weights: list[TensorProto] = []
        self.random = np.random.default_rng(7)

    def op(self, kind: str, *operands: str, **attributes: object) -> str:
        name = f"{kind.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, operands, [name], name=name, **attributes))
        return name

    def constant(self, value: np.ndarray) -> str:
        name = f"c{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(value, name))
        return name

    def conv(self, x: str, inputs: int, outputs: int, kernel: int, **attributes: int) -> str:
        group, stride = attributes.get("group", 1), attributes.get("stride", 1)
        shape = (outputs, inputs // group, kernel, kernel)
        data = self.random.standard_normal(shape) * (2 / np.prod(shape[1:])) ** 0.5
        bias = self.random.standard_normal(outputs) * 0.1
        return self.op(
            "Conv",
            x,
            self.constant(data.astype(np.float32)),
            self.constant(bias.astype(np.float32)),
            group=group,
            strides=[stride] * 2,
            pads=[kernel // 2] * 4,
        )

    def shuffle(self, x: str, channels: int, size: int) -> str:
        apart = self.constant(np.array([1, GROUPS, channels // GROUPS, size, size]))
        turned = self.op("Transpose", self.op("Reshape", x, apart), perm=[0, 2, 1, 3, 4])
        return self.op("Reshape", turned, self.constant(np.array([1, channels, size, size])))

    def unit(self, x: str, channels: int, size: int, stride: int) -> str:
        """Append a unit; with a stride of two its result has twice the channels."""
        inner = self.op("Relu", self.conv(x, channels, channels, 1, group=GROUPS))
        inner = self.shuffle(inner, channels, size)
        inner = self.conv(inner, channels, channels, 3, group=channels, stride=stride)
        inner = self.conv(inner, channels, channels, 1, group=GROUPS)
        if stride == 1:
            return self.op("Relu", self.op("Sum", x, inner))
        short = self.op("AveragePool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
        return self.op("Relu", self.op("Concat", short, inner, axis=1))

    def model(self) -> ModelProto:
        x = self.op("Relu", self.conv("x", 3, 16, 3, stride=2))
        x = self.unit(x, 16, SIZE // 2, 2)
        x = self.unit(self.unit(x, 32, SIZE // 4, 1), 32, SIZE // 4, 2)
        x = self.op("Flatten", self.op("GlobalAveragePool", self.unit(x, 64, SIZE // 8, 1)))
        dense = self.constant(self.random.standard_normal((64, 100)).astype(np.float32) / 8)
        y = self.op("Softmax", self.op("Gemm", x, dense), axis=1)
        graph = helper.make_graph(
            self.nodes,
            "shufflenet",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 3, SIZE, SIZE))],
            [helper.make_tensor_value_info(y, TensorProto.FLOAT, (1, 100))],
            self.weights,
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


@pytest.mark.parametrize(
    ("arch", "verify", "scheduler"),
    [
        *thinned(
            ["edge-1m", "simba"],
            [VerifyMode.LAYERS, VerifyMode.OUTPUTS],
            ["in-order", "cosma"],
            one_in=4,
        )
    ],
)
def test_a_shufflenet_is_verified(arch: str, verify: VerifyMode, scheduler: str) -> None:
    options = CompileOptions(
        mapper="output-stationary", scheduler=scheduler, cache=None, verify=verify, processes=1
    )

    result = accnn.compile(ShuffleNet().model(), arch=arch, options=options)

    assert result.report.verification.status is VerificationStatus.VERIFIED
