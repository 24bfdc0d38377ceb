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
                     elements, ``y = sat(rint(f32(f32(acc) * m)) + zy)``
avg_pool             ``acc = sum f32((x - zx) * sx)`` in float32, taps row by row, ``n`` counted
                     taps, ``y = sat(rint(f32(f32(f32(acc / n) / sy) + zy)))``
max_pool             maximum of the bytes; padding is the smallest value of the type
lookup               ``y = table[x as an unsigned byte]``
quantize             ``y = sat(rint(f32(x / sy)) + zy)``
dequantize           ``y = f32(f32(x - zx) * sx)``
===================  ============================================================================

``runtime_sim/numerics.py`` is the executable form of these lines.

To add an operator, add one entry to ``_TABLE``.
"""

from collections.abc import Callable, Mapping

from .graph import Attr, Graph, Op, Value, sorted_attrs
from .op_checks import (
    check_average,
    check_binary,
    check_dequantize,
    check_float,
    check_lookup,
    check_mac,
    check_max_pool,
    check_quantize,
    check_same_type,
)
from .op_shapes import (
    broadcast_shape,
    concat_shape,
    conv2d_shape,
    dense_shape,
    global_pool_shape,
    pool_shape,
    reduced_shape,
    reshape_shape,
    same_shape,
    transpose_shape,
)
from .op_spec import AttrSpec, AttrType, Category, OpSpec, Types, refusal
from .op_views import Activation
from .op_workloads import conv2d_workload, dense_workload
from .types import DType, Quantization, TensorType
from .workload import Workload

_CLAMP = (AttrSpec(name="qlo", type=AttrType.INT), AttrSpec(name="qhi", type=AttrType.INT))
_TAIL = (
    AttrSpec(name="act", type=AttrType.STR, allowed=tuple(Activation)),
    AttrSpec(name="lo", type=AttrType.FLOAT),
    AttrSpec(name="hi", type=AttrType.FLOAT),
    AttrSpec(name="alpha", type=AttrType.FLOAT),
    *_CLAMP,
)
_STEPS = (
    AttrSpec(name="stride", type=AttrType.INTS, length=2, minimum=1),
    AttrSpec(name="pads", type=AttrType.INTS, length=4, minimum=0),
    AttrSpec(name="dilation", type=AttrType.INTS, length=2, minimum=1),
)
_POOL = (
    AttrSpec(name="kernel", type=AttrType.INTS, required=True, length=2, minimum=1),
    *_STEPS,
    AttrSpec(name="overhang", type=AttrType.INTS, length=2, minimum=0),
)
_AXIS = AttrSpec(name="axis", type=AttrType.INT, required=True, minimum=0)


def _float(
    kind: str,
    summary: str,
    *attrs: AttrSpec,
    operands: tuple[str, ...] = ("x",),
    shape: Callable[[Op, Types], tuple[int, ...]] = same_shape,
) -> OpSpec:
    """Return an operator of the vector unit that knows float32 only."""
    return OpSpec(
        kind=kind,
        summary=summary,
        category=Category.VECTOR,
        operands=operands,
        attrs=attrs,
        shape=shape,
        check=check_float,
    )


def _float_pair(kind: str, summary: str) -> OpSpec:
    return _float(kind, summary, operands=("a", "b"), shape=broadcast_shape)


def _reduction(kind: str, summary: str) -> OpSpec:
    return _float(kind, summary, _AXIS, shape=reduced_shape)


_TABLE = (
    OpSpec(
        kind="conv2d",
        summary="Grouped 2-d convolution of [N,C,H,W] with [K,C/groups,R,S].",
        category=Category.MAC,
        operands=("x", "w", "bias"),
        optional=1,
        attrs=(*_STEPS, AttrSpec(name="groups", type=AttrType.INT, minimum=1), *_TAIL),
        shape=conv2d_shape,
        check=check_mac,
        workload=conv2d_workload,
    ),
    OpSpec(
        kind="dense",
        summary="Product of [M,L] with the transpose of [J,L].",
        category=Category.MAC,
        operands=("x", "w", "bias"),
        optional=1,
        attrs=_TAIL,
        shape=dense_shape,
        check=check_mac,
        workload=dense_workload,
    ),
    OpSpec(
        kind="add",
        summary="Sum with NumPy broadcasting.",
        category=Category.VECTOR,
        operands=("a", "b"),
        attrs=_TAIL,
        shape=broadcast_shape,
        check=check_binary,
    ),
    OpSpec(
        kind="mul",
        summary="Product with NumPy broadcasting.",
        category=Category.VECTOR,
        operands=("a", "b"),
        attrs=_TAIL,
        shape=broadcast_shape,
        check=check_binary,
    ),
    _float_pair("sub", "Difference with NumPy broadcasting."),
    _float_pair("div", "Quotient with NumPy broadcasting."),
    _float("relu", "max(x, 0)."),
    _float(
        "clip",
        "x limited to [lo, hi]; an absent bound does not limit.",
        AttrSpec(name="lo", type=AttrType.FLOAT),
        AttrSpec(name="hi", type=AttrType.FLOAT),
    ),
    _float(
        "leaky_relu",
        "x, times alpha where x is negative.",
        AttrSpec(name="alpha", type=AttrType.FLOAT, required=True),
    ),
    _float("sigmoid", "1 / (1 + exp(-x))."),
    _float("tanh", "Hyperbolic tangent."),
    _float("exp", "Exponential function."),
    _reduction("reduce_max", "Maximum along an axis, which stays with extent one."),
    _reduction("reduce_sum", "Sum along an axis, which stays with extent one."),
    _float("softmax", "exp(x - max) over its sum along an axis.", _AXIS),
    OpSpec(
        kind="lookup",
        summary="Table of 256 bytes, indexed by the operand as an unsigned byte.",
        category=Category.VECTOR,
        operands=("x", "table"),
        shape=same_shape,
        check=check_lookup,
    ),
    OpSpec(
        kind="max_pool",
        summary="Maximum over a window.",
        category=Category.VECTOR,
        operands=("x",),
        attrs=_POOL,
        shape=pool_shape,
        check=check_max_pool,
    ),
    OpSpec(
        kind="avg_pool",
        summary="Average over a window; padding counts only with count_include_pad.",
        category=Category.VECTOR,
        operands=("x",),
        attrs=(*_POOL, AttrSpec(name="count_include_pad", type=AttrType.BOOL), *_CLAMP),
        shape=pool_shape,
        check=check_average,
    ),
    OpSpec(
        kind="global_avg_pool",
        summary="Average over height and width.",
        category=Category.VECTOR,
        operands=("x",),
        attrs=_CLAMP,
        shape=global_pool_shape,
        check=check_average,
    ),
    OpSpec(
        kind="reshape",
        summary="The same elements in the same order under another shape.",
        category=Category.LAYOUT,
        operands=("x",),
        attrs=(AttrSpec(name="shape", type=AttrType.INTS, required=True, minimum=1),),
        shape=reshape_shape,
        check=check_same_type,
    ),
    OpSpec(
        kind="transpose",
        summary="Axes in the order perm: result axis i is operand axis perm[i].",
        category=Category.LAYOUT,
        operands=("x",),
        attrs=(AttrSpec(name="perm", type=AttrType.INTS, required=True, minimum=0),),
        shape=transpose_shape,
        check=check_same_type,
    ),
    OpSpec(
        kind="concat",
        summary="Operands one after the other along an axis.",
        category=Category.LAYOUT,
        operands=("x",),
        variadic=True,
        attrs=(_AXIS,),
        shape=concat_shape,
        check=check_same_type,
    ),
    OpSpec(
        kind="quantize",
        summary="Float32 to 8 bits with the result's quantisation.",
        category=Category.VECTOR,
        operands=("x",),
        shape=same_shape,
        check=check_quantize,
    ),
    OpSpec(
        kind="dequantize",
        summary="8 bits to float32 with the operand's quantisation.",
        category=Category.VECTOR,
        operands=("x",),
        shape=same_shape,
        check=check_dequantize,
    ),
)

OPS: Mapping[str, OpSpec] = {spec.kind: spec for spec in _TABLE}
"""Every operator kind by name."""


def spec_of(op: Op) -> OpSpec:
    """Return the declaration of an operator's kind.

    Raises:
        VerifyError: There is no such kind.
    """
    if op.kind not in OPS:
        raise refusal(op, f"is no known operator (known: {', '.join(OPS)})")
    return OPS[op.kind]


def category_of(op: Op) -> Category:
    """Return the unit that executes an operator."""
    return spec_of(op).category


def operand_types(op: Op, types: Mapping[str, TensorType]) -> Types:
    """Return the types of the operands in order, ``None`` where an optional one is absent."""
    return tuple(types[name] if name else None for name in op.operands)


def workload(op: Op, types: Mapping[str, TensorType]) -> Workload | None:
    """Return the loop nest of an operator, ``None`` if the MAC array does not run it.

    Partial sums have 32 bits here; the architecture's own width replaces that.
    """
    rule = spec_of(op).workload
    return None if rule is None else rule(op, operand_types(op, types))


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
        dtype: Element type of the result; ``None``: type *and quantisation* of the first operand.
        quant: Quantisation of the result, used where ``dtype`` is given.
        loc: Where the operator comes from.

    Raises:
        VerifyError: The operator breaks a rule of its kind.
    """
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
