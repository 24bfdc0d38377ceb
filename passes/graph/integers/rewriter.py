"""The rules by which floats between dequantise and quantise become integer operators.

The question asked is "what is float tensor %v, quantised as T?". The answer depends on what makes
%v, and is found by going backwards:

- ``dequantize(%q)``: %q itself if it has type T, else a table;
- a chain of functions of one element on such a tensor: a table of ``Q(f(DQ(q)))``;
- an operator that moves elements, or a max pool: the same operator on its operands quantised as T
  (this is exact: they move elements or compare them, and quantising is monotone);
- an operator with an integer kernel whose operands are dequantised and whose result has no other
  use: the integer operator;
- relu or clip that quantising subsumes (T holds no value that they would change): its operand
  quantised as T;
- else: remains a float operator followed by ``quantize``.

What is found by going forwards: operators that move elements, borders of zeros and max pools of
dequantised tensors move in front of the dequantisation, so that integer operators meet behind them;
of constants, they are computed.

These rules reproduce what onnxruntime 1.31 does at the extended level; found by looking at its
optimised models:

- *Bias.* A dequantised int32 bias counts only if its scale is ``sx * sw``; else the convolution
  remains in float. A float constant bias is quantised to ``rint(b / (sx * sw))`` in int32.
- *Types.* Operand and result of an integer operator have the same type (weights may differ).
- *Relu between convolution and quantise.* With a zero point other than the type's minimum the
  convolution remains in float; with the minimum the relu vanishes.
- *A result with several readers*, being an output of the network among them, remains in float.
- *Flatten* between an integer operator and quantise makes onnxruntime compute in float, a reshape
  does not. Here both give the integer operator; onnxruntime's own two results may differ by one
  step where a value lies next to a tie.
- *A border of zeros* becomes padding of the convolution behind it. Here it is one of zero points,
  wherever it stands.
- *Transposed convolutions, Einsum, ReduceMean and Sum* run in float there. Here they have come as a
  convolution of the phases, a product, an average and an addition, which are made of integers: a
  result next to a tie may be its neighbour.
- *Average pool* divides by the whole kernel where padding counts, also where ``ceil_mode`` made
  windows hang over.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from ....ir.codec.names import Namer
from ....ir.graph import Attr, Graph, Op, Value
from ....ir.operators.access import move
from ....ir.operators.checks import BYTE_TYPES, scale_axis
from ....ir.operators.elementary import Array
from ....ir.operators.views import window_of
from ....ir.ops import is_mac, is_move, make_op, parts_of
from ....ir.resources import Constants, dtype_of, numpy_dtype
from ....ir.types import DType, Quantization, TensorType
from .byte_tables import UNARY, Target, byte_table, subsumes

_KEEP_AXES = frozenset({"reshape", "transpose", "concat", "max_pool"})
_INTEGER = frozenset({"conv2d", "dense", "add", "mul", "avg_pool", "global_avg_pool"})


def form_integers(graph: Graph, constants: Constants) -> tuple[Graph, Constants]:
    """Return the rewritten graph and its constants; what is dead then is left to be eliminated.

    An output of the network that comes to be another tensor lends that its name; where it cannot,
    since that is an input, a constant or an output itself, it becomes a reshape of it.
    """
    rewriter = _Rewriter.start(graph, constants)
    for op in graph.ops:
        rewriter.take(op)
    return rewriter.finish(graph)


@dataclass
class _Rewriter:
    """The graph while it is rewritten; local to ``form_integers``.

    Attributes:
        types: Types of all tensors so far, old and new.
        arrays: Data of constants.
        namer: Gives names that neither graph uses.
        use_count: Readers of the old graph's tensors.
        outputs: Names of the network's outputs.
        ops: Operators so far.
        producer: Operator of a tensor.
        renamed: Tensor of the new graph for one of the old graph, where the names differ.
        lent: Output of the network whose name a tensor of the new graph takes in the end.
        source: Integer tensor for a float tensor that is its dequantisation.
        added: New constants.
        made: Integer tensors made so far, by float tensor and type.
    """

    types: dict[str, TensorType]
    arrays: dict[str, Array]
    namer: Namer
    use_count: Mapping[str, int]
    outputs: frozenset[str]
    ops: list[Op] = field(default_factory=list[Op])
    producer: dict[str, Op] = field(default_factory=dict[str, Op])
    renamed: dict[str, str] = field(default_factory=dict[str, str])
    lent: dict[str, str] = field(default_factory=dict[str, str])
    source: dict[str, str] = field(default_factory=dict[str, str])
    added: list[Value] = field(default_factory=list[Value])
    made: dict[tuple[str, Target], str] = field(default_factory=dict[tuple[str, Target], str])

    @staticmethod
    def start(graph: Graph, constants: Constants) -> "_Rewriter":
        outside = {value.name: value.type for value in (*graph.inputs, *graph.constants)}
        return _Rewriter(
            outside, dict(constants), Namer(graph.types), graph.use_count, frozenset(graph.outputs)
        )

    def finish(self, graph: Graph) -> tuple[Graph, Constants]:
        rewritten = Graph(
            name=graph.name,
            inputs=graph.inputs,
            constants=(*graph.constants, *self.added),
            ops=tuple(_renamed(op, self.lent) for op in self.ops),
            outputs=graph.outputs,
        )
        return rewritten, Constants(self.arrays)

    # Forwards -----------------------------------------------------------------------------------

    def take(self, op: Op) -> None:
        """Add one operator of the old graph."""
        operands = tuple(self.renamed.get(name, name) for name in op.operands)
        match op.kind:
            case "dequantize":
                self.dequantized(op, operands[0], op.name)
            case "quantize":
                self.take_quantize(op, operands[0])
            case _ if _is_moving(op) and self.are_quantised_alike(op, operands):
                moved = self.move(op, tuple(self.source[name] for name in operands))
                self.dequantized(op, moved, op.name)
            case "pad" | "stretch" if self.is_bordered_by_zeros(op, operands):
                self.dequantized(op, self.padded(op, operands[0]), op.name)
            case _:
                self.keep(op, operands)

    def keep(self, op: Op, operands: tuple[str, ...]) -> None:
        found = op.result.type
        self.emit(op.kind, operands, op.name, op, dict(op.attrs), found.dtype, found.quant)

    def dequantized(self, op: Op, integers: str, name: str) -> None:
        """Emit a dequantisation; of a constant, as a constant, if it is used at all."""
        self.emit("dequantize", (integers,), name, op, {}, DType.F32, None)
        self.source[name] = integers

    def take_quantize(self, op: Op, operand: str) -> None:
        quant = op.result.type.quant
        assert quant is not None, "the table demands it"
        target = Target(op.result.type.dtype, quant)
        made = self.quantised(operand, target, op.name)
        if made is None:
            self.keep(op, (operand,))
            self.made[operand, target] = op.name
        elif made != op.name and op.name in self.outputs:
            self.take_output(op, made, target)
        elif made != op.name:
            self.renamed[op.name] = made

    def take_output(self, op: Op, made: str, target: Target) -> None:
        if made in self.producer and made not in self.outputs and made not in self.lent:
            self.lent[made] = op.name
            self.renamed[op.name] = made
            return
        shape: dict[str, Attr] = {"shape": op.result.type.shape}
        self.emit("reshape", (made,), op.name, op, shape, target.dtype, target.quant)

    def are_quantised_alike(self, op: Op, operands: tuple[str, ...]) -> bool:
        """Whether all operands are dequantisations of integers of one type.

        Integers are bytes, those of a constant any: what moves a constant leaves one.
        """
        if not all(name in self.source for name in operands):
            return False
        found = [self.types[self.source[name]] for name in operands]
        if len({(one.dtype, one.quant) for one in found}) != 1:
            return False
        if self.is_moved_at_once(op, self.source[operands[0]]):
            return self.moved_quant(op, found[0]) is not None
        return found[0].dtype in BYTE_TYPES and (_per_tensor(found[0]) or op.kind in _KEEP_AXES)

    def is_bordered_by_zeros(self, op: Op, operands: tuple[str, ...]) -> bool:
        """Whether an operator adds constant zeros to the dequantisation of an 8-bit tensor."""
        if len(operands) < 2 or operands[0] not in self.source:
            return False
        is_zero = operands[1] in self.arrays and not self.arrays[operands[1]].any()
        source = self.source[operands[0]]
        found, quant = self.types[source], self.types[source].quant
        if not is_zero or quant is None or found.dtype not in BYTE_TYPES:
            return False
        is_one_type = quant.axis is None or (source in self.arrays and _adds_beside(op, quant.axis))
        return is_one_type and len(set(quant.zero_point)) == 1

    def padded(self, op: Op, operand: str) -> str:
        """Emit a pad of integers by their zero point, which stands for zero; or a constant."""
        source = self.source[operand]
        found = self.types[source]
        assert found.quant is not None, "it is dequantised"
        border = np.full(self.types[op.operands[1]].shape, found.quant.zero_point[0])
        border = border.astype(numpy_dtype(found.dtype))
        name, attrs = self.fresh(f"{op.name}.q"), dict(op.attrs)
        if source in self.arrays:
            operands = self.arrays[source], border
            array = move(parts_of(op, self.types), operands, op.result.type.shape)
            return self.constant(name, array, found.quant)
        zero = self.constant(f"{op.name}.zero", border, found.quant)
        return self.emit(op.kind, (source, zero), name, op, attrs, found.dtype, found.quant)

    # Backwards ----------------------------------------------------------------------------------

    def quantised(self, value: str, target: Target, name: str) -> str | None:
        """Return the integer tensor for a float tensor, ``None`` if only ``quantize`` makes it.

        Args:
            value: A float tensor of the new graph.
            target: The type that is wanted.
            name: Name for the integer tensor, if one must be made.
        """
        key = (value, target)
        if key not in self.made:
            made = self.make(value, target, name)
            if made is None:
                return None
            self.made[key] = made
        return self.made[key]

    def make(self, value: str, target: Target, name: str) -> str | None:
        base = self.table_base(value)
        if base is not None:
            return self.by_table(value, base, target, name)
        op = self.producer.get(value)
        if op is None or self.use_count.get(value, 0) != 1:
            return None
        if _is_moving(op):
            return self.moved(op, target, name)
        if op.kind in ("relu", "clip") and subsumes(target, op):
            return self.quantised(op.operands[0], target, name)
        return self.integer(op, target, name) if op.kind in _INTEGER else None

    def table_base(self, value: str) -> str | None:
        """Return the dequantised bytes that ``value`` is a function of, element by element."""
        while value not in self.source:
            op = self.producer.get(value)
            if op is None or op.kind not in UNARY:
                return None
            value = op.operands[0]
        found = self.types[self.source[value]]
        is_plain = (
            found.dtype in BYTE_TYPES and found.quant is not None and found.quant.axis is None
        )
        return value if is_plain else None

    def by_table(self, value: str, base: str, target: Target, name: str) -> str:
        integers = self.source[base]
        found = self.types[integers]
        if value == base and (found.dtype, found.quant) == (target.dtype, target.quant):
            return integers
        table = byte_table(found, self.chain(value, base), target)
        op = self.producer[value]
        entry = self.constant(f"{name}.table", table)
        return self.emit("lookup", (integers, entry), name, op, {}, target.dtype, target.quant)

    def chain(self, value: str, base: str) -> tuple[Op, ...]:
        """Return the operators from ``base`` to ``value``, first applied first."""
        if value == base:
            return ()
        op = self.producer[value]
        return (*self.chain(op.operands[0], base), op)

    def moved(self, op: Op, target: Target, name: str) -> str | None:
        """Return a layout operator or max pool on operands quantised as the target."""
        ready = [self.is_quantisable(operand, target) for operand in op.operands]
        if not all(ready):
            return None
        parts = [
            self.quantised(operand, target, self.fresh(f"{operand}.q")) for operand in op.operands
        ]
        operands = tuple(part for part in parts if part is not None)
        if len(operands) != len(parts):
            return None
        attrs = dict(op.attrs)
        return self.emit(op.kind, operands, name, op, attrs, target.dtype, target.quant)

    def is_quantisable(self, value: str, target: Target) -> bool:
        """Whether ``quantised`` would succeed, without making anything."""
        if (value, target) in self.made or self.table_base(value) is not None:
            return True
        op = self.producer.get(value)
        if op is None or self.use_count.get(value, 0) != 1:
            return False
        if _is_moving(op):
            return all(self.is_quantisable(operand, target) for operand in op.operands)
        if op.kind in ("relu", "clip"):
            return subsumes(target, op) and self.is_quantisable(op.operands[0], target)
        return op.kind in _INTEGER and self.integer_operands(op, target) is not None

    def integer(self, op: Op, target: Target, name: str) -> str | None:
        operands = self.integer_operands(op, target)
        if operands is None:
            return None
        bias = self.bias(op, operands)
        attrs = _integer_attrs(op)
        return self.emit(op.kind, (*operands, *bias), name, op, attrs, target.dtype, target.quant)

    def integer_operands(self, op: Op, target: Target) -> tuple[str, ...] | None:
        """Return the integer operands without bias, ``None`` if there is no integer kernel."""
        names = op.operands[:2]
        if not all(name in self.source for name in names):
            return None
        operands = tuple(self.source[name] for name in names)
        types = tuple(self.types[name] for name in operands)
        checked = types[:1] if is_mac(op) else types
        if any(found.dtype is not target.dtype or not _per_tensor(found) for found in checked):
            return None
        if is_mac(op) and not (_is_weight(op, types[1]) and self.has_integer_bias(op, operands)):
            return None
        if op.kind == "avg_pool" and window_of(op).dilation != (1, 1):
            return None
        return operands

    def has_integer_bias(self, op: Op, operands: tuple[str, ...]) -> bool:
        if len(op.operands) < 3 or not op.operands[2]:
            return True
        name = op.operands[2]
        if name in self.arrays:
            return True
        if name not in self.source or self.types[self.source[name]].dtype is not DType.S32:
            return False
        quant = self.types[self.source[name]].quant
        expected = self.bias_scale(operands)
        return quant is not None and np.allclose(
            np.array(quant.scale, np.float32), expected, rtol=1e-5, atol=0.0
        )

    def bias_scale(self, operands: tuple[str, ...]) -> Array:
        """Return ``sx * sw``, one value per channel or one for all."""
        x, w = (self.types[name].quant for name in operands)
        assert x is not None and w is not None, "both are quantised"
        return np.float32(x.scale[0]) * np.array(w.scale, np.float32)

    def bias(self, op: Op, operands: tuple[str, ...]) -> tuple[str, ...]:
        """Return the int32 bias, quantised here if the model has it in float."""
        if len(op.operands) < 3 or not op.operands[2]:
            return ()
        name = op.operands[2]
        if name in self.source:
            return (self.source[name],)
        steps = np.rint(self.arrays[name].astype(np.float32) / self.bias_scale(operands))
        limits = np.iinfo(np.int32)
        rounded = np.clip(steps.astype(np.float64), limits.min, limits.max).astype(np.int32)
        return (self.constant(f"{name}.q", rounded),)

    # Emitting -----------------------------------------------------------------------------------

    def move(self, op: Op, operands: tuple[str, ...]) -> str:
        """Emit a layout operator or max pool on integers; on a constant, compute it."""
        found = self.types[operands[0]]
        if self.is_moved_at_once(op, operands[0]):
            return self.moved_constant(op, operands[0], found)
        name = self.fresh(f"{op.name}.q")
        return self.emit(op.kind, operands, name, op, dict(op.attrs), found.dtype, found.quant)

    def is_moved_at_once(self, op: Op, source: str) -> bool:
        """Whether an operator moves the elements of one constant."""
        return is_move(op) and len(op.operands) == 1 and source in self.arrays

    def moved_constant(self, op: Op, name: str, found: TensorType) -> str:
        quant = self.moved_quant(op, found)
        return self.constant(f"{op.name}.q", self.moved_array(op, self.arrays[name]), quant)

    def moved_array(self, op: Op, array: Array) -> Array:
        """Return what an operator makes of an array of its operand's shape."""
        return move(parts_of(op, self.types), (array,), op.result.type.shape)

    def moved_quant(self, op: Op, found: TensorType) -> Quantization | None:
        """Return the quantisation after a move, ``None`` if it is none of one axis any more."""
        quant = found.quant
        if quant is None or quant.axis is None:
            return quant
        if op.kind == "transpose":
            return quant.permuted(op.ints("perm"))
        slices = np.arange(len(quant.scale), dtype=np.int32)
        slices = slices.reshape(-1, *(1,) * (len(found.shape) - quant.axis - 1))
        moved = self.moved_array(op, np.broadcast_to(slices, found.shape))
        for axis in range(moved.ndim):
            along = np.moveaxis(moved, axis, 0).reshape(moved.shape[axis], -1)
            if (along == along[:, :1]).all():
                return quant.taken(along[:, 0].tolist(), axis)
        return None

    def fresh(self, wanted: str) -> str:
        return self.namer.fresh(wanted)

    def constant(self, wanted: str, array: Array, quant: Quantization | None = None) -> str:
        name = self.fresh(wanted)
        found = TensorType(dtype_of(array.dtype), array.shape, quant)
        self.types[name], self.arrays[name] = found, array
        self.added.append(Value(name, found))
        return name

    def emit(
        self,
        kind: str,
        operands: tuple[str, ...],
        name: str,
        origin: Op,
        attrs: dict[str, Attr],
        dtype: DType,
        quant: Quantization | None,
    ) -> str:
        op = make_op(
            kind,
            operands,
            self.types,
            name,
            attrs=attrs,
            dtype=dtype,
            quant=quant,
            loc=origin.loc,
        )
        self.ops.append(op)
        self.types[name] = op.result.type
        self.producer[name] = op
        return name


def _renamed(op: Op, names: Mapping[str, str]) -> Op:
    if not names:
        return op
    operands = tuple(names.get(name, name) for name in op.operands)
    results = tuple(Value(names.get(item.name, item.name), item.type) for item in op.results)
    return replace(op, operands=operands, results=results)


def _is_moving(op: Op) -> bool:
    """Whether every element of the result is one of the operands', or the largest of some."""
    return is_move(op) or op.kind == "max_pool"


def _adds_beside(op: Op, axis: int) -> bool:
    """Whether what a pad or a stretch adds leaves the slices along an axis what they are."""
    if op.kind == "stretch":
        return op.ints("repeats")[axis] == 1
    pads = op.ints("pads")
    return not pads[axis] and not pads[axis + len(pads) // 2]


def _per_tensor(found: TensorType) -> bool:
    return found.quant is not None and found.quant.axis is None


def _is_weight(op: Op, found: TensorType) -> bool:
    is_byte = found.dtype in BYTE_TYPES
    axes = (None, scale_axis(op.kind, found))
    return is_byte and found.quant is not None and found.quant.axis in axes


def _integer_attrs(op: Op) -> dict[str, Attr]:
    attrs = dict(op.attrs)
    if op.kind == "avg_pool" and op.attr("count_include_pad", False):
        attrs["pads"], attrs["overhang"] = window_of(op).counting_overhang().pads, (0, 0)
    return attrs
