"""Average images that are larger than the scratchpad by the sums of their rows.

::

    %y = global_avg_pool(%x)        ->   %s = sum_pool(%x) {kernel = [1, 13]} : s16<1x1000x13x1>
        %x : s8<1x1000x13x13>            %y = global_avg_pool(%s) {count = 13} : s8<1x1000x1x1>

An average over a whole image waits for all of it, so an image that does not fit goes off chip and
comes back for it. Sums of rows are made as the rows are, in the same group, and are small. They are
integers, and the result is the same to the bit; averages of floats would be rounded in another
order, and are left as they are.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from ...ir.graph import Op
from ...ir.module import Module, Stage
from ...ir.operators.checks import sum_types
from ...ir.operators.views import has_attr
from ...ir.types import DType, Quantization, TensorType
from ..base import Context, Pass, require_arch
from .growth import Growth

_Made: TypeAlias = tuple[DType, Quantization]
"""Element type and quantisation of sums."""


@dataclass(frozen=True)
class SplitAverages(Pass):
    """Split averages over images that do not fit into sums of rows and an average of those."""

    name: ClassVar[str] = "split-averages"
    needs: ClassVar[frozenset[Stage]] = frozenset({Stage.ARCH})
    gives: ClassVar[frozenset[Stage]] = frozenset({Stage.GRAPH})

    def run(self, module: Module, ctx: Context) -> Module:
        """Return the module without averages that wait for such images."""
        graph = module.graph
        most = require_arch(module).scratchpad_level.capacity or 0
        found = ((op.name, _made(op, graph.types, most)) for op in graph.ops)
        sums = {name: made for name, made in found if made is not None}
        if not sums:
            return module
        ctx.counters.add("averages split", len(sums))
        return Growth.splitting(module, sums, lambda growth, op: _split(growth, op, sums[op.name]))


def _made(op: Op, types: Mapping[str, TensorType], most: int) -> _Made | None:
    """Return what sums of rows are, ``None`` where they are not worth it.

    They are where the image does not fit, and they are small beside it.

    Args:
        op: The operator.
        types: Of all tensors.
        most: Bytes of the scratchpad.
    """
    if op.kind != "global_avg_pool" or has_attr(op, "count"):
        return None
    image = types[op.operands[0]]
    rows, columns = image.shape[2:]
    dtype = next(iter(sum_types(columns)), None)
    if image.quant is None or dtype is None or rows == 1 or image.bytes <= most:
        return None
    if 2 * (image.elements // columns) * dtype.bytes > image.bytes:
        return None
    return dtype, Quantization((image.quant.scale[0],), (0,))


def _split(growth: Growth, op: Op, made: _Made) -> None:
    (x,) = op.operands
    columns = growth.types[x].shape[3]
    sums = growth.add(op, "sum_pool", (x,), label="sums", made=made, kernel=(1, columns))
    growth.add(op, op.kind, (sums,), like=op.name, given=dict(op.attrs), count=columns)
    growth.end(op)
