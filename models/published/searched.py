"""Cells that searches found: AmoebaNet-D's and DARTS's.

References:
    Real, Aggarwal, Huang, Le: Regularized Evolution for Image Classifier Architecture Search.
    AAAI 2019; the normal cell concatenates as in the TensorFlow original.
    Liu, Simonyan, Yang: DARTS: Differentiable Architecture Search. ICLR 2019, figures 4 and 5
    (second order).
"""

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


AMOEBANET_D = CellPair(
    normal=SearchedCell(
        (
            ((1, "conv1x1"), (1, "max3")),
            ((1, "none"), (0, "conv1x7")),
            ((0, "conv1x1"), (0, "conv1x7")),
            ((2, "max3"), (2, "none")),
            ((1, "avg3"), (5, "conv1x1")),
        ),
        (0, 3, 4, 6),
    ),
    reduction=SearchedCell(
        (
            ((0, "max2"), (0, "max3")),
            ((2, "none"), (1, "conv3x3")),
            ((2, "conv1x7"), (2, "max3")),
            ((3, "none"), (1, "max2")),
            ((2, "avg3"), (3, "conv1x1")),
        ),
        (4, 5, 6),
        is_reduction=True,
    ),
)
"""AmoebaNet-D's."""

DARTS = CellPair(
    normal=SearchedCell(
        (
            ((0, "sep3"), (1, "sep3")),
            ((0, "sep3"), (1, "sep3")),
            ((1, "sep3"), (0, "skip")),
            ((0, "skip"), (2, "dil3")),
        ),
        (2, 3, 4, 5),
    ),
    reduction=SearchedCell(
        (
            ((0, "max3"), (1, "max3")),
            ((2, "skip"), (1, "max3")),
            ((0, "max3"), (2, "skip")),
            ((2, "skip"), (1, "max3")),
        ),
        (2, 3, 4, 5),
        is_reduction=True,
    ),
)
"""DARTS's."""

DARTS_LAYERS = 14
DARTS_REDUCTIONS = (DARTS_LAYERS // 3, 2 * DARTS_LAYERS // 3)
"""Which of DARTS's cells halve the image."""
