"""What an operator moves off chip, and who tells that."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from .....ir.graph import Op


def comfortable(scratchpad: int) -> int:
    """Return the workspace below which tiles are many and small, and what is saved matters little.

    Args:
        scratchpad: Its size [byte].
    """
    return min(8192, scratchpad // 8)


@dataclass(frozen=True, kw_only=True)
class StreamedTraffic:
    """What an operator moves off chip beside whole tensors.

    Attributes:
        activations: (tensor, bytes) of the activations that pass in tiles [byte].
        constants: Of all constants together [byte].
        workspace: What the tiles need of the workspace that was offered [byte].
        cycles: How long the operator takes at least, or as measured [cycle].
        operations: Of the tiles that were scheduled to tell it; 0 where it is estimated.
    """

    activations: tuple[tuple[str, int], ...]
    constants: int
    workspace: int
    cycles: int = 0
    operations: int = field(default=0, compare=False)

    @cached_property
    def total(self) -> int:
        """All bytes [byte]."""
        return self.constants + sum(size for _, size in self.activations)


TrafficModel: TypeAlias = Callable[[Op, frozenset[str], int], StreamedTraffic | None]
"""From an operator, its resident tensors and a workspace [byte] to the traffic, or ``None``
where not even one tile fits the workspace."""

Asked: TypeAlias = tuple[Op, frozenset[str], int]
"""What a traffic model is asked: an operator, its resident tensors, a workspace [byte]."""

Ahead: TypeAlias = Callable[[Sequence[Asked]], None]
"""Tells a traffic model what it will be asked, so that it can find several answers at once."""


def at_its_time(asked: Sequence[Asked]) -> None:
    """Find no answer before it is asked for; an :data:`Ahead`.

    Args:
        asked: What will be asked.
    """
