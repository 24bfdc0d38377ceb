"""All that one MAC instruction needs of the machine."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from ...ir.arch import Architecture
from ...ir.errors import SimulationError
from ...ir.mapping import LoopNest
from .counts import Count, Side, count_accesses
from .nest import ArrayNest
from .times import drain_time, fill_time


@dataclass(frozen=True, kw_only=True)
class ArrayRun:
    """What the array does for one instruction.

    Attributes:
        steps: Cycles in which the MACs work.
        macs: Multiply-accumulates that are executed, padding included.
        useful_macs: Without padding.
        fill: Until the first tiles are in place [cycle].
        drain: After the last step, until the sums are in their home [cycle].
        counts: What passes every memory and link.
        managed: Bytes of one instance of each memory that the array's sequencers fill by
            themselves, both halves where it has two [byte].
    """

    steps: int
    macs: int
    useful_macs: int
    fill: int
    drain: int
    counts: tuple[Count, ...]
    managed: Mapping[str, int]

    @cached_property
    def busiest(self) -> Mapping[tuple[str, Side], Fraction]:
        """Bytes through the busiest instance of each memory or fan-out, by side [byte]."""
        found: dict[tuple[str, Side], Fraction] = {}
        for item in self.counts:
            key = item.place, item.side
            found[key] = found.get(key, Fraction(0)) + Fraction(item.busiest, 8)
        return found


def run_on(nest: LoopNest, arch: Architecture, *, accumulate: bool) -> ArrayRun:
    """Return what a descriptor does on a machine.

    Args:
        nest: The descriptor of one MAC instruction.
        arch: The machine, with the sizes of the NPU that executes it.
        accumulate: Whether the instruction adds to sums that are there.

    Raises:
        SimulationError: The machine cannot run it, or a memory inside of the array is too small.
    """
    on_array = ArrayNest(nest, arch)
    managed = _managed(on_array)
    return ArrayRun(
        steps=on_array.steps,
        macs=on_array.macs,
        useful_macs=nest.workload.macs,
        fill=math.ceil(fill_time(on_array, accumulate=accumulate)),
        drain=math.ceil(drain_time(on_array)),
        counts=count_accesses(on_array, accumulate=accumulate),
        managed=managed,
    )


def _managed(nest: ArrayNest) -> Mapping[str, int]:
    """Return what the memories inside of the array hold; each must be able to [byte]."""
    found: dict[str, int] = {}
    for name, tiles in nest.managed():
        level, taken = nest.arch.level(name), sum(size for _, size in tiles)
        if level.usable is not None and taken > level.usable:
            terms = ", ".join(f"{operand} {size}" for operand, size in tiles)
            halves = " (one of two halves)" if level.double_buffered else ""
            raise SimulationError(
                f"an instance of {name} would hold {taken} byte of tiles ({terms}), it has "
                f"{level.usable}{halves}"
            )
        found[name] = 2 * taken if level.double_buffered else taken
    return found
