"""The builder of networks: every method adds one layer, or a group that belongs together."""

import math
from collections.abc import Sequence
from enum import StrEnum

from .structure import LayerValue, ParameterRole
from .windows import Size, WindowLayers, each


class LayerFunction(StrEnum):
    """A function of each element."""

    NONE = "none"
    RELU = "relu"
    RELU6 = "relu6"
    SWISH = "swish"
    HARD_SWISH = "hard_swish"
    SIGMOID = "sigmoid"
    HARD_SIGMOID = "hard_sigmoid"


class NetBuilder(WindowLayers):
    """Collects layers; every method returns the output of what it added.

    Args:
        x: The operand.
        name: Of the layer, and the beginning of its parameters' names.
        a: First operand.
        b: Second operand.
        values: The operands.
        gain: Of a normalisation.
        epsilon: Added to a variance.
        act: An activation.
        slope: Below zero.
        axis: Along which.
        shape: Of the result.
        order: Which axis of the operand stands where.
        axes: Which are cut.
        start: First position.
        end: Behind the last one.
        size: Height and width.
        corners: Whether the corners keep their places.
        block: Height and width of a square.
        outputs: Features.
        ids: Indices of rows.
        rows: Of the table.
        width: Of a row.
    """

    __slots__ = ()

    def image(self) -> LayerValue:
        """Add the input ``[batch, 3, image_size, image_size]``."""
        size = self.options.image_size
        return self.input("input", (self.options.batch, 3, size, size))

    def batch_norm(
        self, x: LayerValue, name: str, *, gain: float = 1.0, epsilon: float = 1e-5
    ) -> LayerValue:
        """Add a batch normalisation whose scale is drawn around ``gain``."""
        shape = (x.shape[1],)
        inputs = (
            x,
            self.parameter(f"{name}.weight", shape, ParameterRole.GAMMA, mean=gain, std=0.1 * gain),
            self.parameter(f"{name}.bias", shape, ParameterRole.BETA, std=0.1),
            self.parameter(f"{name}.running_mean", shape, ParameterRole.MEAN),
            self.parameter(f"{name}.running_var", shape, ParameterRole.VARIANCE, mean=1.0),
        )
        return self.op("BatchNormalization", name, inputs, epsilon=epsilon)

    def unit(
        self,
        x: LayerValue,
        name: str,
        channels: int,
        kernel: Size = 1,
        *,
        stride: Size = 1,
        pad: Size | None = None,
        groups: int = 1,
        dilation: int = 1,
        act: LayerFunction = LayerFunction.RELU,
        gain: float = 1.0,
        epsilon: float = 1e-5,
    ) -> LayerValue:
        """Add a convolution, its normalisation and an activation.

        Args:
            x: Input.
            name: Prefix of the names of its layers.
            channels: Output channels.
            kernel: Extent of the window.
            stride: Steps of the window.
            pad: Zeros at every side; by default as many as keep the extents at stride 1.
            groups: Groups of channels.
            dilation: Distance of the window's taps.
            act: The activation.
            gain: Scale of the normalisation.
            epsilon: What the normalisation adds to the variance.
        """
        same = tuple((k - 1) * dilation // 2 for k in each(kernel, len(x.shape) - 2))
        y = self.conv(
            x,
            f"{name}.conv",
            channels,
            kernel,
            stride=stride,
            pad=same if pad is None else pad,
            groups=groups,
            dilation=dilation,
            bias=False,
        )
        y = self.batch_norm(y, f"{name}.bn", gain=gain, epsilon=epsilon)
        return self.activation(y, name, act)

    def activation(self, x: LayerValue, name: str, act: LayerFunction) -> LayerValue:
        """Add an activation, named after itself under ``name``."""
        match act:
            case LayerFunction.NONE:
                return x
            case LayerFunction.RELU:
                return self.relu(x, f"{name}.relu")
            case LayerFunction.RELU6:
                return self.relu6(x, f"{name}.relu6")
            case LayerFunction.SWISH:
                gate = self.op("Sigmoid", f"{name}.sigmoid", [x])
                return self.mul(x, gate, f"{name}.swish")
            case LayerFunction.HARD_SWISH:
                return self.op("HardSwish", f"{name}.hard_swish", [x])
            case LayerFunction.SIGMOID:
                return self.op("Sigmoid", f"{name}.sigmoid", [x])
            case LayerFunction.HARD_SIGMOID:
                return self.op("HardSigmoid", f"{name}.hard_sigmoid", [x], alpha=1 / 6)

    def relu(self, x: LayerValue, name: str) -> LayerValue:
        """Add ``max(x, 0)``."""
        return self.op("Relu", name, [x])

    def relu6(self, x: LayerValue, name: str) -> LayerValue:
        """Add ``min(max(x, 0), 6)``."""
        low = self.parameter(f"{name}.min", (), ParameterRole.CONSTANT, mean=0.0)
        high = self.parameter(f"{name}.max", (), ParameterRole.CONSTANT, mean=6.0)
        return self.op("Clip", name, (x, low, high))

    def leaky_relu(self, x: LayerValue, name: str, slope: float) -> LayerValue:
        """Add ``x if x > 0 else slope * x``."""
        return self.op("LeakyRelu", name, [x], alpha=slope)

    def add(self, a: LayerValue, b: LayerValue, name: str) -> LayerValue:
        """Add an elementwise sum; shapes may broadcast."""
        return self.op("Add", name, (a, b))

    def mul(self, a: LayerValue, b: LayerValue, name: str) -> LayerValue:
        """Add an elementwise product; shapes may broadcast."""
        return self.op("Mul", name, (a, b))

    def concat(self, values: Sequence[LayerValue], name: str, *, axis: int = 1) -> LayerValue:
        """Add a concatenation, by default along the channels."""
        return self.op("Concat", name, values, axis=axis)

    def squeeze_excite(
        self,
        x: LayerValue,
        name: str,
        squeezed: int,
        *,
        inner: LayerFunction = LayerFunction.RELU,
        gate: LayerFunction = LayerFunction.SIGMOID,
    ) -> LayerValue:
        """Scale channels by gates that see their means.

        Args:
            x: Input.
            name: Prefix of the names of its layers.
            squeezed: Channels between its two layers.
            inner: Activation of the first one.
            gate: Activation of the second one.
        """
        y = self.conv(self.global_average_pool(x, f"{name}.pool"), f"{name}.fc1", squeezed, 1)
        y = self.activation(y, f"{name}.inner", inner)
        y = self.activation(self.conv(y, f"{name}.fc2", x.shape[1], 1), f"{name}.gate", gate)
        return self.mul(x, y, f"{name}.mul")

    def project_back(
        self,
        x: LayerValue,
        y: LayerValue,
        name: str,
        channels: int,
        *,
        gain: float,
        epsilon: float = 1e-5,
    ) -> LayerValue:
        """End an inverted residual: a linear 1x1 unit, and the shortcut where shapes allow it.

        Args:
            x: What the block reads.
            y: Its expanded channels.
            name: Prefix of the names of its layers.
            channels: Output channels.
            gain: Scale of the normalisation before a shortcut; sums grow slowly with depth.
            epsilon: What the normalisation adds to the variance.
        """
        y = self.conv(y, f"{name}.project.conv", channels, 1, bias=False)
        has_shortcut = y.shape == x.shape
        scale = gain if has_shortcut else 1.0
        y = self.batch_norm(y, f"{name}.project.bn", gain=scale, epsilon=epsilon)
        return self.add(x, y, f"{name}.add") if has_shortcut else y

    def flatten(self, x: LayerValue, name: str) -> LayerValue:
        """Add a reshape ``[N, C, H, W] -> [N, C*H*W]``."""
        return self.op("Flatten", name, [x], axis=1)

    def reshape(self, x: LayerValue, name: str, shape: Sequence[int]) -> LayerValue:
        """Add a reshape; an extent of 0 is copied."""
        return self.op("Reshape", name, (x, self.indices(f"{name}.shape", shape)))

    def transpose(self, x: LayerValue, name: str, order: Sequence[int]) -> LayerValue:
        """Add a permutation of the axes."""
        return self.op("Transpose", name, [x], perm=tuple(order))

    def slice(
        self, x: LayerValue, name: str, axes: Sequence[int], start: int, end: int
    ) -> LayerValue:
        """Add a cut ``start:end`` along some axes; ``end`` may be beyond the extent."""
        ends = [("starts", [start] * len(axes)), ("ends", [end] * len(axes)), ("axes", axes)]
        return self.op("Slice", name, (x, *(self.indices(f"{name}.{k}", v) for k, v in ends)))

    def resize(self, x: LayerValue, name: str, size: tuple[int, int]) -> LayerValue:
        """Add a bilinear interpolation to a height and width."""
        wanted = self.indices(f"{name}.size", (*x.shape[:2], *size))
        none = LayerValue("", ())
        return self.op(
            "Resize",
            name,
            (x, none, none, wanted),
            mode="linear",
            coordinate_transformation_mode="half_pixel",
        )

    def space_to_depth(self, x: LayerValue, name: str, block: int) -> LayerValue:
        """Move squares of ``block x block`` positions into channels; rows vary slowest."""
        _, C, H, W = x.shape
        rows, columns = H // block, W // block
        split = self.reshape(x, f"{name}.split", (0, C, rows, block, columns, block))
        turned = self.transpose(split, f"{name}.turn", (0, 3, 5, 1, 2, 4))
        return self.reshape(turned, name, (0, block * block * C, rows, columns))

    def linear(self, x: LayerValue, name: str, outputs: int) -> LayerValue:
        """Add a fully connected layer ``[N, C] -> [N, outputs]`` with He-normal weights."""
        weight = self._weight(f"{name}.weight", (outputs, x.shape[1]), x.shape[1])
        return self.op("Gemm", name, (x, weight, self._bias(f"{name}.bias", outputs)), transB=1)

    def classifier(self, x: LayerValue, name: str) -> LayerValue:
        """Average over all positions and apply a fully connected layer."""
        pooled = self.flatten(self.global_average_pool(x, "avgpool"), "flatten")
        return self.linear(pooled, name, self.options.classes)

    def project(
        self, x: LayerValue, name: str, outputs: int, *, bias: bool = True, gain: float = 1.0
    ) -> LayerValue:
        """Multiply the last axis by a matrix, as exporters write a linear layer on sequences.

        Args:
            x: ``[..., C]``.
            name: Prefix of the names of its parameters.
            outputs: Extent of the last axis of the result.
            bias: Whether to add one.
            gain: Factor on weights that would keep the variance.
        """
        std = gain / math.sqrt(x.shape[-1])
        weight = self.parameter(
            f"{name}.weight", (x.shape[-1], outputs), ParameterRole.WEIGHT, std=std
        )
        y = self.op("MatMul", name, (x, weight))
        if not bias:
            return y
        return self.add(
            self.parameter(f"{name}.bias", (outputs,), ParameterRole.BIAS, std=0.02),
            y,
            f"{name}.add",
        )

    def layer_norm(self, x: LayerValue, name: str, *, epsilon: float = 1e-5) -> LayerValue:
        """Normalise the last axis."""
        shape = x.shape[-1:]
        gamma = self.parameter(f"{name}.weight", shape, ParameterRole.GAMMA, mean=1.0, std=0.1)
        beta = self.parameter(f"{name}.bias", shape, ParameterRole.BETA, std=0.1)
        return self.op("LayerNormalization", name, (x, gamma, beta), axis=-1, epsilon=epsilon)

    def gelu(self, x: LayerValue, name: str) -> LayerValue:
        """Add ``x * (1 + erf(x / sqrt(2))) / 2`` in the five nodes that exporters write."""
        scaled = self.op("Div", f"{name}.div", (x, self.scalar(f"{name}.root", math.sqrt(2))))
        bent = self.op("Erf", f"{name}.erf", [scaled])
        lifted = self.add(bent, self.scalar(f"{name}.one", 1.0), f"{name}.add")
        half = self.scalar(f"{name}.half", 0.5)
        return self.mul(self.mul(x, lifted, f"{name}.mul"), half, name)

    def embedding(self, ids: LayerValue, name: str, rows: int, width: int) -> LayerValue:
        """Look rows of a table up, ``[N, L] -> [N, L, width]``."""
        table = self.parameter(f"{name}.weight", (rows, width), ParameterRole.WEIGHT, std=1.0)
        return self.op("Gather", name, (table, ids), axis=0)
