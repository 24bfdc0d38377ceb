"""A network before it has weights: ONNX nodes, and parameters that have a shape but no values.

Counting parameters and multiplications or checking shapes costs nothing, and one structure serves
for the network and for its calibration (``weights.py``).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto

from ....ir.errors import OptionError

OPSET = 17
IR_VERSION = 10
LARGEST_INPUT = 2**28
"""Elements of the images that are calibrated at once."""


class ParameterRole(StrEnum):
    """What a parameter is for."""

    WEIGHT = "weight"
    BIAS = "bias"
    GAMMA = "gamma"
    BETA = "beta"
    MEAN = "mean"
    VARIANCE = "variance"
    CONSTANT = "constant"


#: Roles that a published parameter count includes; running statistics are no parameters.
TRAINABLE = frozenset(
    {ParameterRole.WEIGHT, ParameterRole.BIAS, ParameterRole.GAMMA, ParameterRole.BETA}
)


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
    role: ParameterRole
    mean: float = 0.0
    std: float = 0.0

    @property
    def elements(self) -> int:
        """Return the number of elements."""
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True)
class LayerValue:
    """A tensor between two layers.

    Attributes:
        name: Its name.
        shape: Its shape.
        below: For indices (int64): they are below this; 0 for float32.
        content: What it holds where that is known when the network is built.
    """

    name: str
    shape: tuple[int, ...]
    below: int = 0
    content: NDArray[np.int64] | None = None

    @property
    def kind(self) -> int:
        """Return its ONNX element type."""
        return TensorProto.INT64 if self.below else TensorProto.FLOAT


@dataclass(frozen=True, slots=True, kw_only=True)
class Structure:
    """A network without weights.

    Attributes:
        name: Name of the network.
        inputs: What it reads, e.g. ``[N, 3, H, W]``.
        output: What it computes, e.g. ``[N, classes]``.
        nodes: ONNX nodes in execution order.
        parameters: Initialisers in the order of their use.
        shapes: Shape of every tensor, by name.
    """

    name: str
    inputs: tuple[LayerValue, ...]
    output: LayerValue
    nodes: tuple[NodeProto, ...]
    parameters: tuple[Parameter, ...]
    shapes: Mapping[str, tuple[int, ...]]

    @property
    def parameter_count(self) -> int:
        """Return the number of trainable parameters, as papers count them."""
        return sum(p.elements for p in self.parameters if p.role in TRAINABLE)

    @property
    def macs(self) -> int:
        """Return the multiplications of convolutions and matrix products in one inference."""
        return sum(self._macs_of(node) for node in self.nodes)

    def _macs_of(self, node: NodeProto) -> int:
        match node.op_type:
            case "Conv" | "ConvTranspose":
                many = node.output[0] if node.op_type == "Conv" else node.input[0]
                return math.prod(self.shapes[many]) * math.prod(self.shapes[node.input[1]][1:])
            case "Gemm" | "MatMul":
                return math.prod(self.shapes[node.output[0]]) * self.shapes[node.input[0]][-1]
            case _:
                return 0

    @property
    def operator_count(self) -> int:
        """Return the number of nodes that compute."""
        return sum(node.op_type != "Constant" for node in self.nodes)


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooOptions:
    """Size of a network.

    Attributes:
        image_size: Height and width of an image [pixel].
        sequence: Length of a text [token].
        batch: Inputs per inference.
        classes: Outputs of the classifier.
        width: Factor on the channels of every hidden layer; 1 is the network as published.
    """

    image_size: int = 224
    sequence: int = 128
    batch: int = 1
    classes: int = 1000
    width: float = 1.0

    def __post_init__(self) -> None:
        for name in ("image_size", "sequence", "batch", "classes"):
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
