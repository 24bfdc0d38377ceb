"""The builder of networks: layers become ONNX nodes and parameters that have a shape but no values.

Structure is apart from weights: counting parameters or checking shapes costs nothing, and the same
structure serves for the network and for its calibration (``weights.py``).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from onnx import NodeProto, helper

from ...ir.errors import OptionError

OPSET = 17
IR_VERSION = 10
LARGEST_INPUT = 2**28
"""Elements of the images that are calibrated at once."""

#: Mean of what a rectifier sees, in standard deviations. At 0, centring and rectifying amplify any
#: disturbance by 1.7 dB per layer, so that the deeper a random network, the more it turns int8
#: rounding into noise; at 1 by 0.5 dB, close to what trained networks do.
RECTIFIED_MEAN = 1.0

_RECTIFIERS = ("Relu", "Clip", "LeakyRelu")
_SHIFTING = ("BatchNormalization", "Conv", "Gemm")

Pair = int | tuple[int, int]


class Role(StrEnum):
    """What a parameter is for."""

    WEIGHT = "weight"
    BIAS = "bias"
    GAMMA = "gamma"
    BETA = "beta"
    MEAN = "mean"
    VARIANCE = "variance"
    CONSTANT = "constant"


#: Roles that a published parameter count includes; running statistics are no parameters.
TRAINABLE = frozenset({Role.WEIGHT, Role.BIAS, Role.GAMMA, Role.BETA})


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A weight of the network before it has values.

    Attributes:
        name: Name of the initialiser.
        shape: Its shape; ``()`` for a scalar.
        role: What it is for.
        mean: Mean of its initial normal distribution.
        std: Standard deviation of it; 0 for a constant.
    """

    name: str
    shape: tuple[int, ...]
    role: Role
    mean: float = 0.0
    std: float = 0.0

    @property
    def elements(self) -> int:
        """Return the number of elements."""
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True)
class Value:
    """A tensor between two layers."""

    name: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Structure:
    """A network without weights.

    Attributes:
        name: Name of the network.
        input: What it reads, ``[N, 3, H, W]``.
        output: What it computes, ``[N, classes]``.
        nodes: ONNX nodes in execution order.
        parameters: Initialisers in the order of their use.
    """

    name: str
    input: Value
    output: Value
    nodes: tuple[NodeProto, ...]
    parameters: tuple[Parameter, ...]

    @property
    def parameter_count(self) -> int:
        """Return the number of trainable parameters, as papers count them."""
        return sum(p.elements for p in self.parameters if p.role in TRAINABLE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooOptions:
    """Size of a network.

    Attributes:
        image_size: Height and width of the input [pixel].
        batch: Images per inference.
        classes: Outputs of the classifier.
        width: Factor on the channels of every hidden layer; 1 is the network as published.
    """

    image_size: int = 224
    batch: int = 1
    classes: int = 1000
    width: float = 1.0

    def __post_init__(self) -> None:
        for name in ("image_size", "batch", "classes"):
            if getattr(self, name) < 1:
                raise OptionError(f"{name} is {getattr(self, name)}; it must be at least 1")
        elements = 3 * self.batch * self.image_size**2
        if elements > LARGEST_INPUT:
            raise OptionError(
                f"images of {elements} elements are too large; at most {LARGEST_INPUT}",
                hint="give a smaller image size or batch; published networks use 224",
            )
        if not 0 < self.width <= 8:
            raise OptionError(f"width is {self.width}; it must be above 0 and at most 8")


@dataclass(slots=True)
class NetBuilder:
    """Collects layers; every method adds one layer and returns its output."""

    name: str
    options: ZooOptions
    input: Value = field(init=False)
    _nodes: list[NodeProto] = field(default_factory=list[NodeProto])
    _parameters: list[Parameter] = field(default_factory=list[Parameter])

    def __post_init__(self) -> None:
        size = self.options.image_size
        self.input = Value("input", (self.options.batch, 3, size, size))

    def channels(self, published: int) -> int:
        """Return the channels of a hidden layer under the width option (a multiple of 8)."""
        if self.options.width == 1:
            return published
        return max(8, round(published * self.options.width / 8) * 8)

    def conv(
        self,
        x: Value,
        name: str,
        channels: int,
        kernel: Pair,
        *,
        stride: Pair = 1,
        pad: Pair = 0,
        groups: int = 1,
        bias: bool = True,
    ) -> Value:
        """Add a convolution ``[N, C, H, W] -> [N, channels, P, Q]`` with He-normal weights."""
        sizes, strides, pads = _pair(kernel), _pair(stride), _pair(pad)
        weight_shape = (channels, x.shape[1] // groups, *sizes)
        fan_in = math.prod(weight_shape[1:])
        inputs = [x.name, self._weight(f"{name}.weight", weight_shape, fan_in)]
        if bias:
            inputs.append(self._bias(f"{name}.bias", channels))
        spatial = self._window(x, name, sizes, strides, pads)
        return self._add(
            "Conv",
            name,
            inputs,
            (x.shape[0], channels, *spatial),
            kernel_shape=sizes,
            strides=strides,
            pads=(*pads, *pads),
            dilations=(1, 1),
            group=groups,
        )

    def batch_norm(self, x: Value, name: str, *, gain: float = 1.0) -> Value:
        """Add a batch normalisation whose scale is drawn around ``gain``."""
        shape = (x.shape[1],)
        parameters = (
            Parameter(
                name=f"{name}.weight", shape=shape, role=Role.GAMMA, mean=gain, std=0.1 * gain
            ),
            Parameter(name=f"{name}.bias", shape=shape, role=Role.BETA, std=0.1),
            Parameter(name=f"{name}.running_mean", shape=shape, role=Role.MEAN),
            Parameter(name=f"{name}.running_var", shape=shape, role=Role.VARIANCE, mean=1.0),
        )
        self._parameters.extend(parameters)
        inputs = [x.name, *(p.name for p in parameters)]
        return self._add("BatchNormalization", name, inputs, x.shape, epsilon=1e-5)

    def relu(self, x: Value, name: str) -> Value:
        """Add ``max(x, 0)``."""
        return self._add("Relu", name, [x.name], x.shape)

    def relu6(self, x: Value, name: str) -> Value:
        """Add ``min(max(x, 0), 6)``."""
        bounds = (
            Parameter(name=f"{name}.min", shape=(), role=Role.CONSTANT, mean=0.0),
            Parameter(name=f"{name}.max", shape=(), role=Role.CONSTANT, mean=6.0),
        )
        self._parameters.extend(bounds)
        return self._add("Clip", name, [x.name, *(b.name for b in bounds)], x.shape)

    def leaky_relu(self, x: Value, name: str, slope: float) -> Value:
        """Add ``x if x > 0 else slope * x``."""
        return self._add("LeakyRelu", name, [x.name], x.shape, alpha=slope)

    def add(self, a: Value, b: Value, name: str) -> Value:
        """Add an elementwise sum of two tensors of one shape."""
        assert a.shape == b.shape, f"{name}: {a.shape} + {b.shape}"
        return self._add("Add", name, [a.name, b.name], a.shape)

    def concat(self, values: Sequence[Value], name: str) -> Value:
        """Add a concatenation along the channels."""
        first = values[0].shape
        assert all((v.shape[0], *v.shape[2:]) == (first[0], *first[2:]) for v in values), name
        shape = (first[0], sum(v.shape[1] for v in values), *first[2:])
        return self._add("Concat", name, [v.name for v in values], shape, axis=1)

    def max_pool(
        self, x: Value, name: str, kernel: int, stride: int, *, pad: int = 0, ceil: bool = False
    ) -> Value:
        """Add a maximum over windows; ``ceil`` keeps a last window that is not full."""
        sizes, strides, pads = _pair(kernel), _pair(stride), _pair(pad)
        spatial = self._window(x, name, sizes, strides, pads, ceil=ceil)
        return self._add(
            "MaxPool",
            name,
            [x.name],
            (*x.shape[:2], *spatial),
            kernel_shape=sizes,
            strides=strides,
            pads=(*pads, *pads),
            ceil_mode=int(ceil),
        )

    def average_pool(self, x: Value, name: str, kernel: int, stride: int, *, pad: int = 0) -> Value:
        """Add a mean over windows; padding does not count."""
        sizes, strides, pads = _pair(kernel), _pair(stride), _pair(pad)
        spatial = self._window(x, name, sizes, strides, pads)
        return self._add(
            "AveragePool",
            name,
            [x.name],
            (*x.shape[:2], *spatial),
            kernel_shape=sizes,
            strides=strides,
            pads=(*pads, *pads),
        )

    def adaptive_average_pool(self, x: Value, name: str, size: int) -> Value:
        """Add a mean over windows that leaves ``size x size``, where ``size`` divides the input.

        Deviation: torchvision stretches other sizes to ``size x size`` with uneven windows, which
        no ONNX operator does. We leave them, and the layer that follows adapts its weights.
        """
        height = x.shape[2]
        if height == size or height % size:
            return x
        return self.average_pool(x, name, height // size, height // size)

    def global_average_pool(self, x: Value, name: str) -> Value:
        """Add a mean over height and width ``[N, C, H, W] -> [N, C, 1, 1]``."""
        return self._add("GlobalAveragePool", name, [x.name], (*x.shape[:2], 1, 1))

    def flatten(self, x: Value, name: str) -> Value:
        """Add a reshape ``[N, C, H, W] -> [N, C*H*W]``."""
        shape = (x.shape[0], math.prod(x.shape[1:]))
        return self._add("Flatten", name, [x.name], shape, axis=1)

    def space_to_depth(self, x: Value, name: str, block: int) -> Value:
        """Move squares of ``block x block`` positions into channels; rows vary slowest."""
        N, C, H, W = x.shape
        rows, columns = H // block, W // block
        split = self._reshape(x, f"{name}.split", (N, C, rows, block, columns, block))
        order = (0, 3, 5, 1, 2, 4)
        turned = tuple(split.shape[axis] for axis in order)
        y = self._add("Transpose", f"{name}.turn", [split.name], turned, perm=order)
        return self._reshape(y, name, (N, block * block * C, rows, columns))

    def _reshape(self, x: Value, name: str, shape: tuple[int, ...]) -> Value:
        copied = (0, *shape[1:])
        wanted = self._add("Constant", f"{name}.shape", [], (len(shape),), value_ints=copied)
        return self._add("Reshape", name, [x.name, wanted.name], shape)

    def linear(self, x: Value, name: str, outputs: int) -> Value:
        """Add a fully connected layer ``[N, C] -> [N, outputs]`` with He-normal weights."""
        weight = self._weight(f"{name}.weight", (outputs, x.shape[1]), x.shape[1])
        bias = self._bias(f"{name}.bias", outputs)
        return self._add("Gemm", name, [x.name, weight, bias], (x.shape[0], outputs), transB=1)

    def finish(self, output: Value) -> Structure:
        """Return the network; its output is called ``logits``."""
        nodes = [_renamed(node, output.name, "logits") for node in self._nodes]
        shifted = self._shifts_before_rectifiers()
        return Structure(
            name=self.name,
            input=self.input,
            output=Value("logits", output.shape),
            nodes=tuple(nodes),
            parameters=tuple(
                replace(p, mean=RECTIFIED_MEAN) if p.name in shifted else p
                for p in self._parameters
            ),
        )

    def _add(
        self,
        op_type: str,
        name: str,
        inputs: Sequence[str],
        shape: tuple[int, ...],
        **attributes: int | float | tuple[int, ...],
    ) -> Value:
        output = Value(f"{name}.out", shape)
        node = helper.make_node(op_type, inputs, [output.name], name)
        node.attribute.extend(helper.make_attribute(k, v) for k, v in sorted(attributes.items()))
        self._nodes.append(node)
        return output

    def _shifts_before_rectifiers(self) -> frozenset[str]:
        """Return the biases and betas of layers whose output goes into a rectifier."""
        makers = {node.output[0]: node for node in self._nodes}
        sources = [makers.get(n.input[0]) for n in self._nodes if n.op_type in _RECTIFIERS]
        return frozenset(m.input[2] for m in sources if m is not None and m.op_type in _SHIFTING)

    def _weight(self, name: str, shape: tuple[int, ...], fan_in: int) -> str:
        std = math.sqrt(2.0 / fan_in)
        self._parameters.append(Parameter(name=name, shape=shape, role=Role.WEIGHT, std=std))
        return name

    def _bias(self, name: str, channels: int) -> str:
        self._parameters.append(Parameter(name=name, shape=(channels,), role=Role.BIAS, std=0.1))
        return name

    def _window(
        self,
        x: Value,
        layer: str,
        kernel: tuple[int, int],
        stride: tuple[int, int],
        pad: tuple[int, int],
        *,
        ceil: bool = False,
    ) -> tuple[int, int]:
        """Return height and width after a window slid over ``x``."""
        height, width = (
            _positions(size, k, s, p, ceil=ceil)
            for size, k, s, p in zip(x.shape[2:], kernel, stride, pad, strict=True)
        )
        if min(height, width) < 1:
            raise OptionError(
                f"{self.name}: an image of {self.options.image_size} pixels is too small: "
                f"{layer} slides a {kernel[0]}x{kernel[1]} window over {x.shape[2]}x{x.shape[3]}",
                hint="give a larger image size; 224 is the published one",
            )
        return height, width


def _pair(value: Pair) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else value


def _positions(size: int, kernel: int, stride: int, pad: int, *, ceil: bool) -> int:
    """Return how many windows fit; with ``ceil`` one that starts inside may hang over."""
    room = size + 2 * pad - kernel
    if room < 0:
        return 0
    count = room // stride + 1
    hangs_over = room % stride != 0 and count * stride < size + pad
    return count + int(ceil and hangs_over)


def _renamed(node: NodeProto, old: str, new: str) -> NodeProto:
    copy = NodeProto()
    copy.CopyFrom(node)
    copy.output[:] = [new if name == old else name for name in node.output]
    return copy
