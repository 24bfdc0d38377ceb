"""Exponentials in a linear program, bounded from below by tangents."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ...mip.linear import Linear
from ...mip.model import MipModel, MipResult

_LARGEST = 3.0
_BLUNT = 2e-4


@dataclass(frozen=True, slots=True, kw_only=True)
class Tangents:
    """Where exponentials are bounded by tangents; more are closer, and slower.

    Attributes:
        shares: For parts of a whole that is full at zero.
        small: For parts of the latency and the energy.
    """

    shares: tuple[float, ...]
    small: tuple[float, ...]


TANGENTS = Tangents(
    shares=(
        *(0.0, -0.06, -0.14, -0.25, -0.4, -0.6, -0.85),
        *(-1.15, -1.5, -1.9, -2.4, -3.1, -4.2, -6.0),
    ),
    small=(1.0, 0.5, 0.0, -0.5, -1.0, -1.5, -2.0, -2.5, -3.0, -3.5, -4.2, -5.0, -6.0, -8.0),
)


class Exponentials:
    """The exponentials of one model.

    Args:
        model: The model to add to.
    """

    def __init__(self, model: MipModel) -> None:
        self.model = model
        self._pairs: list[tuple[Linear, Linear]] = []

    def of(self, log: Linear, points: Sequence[float]) -> Linear:
        """Return a variable that tangents keep above ``exp(log)`` at the given points."""
        if log.is_constant:
            return Linear({}, math.exp(log.constant))
        size = self.model.continuous()
        exponent = self.model.continuous(-math.inf)
        self.model.add_equal(exponent, log)
        for point in points:
            self._add_tangent(size, exponent, point)
        self._pairs.append((size, exponent))
        return size

    def sharpen(self, result: MipResult) -> bool:
        """Add tangents where a solution makes exponentials too small; return whether there are."""
        found = False
        for size, exponent in self._pairs:
            at = min(result.value(exponent), _LARGEST)
            if math.exp(at) - result.value(size) > _BLUNT:
                self._add_tangent(size, exponent, at)
                found = True
        return found

    def _add_tangent(self, size: Linear, exponent: Linear, point: float) -> None:
        slope = math.exp(point)
        self.model.add_at_least(size, slope * exponent + slope * (1.0 - point))
