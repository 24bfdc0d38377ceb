"""Linear expressions over the variables of one model."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, eq=False)
class Linear:
    """A constant plus a weighted sum of variables, each known by its index in the model.

    ``==`` compares identity; rows are written ``model.add_at_most(expression, bound)``.
    """

    terms: Mapping[int, float] = field(default_factory=dict[int, float])
    constant: float = 0.0

    def __add__(self, other: "Linear | float") -> "Linear":
        if isinstance(other, Linear):
            merged = dict(self.terms)
            for index, weight in other.terms.items():
                merged[index] = merged.get(index, 0.0) + weight
            return Linear(merged, self.constant + other.constant)
        return Linear(self.terms, self.constant + other)

    __radd__ = __add__

    def __mul__(self, factor: float) -> "Linear":
        return Linear(
            {index: weight * factor for index, weight in self.terms.items()},
            self.constant * factor,
        )

    __rmul__ = __mul__

    def __neg__(self) -> "Linear":
        return self * -1.0

    def __sub__(self, other: "Linear | float") -> "Linear":
        return self + (-other)

    def __rsub__(self, other: float) -> "Linear":
        return -self + other

    @property
    def is_constant(self) -> bool:
        """Whether no variable takes part."""
        return not any(self.terms.values())


ZERO = Linear()


def total(items: "Iterable[Linear | float]") -> Linear:
    """Return the sum of expressions, in time linear in their size."""
    merged: dict[int, float] = {}
    constant = 0.0
    for item in items:
        if isinstance(item, Linear):
            for index, weight in item.terms.items():
                merged[index] = merged.get(index, 0.0) + weight
            constant += item.constant
        else:
            constant += item
    return Linear(merged, constant)
