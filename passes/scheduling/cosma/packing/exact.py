"""Pack blocks exactly: by search, by integer programming where few stay open, by a long search.

Variables: ``L`` address of each block; for two blocks that share a step, which lies below
(eqs. (9) and (10) of COSMA with every residence decided).
"""

import math
from collections.abc import Sequence
from functools import lru_cache, reduce

from ....mip import MipLimits, MipModel, MipStatus, Solver
from ...engine.blocks import Block, by_group, neighbours, pack_greedily, peak_bytes
from .deep import pack_deeply
from .search import pack_by_search

_FEW = 40
"""Blocks of a group up to which the integer program is worth trying."""


def pack(
    blocks: Sequence[Block],
    budget: int,
    *,
    nodes: int = 5000,
    deep: int = 200_000,
    solver: Solver = Solver.HIGHS,
) -> tuple[tuple[int, ...] | None, bool]:
    """Return an address per block: by first fit, else by search, else by integer programming.

    What is still open then goes to the compiled search, ``pack_deeply``.

    Args:
        blocks: What to place.
        budget: Size of the memory [byte].
        nodes: Nodes of the search, and of branch and bound, per group of blocks.
        deep: Nodes of the compiled search; 0 leaves it out.
        solver: Who solves the integer program.

    Returns:
        The addresses, or ``None``; and whether the answer is proven (a packing proves itself,
        ``None`` may also mean that the limit came first).
    """
    return by_group(
        blocks, lambda group: _packed(tuple(group), budget, nodes=nodes, deep=deep, solver=solver)
    )


@lru_cache(maxsize=4096)
def _packed(
    group: tuple[Block, ...], budget: int, *, nodes: int, deep: int, solver: Solver
) -> tuple[tuple[int, ...] | None, bool]:
    """Pack one group of blocks; plans of a network that differ have most groups in common."""
    found, proven = pack_greedily(group, budget), False
    if found is None:
        found, proven = pack_by_search(group, budget, nodes=nodes)
    if found is None and not proven and len(group) <= _FEW:
        found, proven = pack_exactly(group, budget, nodes=nodes, solver=solver)
    if found is None and not proven and deep:
        found, proven = pack_deeply(group, budget, nodes=deep)
    return found, proven


def pack_exactly(
    blocks: Sequence[Block], budget: int, *, nodes: int = 2000, solver: Solver = Solver.HIGHS
) -> tuple[tuple[int, ...] | None, bool]:
    """Return addresses by integer programming alone; arguments and result as of ``pack``.

    Args:
        blocks: What is placed.
        budget: Bytes that there are.
        nodes: Branch-and-bound nodes.
        solver: Which solver.
    """
    if peak_bytes(blocks) > budget:
        return None, True
    unit = max(1, reduce(math.gcd, (block.bytes for block in blocks), 0))
    room = budget // unit
    sizes = [block.bytes // unit for block in blocks]
    model = MipModel("packing", solver)
    places = [model.continuous(0, room - size) for size in sizes]
    for first, others in enumerate(neighbours(blocks)):
        for second in others:
            if second < first or not sizes[first] or not sizes[second]:
                continue
            below = model.binary()
            slack = room * (1 - below)
            model.add_at_most(places[first] + sizes[first] - places[second], slack)
            model.add_at_most(places[second] + sizes[second] - places[first], room * below)
    result = model.solve(MipLimits(nodes=nodes))
    if not result.values:
        return None, result.status is MipStatus.INFEASIBLE
    order = sorted(range(len(blocks)), key=lambda index: result.value(places[index]))
    return settled(blocks, order), True


def settled(blocks: Sequence[Block], order: Sequence[int]) -> tuple[int, ...]:
    """Let every block fall to the lowest address that its order from below allows.

    This frees the addresses from the solver's tolerance.

    Args:
        blocks: What is placed.
        order: Of the blocks, those that lie lower first.

    Returns:
        An address for each block [byte].
    """
    near = neighbours(blocks)
    places = [-1] * len(blocks)
    for index in order:
        below = [places[other] + blocks[other].bytes for other in near[index] if places[other] >= 0]
        places[index] = max(below, default=0)
    return tuple(places)
