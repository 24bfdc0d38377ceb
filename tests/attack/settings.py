"""How attacks draw: the same examples in every run of the suite, others in every round."""

import os
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, settings

ROUND = "ACCNN_ATTACK"
"""Environment variable: the number of the round of an attack, which is its seed."""


def round_number() -> int | None:
    """Return the number of the round of an attack, ``None`` in the suite."""
    text = os.environ.get(ROUND)
    return None if text is None else int(text)


def attacked(examples: int) -> Callable[[Any], Any]:
    """Return how a test draws examples that look for something below a bound.

    Args:
        examples: How many.
    """
    return settings(
        max_examples=examples,
        deadline=None,
        derandomize=round_number() is None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
