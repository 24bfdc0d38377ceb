"""Fewer cases by default: of the values of a test's parameters, and of a test's examples."""

import os
from collections.abc import Iterator, Sequence
from itertools import product

import pytest


def thinned(*axes: Sequence[object], one_in: int = 2) -> Iterator[object]:
    """Yield all combinations of values as parameters of a test; all but some are slow tests.

    Of two of three axes, every value still meets every other one where the third has as many values
    as combinations are thinned out by.

    Args:
        axes: The values of each parameter.
        one_in: Of so many combinations, one remains a test of the default suite.
    """
    for numbers in product(*(range(len(axis)) for axis in axes)):
        values = [axis[number] for axis, number in zip(axes, numbers, strict=True)]
        marks = pytest.mark.slow if sum(numbers) % one_in else ()
        name = "-".join(getattr(value, "__name__", None) or str(value) for value in values)
        yield pytest.param(*values, marks=marks, id=name)


def examples(count: int) -> int:
    """Return how many of its examples a test takes: all where slow tests run, too, else a third.

    ``make test-all`` sets ``ACCNN_ALL_EXAMPLES``.
    """
    return count if os.environ.get("ACCNN_ALL_EXAMPLES") else -(-count // 3)
