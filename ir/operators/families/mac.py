"""Operators of the MAC array."""

from ..attributes import STEPS, TAIL
from ..checks import check_mac
from ..shapes import conv2d_shape, dense_shape
from ..spec import AttrSpec, AttrType, Family, OpSpec
from ..workloads import conv2d_workload, dense_workload

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
        summary="Product of [M,L] with the transpose of [J,L].",
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
