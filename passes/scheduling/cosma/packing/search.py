"""Pack blocks exactly: by first fit, else by a compiled search over canonical packings.

In a canonical packing every block lies on another one or on the floor, and the blocks can be
placed in the order of their addresses. The search places one block at a time, each on top of
what is below it, never below the block placed last:

- Blocks at the same address are placed in the order of preference only.
- Each block has a lower bound of its address: the top below it, the address of the block placed
  last, and, where it can no longer lie on what is below it now, the lowest top that may still
  come beneath it. At every section, the blocks that must lie above an address have to fit there,
  for each such address.
- A block is not placed where another one would fit wholly beneath it.

It tries several orders of preference, and the first one for longer. Limits count nodes, so the
answer does not depend on the machine.

Deviation: COSMA finds addresses by integer programming, with an address for each tensor (eq. (9))
and, for two that share a step, which of them lies below (eq. (10)). Where every residence is
decided, this search answers more, sooner; ``program/literal.py`` has the equations.

References:
    Moffitt. MiniMalloc: A Lightweight Memory Allocator for Hardware-Accelerated Machine
    Learning. ASPLOS, 2023.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np

from ...engine.blocks import Block, by_group, listed, neighbours, pack_greedily, peak_bytes

_MOST = 500
"""Blocks up to which the search, whose calls nest as deep as there are blocks, is tried."""

_Key = Callable[[Block, int], tuple[int, ...]]


def _by_area(block: Block, peak: int) -> tuple[int, ...]:
    return -block.area, block.first - block.last, -peak


def _by_peak(block: Block, peak: int) -> tuple[int, ...]:
    return -peak, block.first - block.last, -block.area


def _by_length(block: Block, peak: int) -> tuple[int, ...]:
    return block.first - block.last, -block.area, -peak


_TURNS: tuple[tuple[_Key, int], ...] = (
    (_by_area, 8),
    (_by_peak, 8),
    (_by_length, 8),
    (_by_area, 1),
)
"""Orders of preference in turn, and which part of the nodes each may use."""


def pack(
    blocks: Sequence[Block], budget: int, *, nodes: int = 200_000
) -> tuple[tuple[int, ...] | None, bool]:
    """Return an address per block: by first fit, else by the search.

    Args:
        blocks: What to place; zero bytes are allowed.
        budget: Size of the memory [byte].
        nodes: Placements that the search tries per group of blocks in the longest turn; 200,000
            take about a second.

    Returns:
        The addresses, or ``None``; and whether the answer is proven (a packing proves itself,
        ``None`` may also mean that the limit came first).
    """
    return by_group(blocks, lambda group: _packed(tuple(group), budget, nodes))


@lru_cache(maxsize=4096)
def _packed(
    group: tuple[Block, ...], budget: int, nodes: int
) -> tuple[tuple[int, ...] | None, bool]:
    """Pack one group of blocks; plans of a network that differ have most groups in common."""
    found = pack_greedily(group, budget)
    return (found, True) if found is not None else pack_by_search(group, budget, nodes=nodes)


def pack_by_search(
    blocks: Sequence[Block], budget: int, *, nodes: int = 200_000
) -> tuple[tuple[int, ...] | None, bool]:
    """Return addresses by the search alone; arguments and result as of :func:`pack`.

    Args:
        blocks: What to place.
        budget: Size of the memory [byte].
        nodes: Placements to try.
    """
    if peak_bytes(blocks) > budget:
        return None, True
    solid = [index for index, block in enumerate(blocks) if block.bytes]
    found, proven = by_group(
        [blocks[index] for index in solid], lambda group: _pack_group(group, budget, nodes)
    )
    if found is None:
        return None, proven
    places = dict(zip(solid, found, strict=True))
    return tuple(places.get(index, 0) for index in range(len(blocks))), True


def _pack_group(
    blocks: Sequence[Block], budget: int, nodes: int
) -> tuple[tuple[int, ...] | None, bool]:
    if len(blocks) > _MOST:
        return None, False
    peaks = _peaks(blocks)
    for key, part in _TURNS:
        ranked = sorted(range(len(blocks)), key=lambda i: (*key(blocks[i], peaks[i]), i))
        found = _search([blocks[index] for index in ranked], budget, max(1, nodes // part))
        if found is None:
            continue
        if not found:
            return None, True
        places = dict(zip(ranked, found, strict=True))
        return tuple(places[index] for index in range(len(blocks))), True
    return None, False


def _peaks(blocks: Sequence[Block]) -> list[int]:
    """Return, for each block, the most bytes that are needed while it is there."""
    loads = [
        (start, sum(block.bytes for block in blocks if block.first <= start <= block.last))
        for start in sorted({block.first for block in blocks})
    ]
    return [
        max(load for start, load in loads if block.first <= start <= block.last) for block in blocks
    ]


def _sections(blocks: Sequence[Block]) -> list[int]:
    """Return a step of each maximal set of blocks that are there together."""
    starts = sorted({block.first for block in blocks})
    after = max(block.last for block in blocks) + 1
    lasts = sorted({block.last for block in blocks})
    counts = np.searchsorted(lasts, [*starts, after])
    return [
        start for start, (low, high) in zip(starts, pairwise(counts), strict=True) if high > low
    ]


def _search(blocks: Sequence[Block], budget: int, nodes: int) -> list[int] | None:
    """Return addresses, an empty list where there are none, ``None`` at the limit."""
    # Imported where it is needed: most plans never come here, and Numba is heavy.
    from .kernel import EXHAUSTED, PACKED, PackingState, solve

    count = len(blocks)
    sections = _sections(blocks)
    near, near_from = listed(neighbours(blocks))
    first = np.searchsorted(sections, [block.first for block in blocks]).astype(np.int64)
    last = np.searchsorted(sections, [block.last for block in blocks], side="right")
    state = PackingState(
        budget=np.asarray([budget], dtype=np.int64),
        sizes=np.asarray([block.bytes for block in blocks], dtype=np.int64),
        first=first,
        last=last.astype(np.int64),
        near=near,
        near_from=near_from,
        places=np.full(count, -1, dtype=np.int64),
        below=np.zeros(count, dtype=np.int64),
        lowest=np.zeros(count, dtype=np.int64),
        loads=np.zeros(len(sections), dtype=np.int64),
        trail=np.zeros(count + len(near), dtype=np.int64),
        former=np.zeros(count + len(near), dtype=np.int64),
        left=np.asarray([nodes, 0], dtype=np.int64),
    )
    answer = solve(state, np.argsort(first, kind="stable").astype(np.int64), 0, -1)
    if answer == EXHAUSTED:
        return None
    return [int(place) for place in state.places] if answer == PACKED else []
