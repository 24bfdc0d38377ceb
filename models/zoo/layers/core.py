"""The core of the builder: nodes whose results get their shape from ONNX, parameters, constants."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, helper, numpy_helper
from onnx.defs import get_schema
from onnx.shape_inference import infer_node_outputs

from .structure import OPSET, LayerValue, Parameter, ParameterRole, Structure, ZooOptions

#: Mean of what a rectifier sees, in standard deviations. At 0, centring and rectifying amplify any
#: disturbance by 1.7 dB per layer, so that the deeper a random network, the more it turns int8
#: rounding into noise; at 1 by 0.5 dB, close to what trained networks do.
RECTIFIED_MEAN = 1.0

_RECTIFIERS = ("Relu", "Clip", "LeakyRelu", "HardSwish")
_SHIFTING = ("BatchNormalization", "Conv", "Gemm")

Attribute = int | float | str | Sequence[int] | Sequence[float] | TensorProto


@dataclass(slots=True)
class NetCore:
    """Collects nodes and parameters."""

    name: str
    options: ZooOptions
    _inputs: list[LayerValue] = field(default_factory=list[LayerValue])
    _nodes: list[NodeProto] = field(default_factory=list[NodeProto])
    _parameters: list[Parameter] = field(default_factory=list[Parameter])
    _shapes: dict[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])

    def input(self, name: str, shape: tuple[int, ...], *, below: int = 0) -> LayerValue:
        """Add an input: float32, or indices below a number.

        Args:
            name: Of the input.
            shape: Of the input.
            below: Indices lie below this; 0 for float32.
        """
        self._inputs.append(LayerValue(name, shape, below))
        self._shapes[name] = shape
        return self._inputs[-1]

    def channels(self, published: int) -> int:
        """Return the channels of a hidden layer under the width option (a multiple of 8)."""
        if self.options.width == 1:
            return published
        return max(8, round(published * self.options.width / 8) * 8)

    def op(
        self, op_type: str, name: str, inputs: Sequence[LayerValue], **attributes: Attribute
    ) -> LayerValue:
        """Add a node of one result and return it; ONNX says which shape it has.

        Args:
            op_type: Operator of ONNX.
            name: Of the node.
            inputs: Its operands.
            attributes: Its attributes.
        """
        return self.ops(op_type, name, inputs, 1, **attributes)[0]

    def ops(
        self,
        op_type: str,
        name: str,
        inputs: Sequence[LayerValue],
        results: int,
        **attributes: Attribute,
    ) -> tuple[LayerValue, ...]:
        """Add a node and return its results.

        Args:
            op_type: The ONNX operator.
            name: Name of the node; its results are named after it.
            inputs: What it reads; an omitted one has the name ``""``.
            results: How many results it has.
            attributes: Its attributes.
        """
        suffixes = [""] if results == 1 else range(results)
        outputs = [f"{name}.out{suffix}" for suffix in suffixes]
        node = helper.make_node(op_type, [x.name for x in inputs], outputs, name)
        node.attribute.extend(helper.make_attribute(k, v) for k, v in sorted(attributes.items()))
        self._nodes.append(node)
        made = _inferred(node, inputs)
        self._shapes.update((x.name, x.shape) for x in made)
        return made

    def parameter(
        self,
        name: str,
        shape: tuple[int, ...],
        role: ParameterRole,
        *,
        mean: float = 0.0,
        std: float = 0.0,
    ) -> LayerValue:
        """Add a parameter that is drawn from a normal distribution.

        Args:
            name: Of the initialiser.
            shape: Its shape.
            role: What it is for.
            mean: Of the distribution.
            std: Its standard deviation; 0 for a constant.
        """
        self._parameters.append(Parameter(name=name, shape=shape, role=role, mean=mean, std=std))
        self._shapes[name] = shape
        return LayerValue(name, shape)

    def indices(self, name: str, values: Iterable[int]) -> LayerValue:
        """Add a constant vector of integers: a shape, axes, ends of a slice."""
        return self._integers(name, np.array(list(values), np.int64))

    def index(self, name: str, value: int) -> LayerValue:
        """Add a constant integer, which picks one position of an axis."""
        return self._integers(name, np.array(value, np.int64))

    def scalar(self, name: str, value: float) -> LayerValue:
        """Add a float constant."""
        return self.floats(name, np.array(value, np.float32))

    def floats(self, name: str, values: NDArray[np.float32]) -> LayerValue:
        """Add a float constant."""
        return self.op("Constant", name, (), value=numpy_helper.from_array(values, f"{name}.value"))

    def _integers(self, name: str, content: NDArray[np.int64]) -> LayerValue:
        tensor = numpy_helper.from_array(content, f"{name}.value")
        return replace(self.op("Constant", name, (), value=tensor), content=content)

    def finish(self, output: LayerValue) -> Structure:
        """Return the network; its output is called ``logits``."""
        shifted = self._shifts_before_rectifiers()
        return Structure(
            name=self.name,
            inputs=tuple(self._inputs),
            output=LayerValue("logits", output.shape),
            nodes=tuple(_renamed(node, output.name, "logits") for node in self._nodes),
            parameters=tuple(
                replace(p, mean=RECTIFIED_MEAN) if p.name in shifted else p
                for p in self._parameters
            ),
            shapes={**self._shapes, "logits": output.shape},
        )

    def _shifts_before_rectifiers(self) -> frozenset[str]:
        """Return the biases and betas of layers whose output goes into a rectifier."""
        makers = {node.output[0]: node for node in self._nodes}
        sources = [makers.get(n.input[0]) for n in self._nodes if n.op_type in _RECTIFIERS]
        return frozenset(m.input[2] for m in sources if m is not None and m.op_type in _SHIFTING)


def _inferred(node: NodeProto, inputs: Sequence[LayerValue]) -> tuple[LayerValue, ...]:
    given = [x for x in inputs if x.name]
    made = infer_node_outputs(
        get_schema(node.op_type, OPSET, ""),
        node,
        {x.name: helper.make_tensor_type_proto(x.kind, x.shape) for x in given},
        {x.name: numpy_helper.from_array(x.content) for x in given if x.content is not None},
        opset_imports=[helper.make_opsetid("", OPSET)],
    )
    return tuple(_value(name, cast(Any, made[name]).tensor_type) for name in node.output)


def _value(name: str, tensor: Any) -> LayerValue:
    shape = tuple(int(dim.dim_value) for dim in tensor.shape.dim)
    return LayerValue(name, shape, below=int(tensor.elem_type == TensorProto.INT64))


def _renamed(node: NodeProto, old: str, new: str) -> NodeProto:
    copy = NodeProto()
    copy.CopyFrom(node)
    copy.output[:] = [new if name == old else name for name in node.output]
    return copy
