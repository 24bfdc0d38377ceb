"""Small quantised networks as graphs with data, for tests that need no ONNX."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from accnn.ir.graph import Attr, Graph, Op, Value
from accnn.ir.ops import make_op
from accnn.ir.types import DType, Quantization, TensorType


def per_tensor(scale: float, zero_point: int = 0) -> Quantization:
    return Quantization((float(np.float32(scale)),), (zero_point,))


@dataclass
class NetworkBuilder:
    """Adds s8 operators one by one; ``build`` freezes them."""

    seed: int = 0
    types: dict[str, TensorType] = field(default_factory=dict)
    constants: list[Value] = field(default_factory=list)
    ops: list[Op] = field(default_factory=list)
    data: dict[str, npt.NDArray[np.generic]] = field(default_factory=dict)
    inputs: list[Value] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)

    def input(self, name: str, shape: tuple[int, ...], zero_point: int = -3) -> str:
        value = Value(name, TensorType(DType.S8, shape, per_tensor(0.05, zero_point)))
        self.inputs.append(value)
        self.types[name] = value.type
        return name

    def constant(
        self, name: str, shape: tuple[int, ...], dtype: DType, quant: Quantization | None = None
    ) -> str:
        value = Value(name, TensorType(dtype, shape, quant))
        self.constants.append(value)
        self.types[name] = value.type
        bound = 127 if dtype is DType.S8 else 1000
        kind = np.int8 if dtype is DType.S8 else np.int32
        self.data[name] = self.rng.integers(-bound, bound + 1, shape).astype(kind)
        return name

    def op(
        self,
        kind: str,
        operands: tuple[str, ...],
        name: str,
        attrs: Mapping[str, Attr] | None = None,
        quant: Quantization | None = None,
        dtype: DType | None = None,
    ) -> str:
        if quant is not None and dtype is None:
            dtype = DType.S8
        op = make_op(kind, operands, self.types, name, attrs=attrs, dtype=dtype, quant=quant)
        self.ops.append(op)
        self.types[name] = op.result.type
        return name

    def sums(self, source: str, name: str, kernel: tuple[int, int]) -> str:
        """Add sums of bytes over a window."""
        quant = per_tensor(self.types[source].quant.single[0])
        return self.op("sum_pool", (source,), name, {"kernel": kernel}, quant, DType.S32)

    def floats(self, source: str, name: str) -> str:
        """Add the conversion of bytes to floats."""
        return self.op("dequantize", (source,), name, dtype=DType.F32)

    def conv(
        self,
        source: str,
        name: str,
        channels: int,
        kernel: int,
        *,
        stride: int = 1,
        groups: int = 1,
        dilation: int = 1,
    ) -> str:
        per_group = self.types[source].shape[1] // groups
        pad = dilation * (kernel // 2)
        self._weights(name, (channels, per_group, kernel, kernel))
        attrs: dict[str, Attr] = {
            "stride": (stride, stride),
            "pads": (pad, pad, pad, pad),
            "dilation": (dilation, dilation),
            "groups": groups,
        }
        operands = (source, f"{name}_w", f"{name}_b")
        return self.op("conv2d", operands, name, attrs, per_tensor(0.08, 5))

    def dense(self, source: str, name: str, features: int) -> str:
        self._weights(name, (features, self.types[source].shape[1]))
        operands = (source, f"{name}_w", f"{name}_b")
        return self.op("dense", operands, name, quant=per_tensor(0.1, 2))

    def _weights(self, name: str, shape: tuple[int, ...]) -> None:
        scales = tuple(float(np.float32(s)) for s in self.rng.uniform(0.001, 0.002, shape[0]))
        quant = Quantization(scales, (0,) * shape[0], 0)
        self.constant(f"{name}_w", shape, DType.S8, quant)
        self.constant(f"{name}_b", shape[:1], DType.S32)

    def build(self, *outputs: str) -> Graph:
        return Graph(
            name="test",
            inputs=tuple(self.inputs),
            constants=tuple(self.constants),
            ops=tuple(self.ops),
            outputs=outputs,
        )


def residual_network(
    size: int = 14, channels: int = 16, seed: int = 0
) -> tuple[Graph, dict[str, npt.NDArray[np.generic]]]:
    """A bit of everything: 1x1, 3x3, strided, depthwise, dilated, add, concat, pools, dense."""
    net = NetworkBuilder(seed)
    x = net.input("x", (1, channels, size, size))
    a = net.conv(x, "a", 2 * channels, 1)
    b = net.conv(a, "b", 2 * channels, 3)
    c = net.conv(x, "c", 2 * channels, 1)
    d = net.op("add", (b, c), "d", quant=per_tensor(0.1, 1))
    e = net.conv(d, "e", 2 * channels, 3, stride=2, groups=2 * channels)
    f = net.conv(d, "f", 24, 1, stride=2)
    g = net.conv(e, "g", 24, 3, dilation=2)
    h = net.op("mul", (f, g), "h", quant=per_tensor(0.2, -7))
    pool: dict[str, Attr] = {"kernel": (3, 3), "stride": (2, 2), "pads": (1, 1, 1, 1)}
    i = net.op("max_pool", (h,), "i", pool)
    j = net.op("avg_pool", (i,), "j", {**pool, "stride": (1, 1)}, per_tensor(0.2, -7))
    k = net.op("concat", (i, j), "k", {"axis": 1}, per_tensor(0.2, -7))
    m = net.op("global_avg_pool", (k,), "m", quant=per_tensor(0.05))
    r = net.op("reshape", (m,), "r", {"shape": (1, 48)})
    y = net.dense(r, "y", 37)
    return net.build(y), net.data
