"""The points that no other one beats in two figures at once."""

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def pareto_front(
    items: Sequence[T], first: Callable[[T], float], second: Callable[[T], float]
) -> tuple[T, ...]:
    """Return what nothing else is at least as small as in both figures, by the first one.

    Of items that are equal in both, the earliest is kept.

    Args:
        items: What is compared.
        first: The first figure.
        second: The second one.
    """
    front: list[T] = []
    for item in sorted(items, key=lambda item: (first(item), second(item))):
        if not front or second(item) < second(front[-1]):
            front.append(item)
    return tuple(front)
