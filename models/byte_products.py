"""Products of u8 and s8 as products of u8 and u8, which are exact on every processor.

On x86 without VNNI, onnxruntime multiplies u8 by s8 with an instruction whose 16-bit sums of two
products saturate. Integers that are 128 more mean the same numbers if their zero point is, too::

    QLinearConv(x: u8, w: s8, zero point z)          QLinearConv(x, w + 128: u8, z + 128)

    Conv(DequantizeLinear(x: u8), b)            ->   Conv(DequantizeLinear(x), b)
    b = DequantizeLinear(w: s8, z)                   b = DequantizeLinear(w + 128: u8, z + 128)
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import NamedTuple

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper, shape_inference

_SHIFT = 128


class _Bytes(NamedTuple):
    """Inputs of an operator that multiplies bytes, by position.

    Attributes:
        first_zero: Zero point of the first operand; ``None`` if that is quantised to u8 inside.
        second: The second operand.
        second_zero: Its zero point.
    """

    first_zero: int | None
    second: int
    second_zero: int


_PRODUCTS: Mapping[str, _Bytes] = {
    "QLinearConv": _Bytes(2, 3, 5),
    "QLinearMatMul": _Bytes(2, 3, 5),
    "QGemm": _Bytes(2, 3, 5),
    "MatMulInteger": _Bytes(2, 1, 3),
    "ConvInteger": _Bytes(2, 1, 3),
    "MatMulIntegerToFloat": _Bytes(4, 1, 5),
    "DynamicQuantizeMatMul": _Bytes(None, 1, 3),
}

_FLOAT_PRODUCTS = frozenset({"Conv", "Gemm", "MatMul"})
"""Operators that onnxruntime fuses with the dequantisation of their operands."""


def with_exact_products(model: ModelProto) -> ModelProto:
    """Return a model that computes the same, and in which no u8 is multiplied by s8.

    Args:
        model: The model; operators inside of branches and loops remain as they are.

    Returns:
        The same object where nothing changes.
    """
    reader = _Reader(model)
    chosen = {number for number, node in enumerate(model.graph.node) if reader.is_mixed(node)}
    return _Rewriting(reader).of(chosen) if chosen else model


@dataclass(frozen=True)
class _Reader:
    """Tells which nodes multiply u8 by s8.

    Attributes:
        model: The model.
    """

    model: ModelProto

    def is_mixed(self, node: NodeProto) -> bool:
        """Whether a node multiplies u8 by s8."""
        inputs = _PRODUCTS.get(node.op_type)
        if inputs is not None:
            zero = inputs.first_zero
            first = "" if zero is None else _input(node, zero) or node.input[0]
            is_unsigned = zero is None or self._type(first) == TensorProto.UINT8
            return is_unsigned and self._type(node.input[inputs.second]) == TensorProto.INT8
        if node.op_type not in _FLOAT_PRODUCTS:
            return False
        first, second = (self.dequantiser(name) for name in node.input[:2])
        if first is None or second is None or not self.can_shift(second):
            return False
        types = self._type(first.input[0]), self._type(second.input[0])
        return types == (TensorProto.UINT8, TensorProto.INT8)

    def dequantiser(self, name: str) -> NodeProto | None:
        """Return the node that dequantises a tensor, ``None`` if no such one makes it."""
        node = self._makers.get(name)
        return node if node is not None and node.op_type == "DequantizeLinear" else None

    def can_shift(self, node: NodeProto) -> bool:
        """Whether it is known how many zero points a node has that dequantises."""
        return bool(_input(node, 2)) or node.input[1] in self.constants

    @cached_property
    def constants(self) -> Mapping[str, TensorProto]:
        """Constants, by name."""
        return {item.name: item for item in self.model.graph.initializer}

    @cached_property
    def suffix(self) -> str:
        """What the names of tensors end with whose integers are more, and those of no other."""
        names = {name for node in self.model.graph.node for name in (*node.input, *node.output)}
        suffixes = ("/u8" + "+" * more for more in count())
        return next(end for end in suffixes if not any(end in name for name in names))

    @cached_property
    def _makers(self) -> Mapping[str, NodeProto]:
        return {name: node for node in self.model.graph.node for name in node.output}

    def _type(self, name: str) -> int | None:
        """Return the type of the elements of a tensor, ``None`` if it is unknown."""
        if name in self.constants:
            return self.constants[name].data_type
        maker = self._makers.get(name)
        if maker is not None and maker.op_type == "QuantizeLinear" and _input(maker, 2):
            return self._type(maker.input[2])
        return self._inferred.get(name)

    @cached_property
    def _inferred(self) -> Mapping[str, int]:
        graph = shape_inference.infer_shapes(self.model).graph
        values = (*graph.input, *graph.value_info, *graph.output)
        return {value.name: value.type.tensor_type.elem_type for value in values}


@dataclass
class _Rewriting:
    """A model in the making.

    Attributes:
        reader: Tells about what is rewritten.
        nodes: What there is so far.
        constants: New ones.
    """

    reader: _Reader
    nodes: list[NodeProto] = field(default_factory=list[NodeProto])
    constants: dict[str, TensorProto] = field(default_factory=dict[str, TensorProto])
    _made: set[str] = field(default_factory=set[str])

    def of(self, chosen: set[int]) -> ModelProto:
        """Return the model.

        Args:
            chosen: Numbers of the nodes that multiply u8 by s8.
        """
        model = self.reader.model
        for number, node in enumerate(model.graph.node):
            self.nodes.append(self._changed(node) if number in chosen else node)
        result = ModelProto()
        result.CopyFrom(model)
        del result.graph.node[:]
        result.graph.node.extend(self.nodes)
        result.graph.initializer.extend(self.constants.values())
        return result

    def _changed(self, node: NodeProto) -> NodeProto:
        """Return what a product becomes, behind what makes its new operands."""
        changed = _copy(node)
        inputs = _PRODUCTS.get(node.op_type)
        if inputs is None:
            changed.input[1] = self._dequantised(node.input[1])
            return changed
        changed.input[inputs.second] = self._shifted(node.input[inputs.second])
        _set_input(changed, inputs.second_zero, self._zero(_input(node, inputs.second_zero), ()))
        return changed

    def _dequantised(self, name: str) -> str:
        """Return what a tensor of dequantised integers is called where these are more."""
        more = self._more(name)
        if more not in self._made:
            self._made.add(more)
            node = self.reader.dequantiser(name)
            assert node is not None
            changed = _copy(node)
            scale = self.reader.constants.get(node.input[1])
            shape = () if scale is None else tuple(scale.dims)
            changed.input[0] = self._shifted(node.input[0])
            _set_input(changed, 2, self._zero(_input(node, 2), shape))
            changed.output[0] = changed.name = more
            self.nodes.append(changed)
        return more

    def _zero(self, name: str, shape: tuple[int, ...]) -> str:
        """Return what zero points are called that are more; of absent ones, so many in place of 0.

        Args:
            name: Of the zero points, ``""`` if there are none.
            shape: Of those that are absent.
        """
        if name:
            return self._shifted(name)
        made = self._more(f"zero{list(shape)}")
        self.constants[made] = numpy_helper.from_array(np.full(shape, _SHIFT, np.uint8), made)
        return made

    def _shifted(self, name: str) -> str:
        """Return what a tensor of s8 is called whose integers are more, made once."""
        more, constant = self._more(name), self.reader.constants.get(name)
        if more in self._made:
            return more
        self._made.add(more)
        if constant is None:
            self.nodes += self._shifting(name, more)
        else:
            values = numpy_helper.to_array(constant).astype(np.int16) + _SHIFT
            self.constants[more] = numpy_helper.from_array(values.astype(np.uint8), more)
        return more

    def _shifting(self, name: str, more: str) -> Iterator[NodeProto]:
        """Yield the nodes that make a tensor of u8 of one of s8.

        Args:
            name: Of the tensor.
            more: Of what is made.
        """
        wide, shift, moved = (f"{more}/{part}" for part in ("wide", "shift", "moved"))
        self.constants[shift] = numpy_helper.from_array(np.array(_SHIFT, np.int32), shift)
        yield helper.make_node("Cast", [name], [wide], wide, to=TensorProto.INT32)
        yield helper.make_node("Add", [wide, shift], [moved], moved)
        yield helper.make_node("Cast", [moved], [more], more, to=TensorProto.UINT8)

    def _more(self, name: str) -> str:
        return name + self.reader.suffix


def _copy(node: NodeProto) -> NodeProto:
    copied = NodeProto()
    copied.CopyFrom(node)
    return copied


def _input(node: NodeProto, index: int) -> str:
    """Return the name of an input, ``""`` if it is absent."""
    return node.input[index] if index < len(node.input) else ""


def _set_input(node: NodeProto, index: int, name: str) -> None:
    """Give a node an input, the absent ones before it being empty."""
    node.input.extend([""] * (index + 1 - len(node.input)))
    node.input[index] = name
