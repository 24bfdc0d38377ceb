"""Dataflow maps of sets of operations (section 4.2): sets with equal maps count once.

Args:
    p: The problem.
    s: State of the schedule.
    ops: Numbers of operations.
    count: How many count.
"""

# The compiler infers scalars; the stubs of NumPy take some of them for arrays.
# pyright: reportArgumentType=false, reportReturnType=false, reportUnknownArgumentType=false

import numpy as np

from .arrays import AT, LEFT, SPILLED, Ints, Problem, State
from .compiled import small


@small
def _mix(value: int) -> int:
    """Return a scrambled value (the finaliser of splitmix64)."""
    x = np.uint64(value) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.int64((x ^ (x >> np.uint64(31))) >> np.uint64(1))


@small
def dataflow_map(p: Problem, s: State, ops: Ints, count: int) -> tuple[int, int, int]:
    """Return the dataflow map of a set as a number, its reused and its new bytes.

    Sets with equal maps count once (section 4.2): per kind of tile, which are new and which are on
    chip, and how many operations share each. Sizes, spilled accumulators and the last addition
    to a tile belong to the map, for they change what is moved.
    """
    total, reused, new = 0, 0, 0
    for role in range(3):
        for k in range(count):
            tile = p.reads[ops[k], role]
            if p.resident[tile]:
                continue
            sharing, is_first = 0, True
            for j in range(count):
                if p.reads[ops[j], role] == tile:
                    sharing += 1
                    if j < k:
                        is_first = False
            here = s.tile[tile, AT] >= 0
            if here or not is_first:
                reused += p.size[tile]
            else:
                new += p.size[tile]
            if is_first:
                state = (
                    4 * (s.tile[tile, SPILLED] >= 0) + 2 * here + (s.tile[tile, LEFT] == sharing)
                )
                total += _mix(((p.size[tile] * 8 + state) * 64 + sharing) * 4 + role)
    return total, reused, new
