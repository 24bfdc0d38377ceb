"""Cut gathers whose table is too long for the scratchpad along the gathered axis.

::

    %y = gather(%t, %i) {axis = 0}   ->   %a = min(%j, 9) : s64<3>
        %t : f32<20x4>, %i : s64<3>       %b = gather(%t0, %a) {axis = 0} : f32<3x4>
                                          %c = sub(%j, 10) : s64<3>
                                          %d = max(%c, 0) : s64<3>
                                          %e = gather(%t1, %d) {axis = 0} : f32<3x4>
                                          %f = less(%c, 0) : bool<3>
                                          %g = reshape(%f) {shape = [3, 1]} : bool<3x1>
                                          %y = where(%g, %b, %e) : f32<3x4>

A gather holds all of the indexed axis, for one position of the other axes at least. What lies in
the scratchpad while an operator works on tiles leaves half of it for these, and each NPU holds
two. Each part of the table is read once, as the whole table was; a constant is cut here.
Indices below zero count from the end of the table: ``%j`` are those from its front. An index beyond
the end is beyond that of the last part, too.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...ir.arch import Architecture
from ...ir.graph import Op
from ...ir.module import Module, Stage
from ...ir.operators.families.gathers import gathered_axis
from ...ir.operators.spec import Family
from ...ir.ops import spec_of
from ...ir.resources import Constants, numpy_dtype
from ...ir.types import TensorType
from ..base import Context, Pass, require_arch
from .growth import Growth


@dataclass(frozen=True)
class SplitGathers(Pass):
    """Let a gather pick from parts of its table that fit the scratchpad."""

    name: ClassVar[str] = "split-gathers"
    needs: ClassVar[frozenset[Stage]] = frozenset({Stage.ARCH})
    gives: ClassVar[frozenset[Stage]] = frozenset({Stage.GRAPH})

    def run(self, module: Module, ctx: Context) -> Module:
        """Return the module with gathers whose tiles fit."""
        graph, most = module.graph, _tile_bytes(require_arch(module))
        parts = {op.name: _parts(op, graph.types, most) for op in graph.ops}
        counts = {name: count for name, count in parts.items() if count > 1}
        if not counts:
            return module
        ctx.counters.add("gathers split", len(counts))
        return Growth.splitting(
            module,
            counts,
            lambda growth, op: _Split(growth, op, module.constants).into(counts[op.name]),
        )


def _tile_bytes(arch: Architecture) -> int:
    """Return the bytes that the tiles of one operation may take, whatever lies beside them."""
    return (arch.scratchpad_level.capacity or 0) // (4 * len(arch.npus))


def _parts(op: Op, types: Mapping[str, TensorType], most: int) -> int:
    """Return into how many parts a table is cut; one where it fits, or where cutting is no help."""
    if spec_of(op).family is not Family.GATHER:
        return 1
    table, index = (types[name] for name in op.operands)
    view, axis = gathered_axis(op, (table, index))
    rows = (most - index.dtype.bytes - table.dtype.bytes) // table.dtype.bytes
    return 1 if rows < 1 else -(-view.shape[axis] // rows)


@dataclass(frozen=True)
class _Split:
    """How a gather is split into operators of a growing graph.

    Attributes:
        growth: Where they are added.
        op: The gather.
        constants: Data of the graph's constants.
    """

    growth: Growth
    op: Op
    constants: Constants

    def into(self, count: int) -> None:
        """Add gathers from parts of the table; the last operator has the gather's name."""
        table, index = self.op.operands
        axis = self.op.int("axis")
        extent = self.growth.types[table].shape[axis]
        index, total = self._from_the_front(index, extent), ""
        for start, stop in _ranges(extent, count):
            at = self._pair("sub", index, start) if start else index
            inside = self._pair("max", at, 0) if start else at
            if stop < extent:
                inside = self._pair("min", inside, stop - start - 1)
            part = self._part(table, axis, start, stop)
            found = self.growth.add(self.op, self.op.kind, (part, inside), axis=axis)
            total = self._chosen(at, total, found, axis) if total else found
        self.growth.end(self.op)

    def _from_the_front(self, index: str, extent: int) -> str:
        """Return indices none of which counts from the end."""
        is_negative = self._pair("less", index, 0)
        counted = self._pair("add", index, extent)
        return self.growth.add(self.op, "where", (is_negative, counted, index), like=index)

    def _pair(self, kind: str, value: str, number: int) -> str:
        """Add a function of a tensor of integers and a number."""
        dtype = numpy_dtype(self.growth.types[value].dtype)
        constant = self.growth.constant(f"{self.op.name}.{kind}.number", np.array(number, dtype))
        return self.growth.add(self.op, kind, (value, constant))

    def _chosen(self, at: str, before: str, found: str, axis: int) -> str:
        """Add the choice of what parts before hold for indices below this part."""
        is_before = self._pair("less", at, 0)
        if self.op.kind == "gather":
            shape = self.growth.types[at].shape
            after = len(self.growth.types[self.op.operands[0]].shape) - axis - 1
            is_before = self.growth.add(
                self.op, "reshape", (is_before,), shape=(*shape, *(1,) * after)
            )
        return self.growth.add(self.op, "where", (is_before, before, found), like=found)

    def _part(self, table: str, axis: int, start: int, stop: int) -> str:
        """Return the slices of the table from one index to another."""
        found = self.growth.types[table]
        if table in self.constants:
            cut = (slice(None),) * axis + (slice(start, stop),)
            array = np.ascontiguousarray(self.constants[table][cut])
            return self.growth.constant(f"{table}.{start}", array, found.quant)
        starts, shape = [0] * len(found.shape), list(found.shape)
        starts[axis], shape[axis] = start, stop - start
        steps = (1,) * len(shape)
        return self.growth.add(
            self.op, "slice", (table,), starts=tuple(starts), steps=steps, shape=tuple(shape)
        )


def _ranges(extent: int, count: int) -> Iterator[tuple[int, int]]:
    """Yield the ends of parts of an axis that are as equal as can be."""
    for number in range(count):
        yield extent * number // count, extent * (number + 1) // count
