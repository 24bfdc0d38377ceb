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
from typing import ClassVar

from ...ir.graph import Op
from ...ir.module import Module, Stage
from ...ir.operators.checks import MOST_APART, SUM_TYPES
from ...ir.operators.views import has_attr
from ...ir.types import DType, Quantization, TensorType
from ..base import Context, Pass, require_arch
from .growth import Growth


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
        split = {op.name for op in graph.ops if _is_split(op, graph.types, most)}
        if not split:
            return module
        ctx.counters.add("averages split", len(split))
        growth = Growth.of(graph)
        for op in graph.ops:
            if op.name in split:
                _split(op, growth)
            else:
                growth.ops.append(op)
        return growth.module(module)


def _is_split(op: Op, types: Mapping[str, TensorType], most: int) -> bool:
    """Whether sums of rows are worth it: the image does not fit, and they are small beside it.

    Args:
        op: The operator.
        types: Of all tensors.
        most: Bytes of the scratchpad.
    """
    if op.kind != "global_avg_pool" or op.result.type.quant is None or has_attr(op, "count"):
        return False
    image = types[op.operands[0]]
    rows, columns = image.shape[2:]
    dtype = _type_of_sums(columns)
    if dtype is None or rows == 1 or image.bytes <= most:
        return False
    return 2 * (image.elements // columns) * dtype.bytes <= image.bytes


def _split(op: Op, growth: Growth) -> None:
    (x,) = op.operands
    image = growth.types[x]
    columns = image.shape[3]
    dtype = _type_of_sums(columns)
    assert image.quant is not None and dtype is not None
    made = (dtype, Quantization((image.quant.scale[0],), (0,)))
    sums = growth.add(op, "sum_pool", (x,), label="sums", made=made, kernel=(1, columns))
    growth.add(op, op.kind, (sums,), like=op.name, given=dict(op.attrs), count=columns)
    growth.end(op)


def _type_of_sums(count: int) -> DType | None:
    """Return the narrowest type that holds any sum of so many elements, if there is one."""
    return next((dtype for dtype in SUM_TYPES if dtype.range[1] >= MOST_APART * count), None)
