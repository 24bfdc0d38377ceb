"""Look up at once what several operators compute of the same bytes.

::

    %s = lookup(%x, %sigmoid)          ->     %y = lookup(%x, %table)
    %y = mul(%x, %s)

A lookup is a function of one byte. So is the quantised sum or product of two such functions of the
same tensor, and a lookup of one. All 256 results are computed here, by the definitions that the
machine computes by, so that nothing changes by a bit. Operators that nobody reads any more go.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from ...ir.graph import Graph, Op
from ...ir.module import Module, Stage
from ...ir.operators.checks import BYTE_TYPES
from ...ir.operators.elementary import all_bytes
from ...ir.operators.pairs import all_pairs
from ...ir.operators.spec import Family
from ...ir.ops import make_op, spec_of
from ...ir.resources import Array, numpy_dtype
from ...ir.types import TensorType
from ..base import Context, Pass
from .growth import Growth
from .substitute import rewritten


class _Function(NamedTuple):
    """A function of the bytes of a tensor: its 256 results, in the order of the bytes' patterns."""

    source: str
    table: Array


@dataclass(frozen=True)
class FuseTables(Pass):
    """Make one table of lookups, sums and products of the same 8-bit tensor."""

    name: ClassVar[str] = "fuse-tables"
    gives: ClassVar[frozenset[Stage]] = frozenset({Stage.GRAPH})

    def run(self, module: Module, ctx: Context) -> Module:
        """Return the module with fewer operators; results keep their names."""
        growth = Growth.of(module.graph)
        functions: dict[str, _Function] = {}
        for op in module.graph.ops:
            found = _function_of(module, op, functions)
            if found is None or _is_at_once(op, found):
                growth.ops.append(op)
            else:
                table = growth.constant(f"{op.name}.table", found.table)
                growth.ops.append(_lookup(op, (found.source, table), growth.types))
            if found is not None:
                functions[op.name] = found
        if not growth.constants:
            return module
        ctx.counters.add("operators fused", len(growth.constants))
        grown = growth.module(module)
        return rewritten(module, grown.graph, grown.constants)


def _is_at_once(op: Op, function: _Function) -> bool:
    """Whether an operator looks the bytes of a function up itself."""
    return spec_of(op).family is Family.LOOKUP and op.operands[0] == function.source


def _lookup(op: Op, operands: tuple[str, str], types: Mapping[str, TensorType]) -> Op:
    """Return the lookup that makes the result of an operator."""
    result = op.result.type
    return make_op(
        "lookup", operands, types, op.name, dtype=result.dtype, quant=result.quant, loc=op.loc
    )


def _function_of(module: Module, op: Op, known: Mapping[str, _Function]) -> _Function | None:
    """Return an operator's result as a function of the bytes of one tensor, if it is one.

    What lies between has no other reader: it would be made all the same.

    Args:
        module: The network.
        op: The operator.
        known: Those of the operators before.
    """
    graph, family = module.graph, spec_of(op).family
    if family is Family.LOOKUP and op.operands[1] in module.constants:
        before = _of(graph, op.operands[0], known)
        table = np.asarray(module.constants[op.operands[1]])
        return _Function(before.source, table[before.table.view(np.uint8)])
    if family is Family.PAIR and _is_of_bytes(graph, op):
        a, b = (_of(graph, name, known) for name in op.operands)
        if a.source == b.source:
            types = [graph.types[name] for name in op.operands]
            pairs = all_pairs(op, types, a.table.dtype)
            return _Function(a.source, pairs[a.table.view(np.uint8), b.table.view(np.uint8)])
    return None


def _of(graph: Graph, name: str, known: Mapping[str, _Function]) -> _Function:
    """Return the function that makes a tensor of bytes for its only reader, or that of itself."""
    found = known.get(name)
    if found is None or graph.use_count[name] > 1:
        return _Function(name, all_bytes(numpy_dtype(graph.types[name].dtype)))
    return found


def _is_of_bytes(graph: Graph, op: Op) -> bool:
    """Whether operands and result are bytes with one scale each, of one shape and type."""
    types = [graph.types[name] for name in (*op.operands, op.name)]
    is_alike = len({(type.shape, type.dtype) for type in types}) == 1
    return is_alike and all(type.dtype in BYTE_TYPES and _has_one_scale(type) for type in types)


def _has_one_scale(type: TensorType) -> bool:
    return type.quant is not None and type.quant.axis is None
