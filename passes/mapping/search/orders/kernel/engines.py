"""Evaluation of one order, and the two engines: simulated annealing with descent, and all orders.

All three are one compiled function: whatever is compiled contains the machine code of all that it
calls, and an evaluation takes seconds to compile.

References:
    Jung, Symons, Mei, Verhelst, Benini: SALSA: Simulated Annealing based Loop-Ordering Scheduler
    for DNN Accelerators. AICAS 2023. Eq. (2) is :func:`_unlike`, eq. (3) :func:`anneal`.
"""

# pyright: reportArgumentType=false, reportReturnType=false, reportUnknownArgumentType=false

from typing import NamedTuple

import numpy as np

from ......ir.compiled import entry, inner, small
from .records import MOST_DEPTH, Floats, Ints, Loops, MachineRecord, OrderRecord, Tiles
from .value import value_of

_ONE, _ANNEALED, _ALL = range(3)


class Annealing(NamedTuple):
    """How far annealing searches.

    Attributes:
        draws: Uniform random numbers in [0, 1) ``[iterations, 3]``.
        temperature: First temperature.
        decay: Factor on the temperature after each iteration.
        visited: Filled with the value of each order looked at ``[iterations]``.
    """

    draws: Floats
    temperature: float
    decay: float
    visited: Floats


def evaluate(
    m: MachineRecord, loops: Loops, order: Ints, rows: Tiles, candidates: Tiles, s: OrderRecord
) -> tuple[float, Ints]:
    """Allocate one order.

    Args:
        m: The machine.
        loops: The distinct loops.
        order: Indices of these, outermost first ``[n]``.
        rows: Tiles that are kept from order to order.
        candidates: Takes the tiles of the order.
        s: Takes what is worked out.

    Returns:
        The value of the objective, infinite if nothing fits, and the start of each tile
        ``[3, c]``, outermost memory last.
    """
    value, _ = _engine(_ONE, m, loops, order, _NO_ANNEALING, rows, candidates, s)
    starts = np.zeros((3, MOST_DEPTH), np.int64)
    for x in range(3):
        inner_memories = m.chain[x] - 1
        starts[x, :inner_memories] = s.starts[x, s.best[x, :inner_memories]]
    return value, starts


def anneal(
    m: MachineRecord,
    loops: Loops,
    order: Ints,
    annealing: Annealing,
    rows: Tiles,
    candidates: Tiles,
    s: OrderRecord,
) -> tuple[float, int]:
    """Search orders by simulated annealing, then by descent from the best one.

    Eq. (2) and (3) of the paper; ``V`` is taken relative to the value of the current order, so
    that a temperature means the same for every objective and workload.

    Args:
        m: The machine.
        loops: The distinct loops.
        order: First order, as indices of ``loops``, outermost first ``[n]``; becomes the best.
        annealing: How far, and how fast it cools down.
        rows: Tiles that are kept from order to order.
        candidates: Takes the tiles of an order.
        s: Takes what is worked out.

    Returns:
        The least value and the number of evaluations.
    """
    return _engine(_ANNEALED, m, loops, order, annealing, rows, candidates, s)


def exhaust(
    m: MachineRecord, loops: Loops, order: Ints, rows: Tiles, candidates: Tiles, s: OrderRecord
) -> tuple[float, int]:
    """Evaluate every distinct order; ``order``, given sorted, becomes the best one.

    Args:
        m: The machine.
        loops: The loops.
        order: As indices of ``loops``, outermost first.
        rows: Figures of tiles that are known.
        candidates: Takes the tiles of an order.
        s: Takes what is worked out.

    Returns:
        The least value and the number of evaluations.
    """
    return _engine(_ALL, m, loops, order, _NO_ANNEALING, rows, candidates, s)


_NO_ANNEALING = Annealing(np.zeros((0, 3)), 0.0, 0.0, np.zeros(0))


@entry
def _engine(
    which: int,
    m: MachineRecord,
    loops: Loops,
    order: Ints,
    annealing: Annealing,
    rows: Tiles,
    candidates: Tiles,
    s: OrderRecord,
) -> tuple[float, int]:
    """Evaluate one order, or search from it; see the functions above."""
    if which == _ONE:
        return value_of(m, loops, order, rows, candidates, s), 1
    if which == _ALL:
        return _exhaust(m, loops, order, rows, candidates, s)
    best, evaluations = _anneal(m, loops, order, annealing, rows, candidates, s)
    best, more = _descend(m, loops, order, best, rows, candidates, s)
    return best, evaluations + more


@small
def _anneal(
    m: MachineRecord,
    loops: Loops,
    order: Ints,
    annealing: Annealing,
    rows: Tiles,
    candidates: Tiles,
    s: OrderRecord,
) -> tuple[float, int]:
    """Search by exchanges of loops, worse ones less and less; ``order`` becomes the best one."""
    n = len(order)
    draws, temperature = annealing.draws, annealing.temperature
    current = order.copy()
    value = value_of(m, loops, current, rows, candidates, s)
    best = value
    evaluations = 1
    for step in range(len(draws)):
        i = int(draws[step, 0] * n)
        j = _unlike(current, i, draws[step, 1])
        if j < 0:
            break
        current[i], current[j] = current[j], current[i]
        trial = value_of(m, loops, current, rows, candidates, s)
        evaluations += 1
        annealing.visited[step] = trial
        if trial <= value or draws[step, 2] < np.exp(
            (value - trial) / max(value * temperature, 1e-300)
        ):
            value = trial
            if value < best:
                best = value
                _copy(current, order)
        else:
            current[i], current[j] = current[j], current[i]
        temperature *= annealing.decay
    return best, evaluations


@inner
def _copy(source: Ints, target: Ints) -> None:
    """Copy element by element: a slice takes Numba seconds to compile."""
    for i in range(len(source)):
        target[i] = source[i]


@inner
def _unlike(order: Ints, i: int, draw: float) -> int:
    """Return the position of a loop that differs from loop ``i``, -1 if all are alike."""
    others = 0
    for j in range(len(order)):
        others += order[j] != order[i]
    wanted = int(draw * others)
    for j in range(len(order)):
        if order[j] != order[i]:
            if wanted == 0:
                return j
            wanted -= 1
    return -1


@small
def _descend(
    m: MachineRecord,
    loops: Loops,
    order: Ints,
    best: float,
    rows: Tiles,
    candidates: Tiles,
    s: OrderRecord,
) -> tuple[float, int]:
    """Make every exchange that improves until none does."""
    evaluations = 0
    improved = True
    while improved:
        improved = False
        for i in range(len(order)):
            for j in range(i + 1, len(order)):
                if order[i] == order[j]:
                    continue
                order[i], order[j] = order[j], order[i]
                trial = value_of(m, loops, order, rows, candidates, s)
                evaluations += 1
                if trial < best:
                    best = trial
                    improved = True
                else:
                    order[i], order[j] = order[j], order[i]
    return best, evaluations


@small
def _exhaust(
    m: MachineRecord, loops: Loops, order: Ints, rows: Tiles, candidates: Tiles, s: OrderRecord
) -> tuple[float, int]:
    """Evaluate every distinct order; ``order``, given sorted, becomes the best one."""
    current = order.copy()
    best = np.inf
    evaluations = 0
    more = True
    while more:
        value = value_of(m, loops, current, rows, candidates, s)
        evaluations += 1
        if value < best:
            best = value
            _copy(current, order)
        more = _next(current)
    return best, evaluations


@inner
def _next(order: Ints) -> bool:
    """Step to the next distinct order in lexicographic sequence; false after the last."""
    i = len(order) - 2
    while i >= 0 and order[i] >= order[i + 1]:
        i -= 1
    if i < 0:
        return False
    j = len(order) - 1
    while order[j] <= order[i]:
        j -= 1
    order[i], order[j] = order[j], order[i]
    low, high = i + 1, len(order) - 1
    while low < high:
        order[low], order[high] = order[high], order[low]
        low += 1
        high -= 1
    return True
