"""How long single tiles take to cross boundaries, nest by nest; see ``latency``."""

# pyright: reportArgumentType=false, reportReturnType=false, reportUnknownArgumentType=false

from typing import NamedTuple

import numpy as np

from .....ir.compiled import entry, inner
from .moving import Floats, Ints


class Passages(NamedTuple):
    """Flows through bounded ports.

    Attributes:
        bits: Of an element for each unrolling ``[passages, U]``.
        boundary: Where each crosses ``[passages]``.
        widths: What passes its port in a cycle [bit/cycle] ``[passages]``.
        crossing: Number of the crossing that each belongs to, none left out ``[passages]``.
    """

    bits: Ints
    boundary: Ints
    widths: Floats
    crossing: Ints


class Sendings(NamedTuple):
    """What is sent inwards before the first step, in order, and outwards after the last one.

    Attributes:
        memory: Number of the memory that sends.
        operand: Whose tile it sends.
        crossing: Number of the crossing; -1 takes no time.
        drains: Numbers of the crossings on the way out; -1 takes no time.
    """

    memory: Ints
    operand: Ints
    crossing: Ints
    drains: Ints


@entry
def fill_crossings(which: Ints, passages: Passages, elements: Ints, found: Floats) -> None:
    """Fill in how long tiles take to cross.

    Args:
        which: Which of the unrollings each nest has ``[B]``.
        passages: Where they pass.
        elements: Of a tile at each boundary ``[J, B]``.
        found: Filled in ``[B, crossings]`` [cycle].
    """
    for b in range(len(which)):
        _cross(which, passages, elements, b, found[b])


@entry
def fill_ends(
    which: Ints, passages: Passages, sendings: Sendings, elements: Ints, found: Floats
) -> None:
    """Fill in how long the first tiles take on their way in, and the last ones on their way out.

    Args:
        which: Which of the unrollings each nest has ``[B]``.
        passages: Where they pass.
        sendings: Who sends what.
        elements: Of a tile at each boundary ``[J, B]``.
        found: Filled in ``[2, B]`` [cycle].
    """
    # The last one is never crossed: it takes no time.
    times, ready = np.zeros(len(passages.crossing) + 1), np.zeros(3)
    for b in range(len(which)):
        _cross(which, passages, elements, b, times)
        found[0, b] = _filled(sendings, times, ready)
        found[1, b] = 0.0
        for crossing in sendings.drains:
            found[1, b] += times[crossing]


@inner
def _cross(which: Ints, passages: Passages, elements: Ints, b: int, times: Floats) -> None:
    """Fill in how long each crossing takes: as long as the slowest port."""
    for crossing in passages.crossing:
        times[crossing] = 0.0
    for at in range(len(passages.crossing)):
        size = passages.bits[at, which[b]] * elements[passages.boundary[at], b]
        crossing = passages.crossing[at]
        times[crossing] = max(times[crossing], size / passages.widths[at])


@inner
def _filled(sendings: Sendings, times: Floats, ready: Floats) -> float:
    """Return when the first tiles have arrived everywhere."""
    for operand in range(3):
        ready[operand] = 0.0
    sent, memory = 0.0, -1
    for at in range(len(sendings.memory)):
        if sendings.memory[at] != memory:
            sent, memory = 0.0, sendings.memory[at]
        operand = sendings.operand[at]
        sent = max(sent, ready[operand]) + times[sendings.crossing[at]]
        ready[operand] = sent
    return max(ready[0], ready[1], ready[2])
