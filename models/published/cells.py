"""Cells of searched networks: pairs of functions whose results are added."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

_Value = TypeVar("_Value")

Apply = Callable[[_Value, str, str, int], _Value]
"""Applies a function to a state: the state, the part's name, the function's name, the stride."""

Add = Callable[[_Value, _Value, str], _Value]
"""Adds two values; the last argument is the sum's name."""

Pair = tuple[tuple[int, str], tuple[int, str]]
"""The state that is read and the function that is applied to it, twice; the results are added."""


@dataclass(frozen=True, slots=True)
class SearchedCell:
    """A cell.

    Attributes:
        pairs: What makes each state from those before; states 0 and 1 are the cell's inputs.
        joined: States that are concatenated.
        is_reduction: Whether what reads an input has stride 2.
    """

    pairs: tuple[Pair, ...]
    joined: tuple[int, ...]
    is_reduction: bool = False

    def grow(
        self, inputs: Sequence[_Value], apply: Apply[_Value], add: Add[_Value]
    ) -> list[_Value]:
        """Return the states that are concatenated.

        Args:
            inputs: States 0 and 1.
            apply: Applies the functions; parts are called ``2l``, ``2r``, ``3l`` and so on.
            add: Adds their results; sums are called ``add2``, ``add3`` and so on.
        """
        states = list(inputs)
        for pair in self.pairs:
            number = len(states)
            left, right = (
                apply(states[source], f"{number}{side}", function, self._stride(source))
                for side, (source, function) in zip("lr", pair, strict=True)
            )
            states.append(add(left, right, f"add{number}"))
        return [states[index] for index in self.joined]

    def _stride(self, source: int) -> int:
        return 2 if self.is_reduction and source < 2 else 1


@dataclass(frozen=True, slots=True)
class CellPair:
    """The two cells that a network repeats.

    Attributes:
        normal: Keeps the image.
        reduction: Halves it.
    """

    normal: SearchedCell
    reduction: SearchedCell
