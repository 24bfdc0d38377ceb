"""Operators of the MAC array, and as which loop nests they run."""

import math

from ...graph import Op
from ...workload import Workload
from ..attributes import STEPS, TAIL
from ..checks import check_mac
from ..shapes import conv2d_shape, dense_shape
from ..spec import AttrSpec, AttrType, Family, OpSpec, Types, present
from ..views import window_of


def conv2d_workload(op: Op, types: Types) -> Workload:
    """The convolution itself; a group is one step of ``G``."""
    weight, groups = present(op, types, 1).shape, op.int("groups", 1)
    N, K, P, Q = conv2d_shape(op, types)
    window = window_of(op, (weight[2], weight[3]))
    sizes = Workload(
        R=weight[2],
        S=weight[3],
        P=P,
        Q=Q,
        C=weight[1],
        K=K // groups,
        N=N,
        G=groups,
        stride=window.stride,
        dilation=window.dilation,
    )
    return _with_widths(sizes, op, types)


def dense_workload(op: Op, types: Types) -> Workload:
    """``P=M, C=L, K=J``; every product of a batch is one step of ``G``."""
    *batch, M, J = dense_shape(op, types)
    L = present(op, types, 0).shape[-1]
    return _with_widths(Workload(P=M, C=L, K=J, G=math.prod(batch)), op, types)


def _with_widths(sizes: Workload, op: Op, types: Types) -> Workload:
    x, weight, result = present(op, types, 0), present(op, types, 1), op.result.type
    dims = {dim.value: extent for dim, extent in sizes.dims.items()}
    return Workload(
        **dims,
        stride=sizes.stride,
        dilation=sizes.dilation,
        weight_bits=8 * weight.dtype.bytes,
        input_bits=8 * x.dtype.bytes,
        output_bits=8 * result.dtype.bytes,
        psum_bits=32,
    )


MAC = (
    OpSpec(
        kind="conv2d",
        summary="Grouped 2-d convolution of [N,C,H,W] with [K,C/groups,R,S].",
        family=Family.MAC,
        operands=("x", "w", "bias"),
        optional=1,
        attrs=(*STEPS, AttrSpec(name="groups", type=AttrType.INT, minimum=1), *TAIL),
        shape=conv2d_shape,
        check=check_mac,
        workload=conv2d_workload,
        parameters=2,
    ),
    OpSpec(
        kind="dense",
        summary="Product of [M,L] with the transpose of [J,L], or of batches of such matrices.",
        family=Family.MAC,
        operands=("x", "w", "bias"),
        optional=1,
        attrs=TAIL,
        shape=dense_shape,
        check=check_mac,
        workload=dense_workload,
        parameters=2,
    ),
)
"""Their declarations."""
