"""Laws ``value = scale x capacity ^ growth x bits ^ widening``, fitted to published memories.

The fit is by least squares of logarithms, so that relative residuals count. Areas of other nodes
are brought to one by the square of the node, as those of the table are
(:data:`~.published.NODES`); energies are used as ratios only, so that their node cancels out.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from .published import MEMORIES, MEMORY_NM, REFERENCE_NM, REGISTER_UM2

SMALLEST = min(item.capacity for item in MEMORIES)
"""Size of the smallest memory that was fitted [byte]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryLaw:
    """``scale x capacity ^ growth x bits ^ widening``.

    Attributes:
        scale: Value at one byte and accesses of one bit.
        growth: Exponent of the capacity.
        widening: Exponent of the width of accesses.
    """

    scale: float
    growth: float
    widening: float

    def __call__(self, capacity: float, word_bits: float) -> float:
        """Return the value at a capacity [byte] and a width of accesses [bit]."""
        return self.scale * capacity**self.growth * word_bits**self.widening


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryLaws:
    """What memories cost at 65 nm.

    Attributes:
        read_pj: Energy of one read [pJ].
        write_pj: Energy of one write [pJ].
        area_um2: Area [um2].
    """

    read_pj: MemoryLaw
    write_pj: MemoryLaw
    area_um2: MemoryLaw


def fit(points: Sequence[tuple[float, float, float]]) -> MemoryLaw:
    """Return the law closest to triples of capacity, width of accesses and value.

    At least two capacities and two widths differ.
    """
    sizes, widths, values = (_deviations(column) for column in zip(*points, strict=True))
    size_size, size_width, width_width = (
        _product(sizes, sizes),
        _product(sizes, widths),
        _product(widths, widths),
    )
    size_value, width_value = _product(sizes, values), _product(widths, values)
    scale = size_size * width_width - size_width**2
    growth = (size_value * width_width - width_value * size_width) / scale
    widening = (width_value * size_size - size_value * size_width) / scale
    constants = [
        math.log(value) - growth * math.log(size) - widening * math.log(width)
        for size, width, value in points
    ]
    middle = math.fsum(constants) / len(constants)
    return MemoryLaw(scale=math.exp(middle), growth=growth, widening=widening)


def _product(first: Sequence[float], second: Sequence[float]) -> float:
    return math.fsum(a * b for a, b in zip(first, second, strict=True))


def _deviations(values: Sequence[float]) -> list[float]:
    """Return how far the logarithms of values are from their mean."""
    logs = [math.log(value) for value in values]
    mean = math.fsum(logs) / len(logs)
    return [item - mean for item in logs]


@cache
def memory_laws() -> MemoryLaws:
    """Return the laws of the published memories."""
    return MemoryLaws(
        read_pj=fit([(item.capacity, item.word_bits, item.read_pj) for item in MEMORIES]),
        write_pj=fit([(item.capacity, item.word_bits, item.write_pj) for item in MEMORIES]),
        area_um2=fit([(item.capacity, item.word_bits, item.area_um2) for item in MEMORIES]),
    )


def memory_um2(capacity: int, word_bits: int) -> float:
    """Return the area of a memory at 45 nm [um2].

    Below the smallest one that was fitted it is an array of that size, or registers where these
    are smaller.

    Args:
        capacity: Size [byte].
        word_bits: Width of one access [bit].
    """
    array = memory_laws().area_um2(max(capacity, SMALLEST), word_bits)
    array *= (REFERENCE_NM / MEMORY_NM) ** 2
    return array if capacity >= SMALLEST else min(array, 8 * capacity * REGISTER_UM2)


def energy_ratio(law: MemoryLaw, capacity: int, before: int) -> float:
    """Return how many times as much an access costs as in a memory of another size.

    The width of accesses is that of both. Memories below the smallest one that was fitted cost as
    much as that one.

    Args:
        law: Of reads or of writes.
        capacity: Size [byte].
        before: The other size [byte].
    """
    return (max(capacity, SMALLEST) / max(before, SMALLEST)) ** law.growth
