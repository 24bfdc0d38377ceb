"""The table of operator kinds: each declared once, with everything the compiler asks about it.

Float operators follow ONNX in float32. An operator on 8-bit tensors takes its numbers from the
quantisation of its operand and result types (``s*`` scales, ``z*`` zero points; ``f32`` rounds to
float32 after every operation, ``rint`` is half-to-even, ``sat(v) = clamp(v, qlo, qhi)`` with the
bounds of the type where the attributes are absent). A relu or clip fused into an integer operator
is such a pair of bounds *on the quantised result, zero point included*:

===================  ============================================================================
conv2d, dense        ``acc = sum (x - zx) * (w - zw[k]) + bias[k]`` in int32 (padding is ``zx``),
                     ``m[k] = f32(f32(sx * sw[k]) / sy)``,
                     ``y = sat(rint(f32(f32(acc) * m[k])) + zy)``
add                  ``ra = f32(sa/sy)``, ``rb = f32(sb/sy)``,
                     ``c = f32(zy - fma(ra, za, f32(rb * zb)))``,
                     ``y = sat(rint(fma(a, ra, fma(b, rb, c))))``
mul                  ``m = f32(f32(sa * sb) / sy)``,
                     ``y = sat(rint(f32(f32(f32((a - za) * (b - zb)) * m) + zy)))``
global_avg_pool      ``acc = sum (x - zx)`` in int32, ``m = f32(sx / f32(sy * n))`` for ``n``
                     elements, ``y = sat(rint(f32(f32(acc) * m)) + zy)``; where ``x`` are sums,
                     each counts as ``count`` elements
sum_pool             ``y = sum (x - zx)`` in int16 or int32, of scale ``sx``
avg_pool             ``acc = sum f32((x - zx) * sx)`` in float32, taps row by row, ``n`` counted
                     taps, ``y = sat(rint(f32(f32(f32(acc / n) / sy) + zy)))``
max_pool             maximum of the bytes; padding is the smallest value of the type
lookup               ``y = table[x as an unsigned byte]``
quantize             ``y = sat(rint(f32(x / sy)) + zy)``
dequantize           ``y = f32(f32(x - zx) * sx)``
===================  ============================================================================

``pairs`` and ``runtime_sim/functional/numerics.py`` are the executable form of these lines.

To add an operator, add one entry to the table of its family in ``operators/``.
"""

from collections.abc import Mapping
from functools import lru_cache

from .graph import Attr, Graph, Op, Value, sorted_attrs
from .operators.access import Box, Part, Read, View
from .operators.families.elementwise import ELEMENTWISE, ONE_ELEMENT, along_axes
from .operators.families.gathers import GATHERS
from .operators.families.mac import MAC
from .operators.families.moves import MOVES, concat_along_axes, same_elements
from .operators.families.windowed import WINDOWED
from .operators.spec import Family, OpSpec, Types, refusal
from .types import DType, Quantization, TensorType
from .workload import Workload

OPS: Mapping[str, OpSpec] = {
    spec.kind: spec for spec in (*MAC, *ELEMENTWISE, *WINDOWED, *GATHERS, *MOVES)
}
"""Every operator kind by name."""


def spec_of(op: Op) -> OpSpec:
    """Return the declaration of an operator's kind.

    Raises:
        VerifyError: There is no such kind.
    """
    if op.kind not in OPS:
        raise refusal(op, f"is no known operator (known: {', '.join(OPS)})")
    return OPS[op.kind]


def is_mac(op: Op) -> bool:
    """Whether the MAC array runs an operator; not if its kind is unknown."""
    return op.kind in OPS and OPS[op.kind].family is Family.MAC


def weights_of(op: Op) -> tuple[str, ...]:
    """Return the name of the weights that an operator of the MAC array reads; of others none."""
    return op.operands[1:2] if is_mac(op) else ()


def parameters_of(op: Op) -> tuple[str, ...]:
    """Return the operands that lie beside the unit: biases and tables; none if its kind is unknown.

    Args:
        op: The operator.
    """
    first = OPS[op.kind].parameters if op.kind in OPS else None
    return () if first is None else tuple(filter(None, op.operands[first:]))


def is_move(op: Op) -> bool:
    """Whether an operator only moves elements."""
    return spec_of(op).family is Family.MOVE


def operand_types(op: Op, types: Mapping[str, TensorType]) -> Types:
    """Return the types of the operands in order, ``None`` where an optional one is absent."""
    return tuple(types[name] if name else None for name in op.operands)


def workload(op: Op, types: Mapping[str, TensorType]) -> Workload | None:
    """Return the loop nest of an operator, ``None`` if the MAC array does not run it.

    Partial sums have 32 bits here; the architecture's own width replaces that.
    """
    return _workload(op, operand_types(op, types))


@lru_cache(maxsize=1 << 10)
def _workload(op: Op, types: Types) -> Workload | None:
    rule = spec_of(op).workload
    return None if rule is None else rule(op, types)


def parts_of(op: Op, types: Mapping[str, TensorType]) -> tuple[Part, ...]:
    """Return the access map of an operator, as the parts that are cut into tiles by themselves.

    Raises:
        VerifyError: The MAC array runs it, or it must be split into other operators.
    """
    return _parts(op, operand_types(op, types))


def aligned_part(op: Op, types: Types) -> Part:
    """Return the access map of an operator whose parts are one, along the result's own axes.

    Args:
        op: The operator.
        types: Of its operands.

    Raises:
        VerifyError: The operator has no such map.
    """
    (part,) = aligned_parts(op, types)
    return part


@lru_cache(maxsize=1 << 10)
def aligned_parts(op: Op, types: Types) -> tuple[Part, ...]:
    """Return the access map of an operator along the result's own axes.

    Operators of one element of each operand, where all have one shape, and reshapes see plain rows
    of elements, and concatenations rows of what is joined; members of groups are cut along the axes
    of their tensors.

    Args:
        op: The operator.
        types: Of its operands.

    Raises:
        VerifyError: The operator has no such map.
    """
    parts = _parts(op, types)
    if parts[0].out.shape == op.result.type.shape:
        return parts
    if op.kind == "concat":
        return concat_along_axes(op, types)
    if op.kind == "reshape":
        whole = View.dense(op.result.type.shape)
        return same_elements(whole, whole)
    if spec_of(op).family not in ONE_ELEMENT:
        raise refusal(op, "cannot be cut along its own axes")
    return (along_axes(op, types, len(parts[0].reads)),)


def is_aligned(op: Op, types: Types) -> bool:
    """Whether an operator computes a box of its result from a box of each operand.

    Its access map then is one part, and the result is seen along its own axes. Of what only moves
    elements, reshapes are such; a gather needs indices first.

    Args:
        op: The operator.
        types: Of its operands.
    """
    family = spec_of(op).family
    if family in ONE_ELEMENT or op.kind == "reshape":
        return True
    if family not in (Family.POOL, Family.REDUCTION):
        return False
    (part,) = _parts(op, types)
    return part.out == View.dense(op.result.type.shape)


def other_read(graph: Graph, op: Op, name: str) -> Read | None:
    """Return what an operator reads beside one operand, along the result's own axes.

    Args:
        graph: The network.
        op: The operator, of one operand or two.
        name: The operand that is not meant.

    Returns:
        ``None`` where it reads nothing else but parameters.
    """
    reads = aligned_part(op, operand_types(op, graph.types)).reads
    return next((read for read in reads if op.operands[read.operand] != name), None)


def part_of(op: Op, types: Types, box: Box) -> Part:
    """Return the part of an operator that an operation on a box of its result belongs to.

    Args:
        op: The operator.
        types: Of its operands.
        box: Under the view of its parts, or along the result's own axes.
    """
    parts = _parts(op, types)
    if len(parts[0].out.shape) != len(box):
        parts = aligned_parts(op, types)
    return next(part for part in parts if part.covers(box))


@lru_cache(maxsize=1 << 10)
def _parts(op: Op, types: Types) -> tuple[Part, ...]:
    rule = spec_of(op).access
    if rule is None:
        raise refusal(op, "cannot be cut into tiles")
    return rule(op, types)


def make_op(
    kind: str,
    operands: tuple[str, ...],
    types: Mapping[str, TensorType],
    name: str,
    *,
    attrs: Mapping[str, Attr] | None = None,
    dtype: DType | None = None,
    quant: Quantization | None = None,
    loc: str = "",
) -> Op:
    """Build a verified operator and infer the type of its result.

    Args:
        kind: A kind of the table.
        operands: Names of the operands, ``""`` where an optional one is absent.
        types: Type of every operand, by name.
        name: Name of the result.
        attrs: Attributes.
        dtype: Element type of the result; ``None``: what the kind says, else type *and
            quantisation* of the first operand.
        quant: Quantisation of the result, used where ``dtype`` is given.
        loc: Where the operator comes from.

    Raises:
        VerifyError: The operator breaks a rule of its kind.
    """
    dtype = dtype or (OPS[kind].result if kind in OPS else None)
    if dtype is None and operands:
        dtype, quant = types[operands[0]].dtype, types[operands[0]].quant
    draft = Op(
        kind=kind,
        operands=operands,
        results=(Value(name, TensorType(dtype or DType.F32, (), quant)),),
        attrs=sorted_attrs((attrs or {}).items()),
        loc=loc,
    )
    spec = spec_of(draft)
    spec.verify_arity(draft)
    spec.verify_attrs(draft)
    shape = spec.shape(draft, operand_types(draft, types))
    result = Value(name, TensorType(draft.result.type.dtype, shape, quant))
    op = Op(kind=kind, operands=operands, results=(result,), attrs=draft.attrs, loc=loc)
    verify_op(op, types)
    return op


def verify_op(op: Op, types: Mapping[str, TensorType]) -> None:
    """Check one operator against the table: operands, attributes, result shape and type.

    Raises:
        VerifyError: Names the operator, where it comes from, and what is wrong.
    """
    spec = spec_of(op)
    spec.verify_arity(op)
    spec.verify_attrs(op)
    operands, result = operand_types(op, types), op.result.type
    shape = spec.shape(op, operands)
    if shape != result.shape:
        raise refusal(op, f"has shape {result.shape}, its operands give {shape}")
    spec.check(op, operands, result)


def verify_graph(graph: Graph) -> None:
    """Check a graph's own invariants and every operator against the table.

    Raises:
        VerifyError: Names the tensor or operator that is wrong.
    """
    graph.verify()
    for op in graph.ops:
        verify_op(op, graph.types)
