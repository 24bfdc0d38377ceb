"""Sizes, visits and bits of tiles, nest by nest.

Loops of a nest stand outermost first. A *start* is the loop from which on a tile extends inwards:
0 for the whole workload, ``L`` for one step of the array. Dimensions are numbered as in ``DIMS``.
"""

# pyright: reportArgumentType=false, reportReturnType=false, reportUnknownArgumentType=false

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .....ir.compiled import entry, inner

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

_R, _S, _P, _Q, _C, _, _N, _G = range(8)


class TemporalLoops(NamedTuple):
    """The temporal loops of ``B`` nests.

    Attributes:
        dims: Dimension of each ``[B, L]``.
        extents: Extent of each ``[B, L]``.
        which: Which of ``U`` unrollings a nest has ``[B]``.
    """

    dims: Ints
    extents: Ints
    which: Ints


class Shapes(NamedTuple):
    """How the elements of ``J`` tiles follow from their extents.

    Attributes:
        relevant: The dimensions that change the operand ``[J, 8]``.
        has_halo: Whether the tile is that of windows ``[J]``.
        rows: Steps from window to window and from tap to tap, in units of what both have in common.
        columns: The same of columns.
    """

    relevant: Bools
    has_halo: Bools
    rows: tuple[int, int]
    columns: tuple[int, int]


class Boundaries(NamedTuple):
    """What is counted at ``J`` boundaries.

    Attributes:
        tiles: How many different tiles there are ``[J, B]``.
        elements: Of a tile ``[J, B]``.
        visits: How often one comes ``[J, B]``.
    """

    tiles: Ints
    elements: Ints
    visits: Ints


class Flows(NamedTuple):
    """What flows ``F`` carry: ``elements x (visits x a + tiles x b)`` bits.

    Attributes:
        visit: ``a`` for each unrolling ``[F, U]``.
        tile: ``b`` for each unrolling ``[F, U]``.
        boundary: Where each crosses ``[F]``.
        group: To what each is added ``[F]``; -1: to nothing.
    """

    visit: Ints
    tile: Ints
    boundary: Ints
    group: Ints


@entry
def fill_boundaries(
    loops: TemporalLoops,
    shapes: Shapes,
    at_macs: Bools,
    starts: Ints,
    unrolled: Ints,
    found: Boundaries,
) -> None:
    """Fill in what is counted at boundaries.

    Args:
        loops: The nests.
        shapes: Of the tiles.
        at_macs: Whether a boundary is that of the array, which takes an element in each step
            ``[J]``.
        starts: Where tiles start ``[J, B]``.
        unrolled: Extents unrolled beneath each boundary ``[J, U, 8]``.
        found: Filled in.
    """
    count, length = loops.dims.shape
    inside = np.ones(8, np.int64)
    for b in range(count):
        for j in range(len(starts)):
            start = starts[j, b]
            tiles, visits, steps = 1, 1, 1
            for at in range(start):
                extent = loops.extents[b, at]
                steps *= extent
                if extent > 1 and shapes.relevant[j, loops.dims[b, at]]:
                    tiles *= extent
                    visits = steps
            found.tiles[j, b] = tiles
            if at_macs[j]:
                found.visits[j, b], found.elements[j, b] = steps, 1
                continue
            for d in range(8):
                inside[d] = unrolled[j, loops.which[b], d]
            for at in range(start, length):
                inside[loops.dims[b, at]] *= loops.extents[b, at]
            found.visits[j, b], found.elements[j, b] = visits, elements_of(shapes, j, inside)


@entry
def fill_elements(loops: TemporalLoops, shapes: Shapes, unrolled: Ints, found: Ints) -> None:
    """Fill in the elements of tiles from each start.

    Args:
        loops: The nests.
        shapes: Of these tiles.
        unrolled: Extents unrolled beneath them ``[U, 8]``.
        found: Filled in ``[L + 1, B]``.
    """
    count, length = loops.dims.shape
    inside = np.ones(8, np.int64)
    for b in range(count):
        for d in range(8):
            inside[d] = unrolled[loops.which[b], d]
        found[length, b] = elements_of(shapes, 0, inside)
        for at in range(length - 1, -1, -1):
            inside[loops.dims[b, at]] *= loops.extents[b, at]
            found[at, b] = elements_of(shapes, 0, inside)


@entry
def fill_bits(which: Ints, flows: Flows, counted: Boundaries, moved: Ints, found: Ints) -> None:
    """Add up the bits of flows.

    Args:
        which: Which of the unrollings each nest has ``[B]``.
        flows: What moves.
        counted: What is counted at each boundary.
        moved: Elements that each boundary moves in all visits together ``[J, B]``.
        found: What is added to, group by group ``[G, B]``.
    """
    for f in range(len(flows.boundary)):
        j, group = flows.boundary[f], flows.group[f]
        if group < 0:
            continue
        for b in range(len(which)):
            once = counted.elements[j, b] * counted.tiles[j, b]
            visit, tile = flows.visit[f, which[b]], flows.tile[f, which[b]]
            found[group, b] += visit * moved[j, b] + tile * once


@entry
def add_energies(bits: Ints, words: Floats, energies: Floats, found: Floats) -> None:
    """Add up the energies of accesses.

    Args:
        bits: That are accessed, group by group ``[G, B]``.
        words: Bits of one access ``[G]``.
        energies: Of one access ``[G]`` [pJ].
        found: What is added to ``[B]`` [pJ].
    """
    for b in range(len(found)):
        for group in range(len(words)):
            found[b] += bits[group, b] / words[group] * energies[group]


@inner
def elements_of(shapes: Shapes, j: int, inside: Ints) -> int:
    """Return the elements of a tile of given extents; halo as in ``ir.workload``.

    Args:
        shapes: Of the tiles of all operands.
        j: Number of the operand.
        inside: Extent of each dimension ``[8]``.
    """
    if shapes.has_halo[j]:
        rows = _touched(inside[_P], inside[_R], shapes.rows)
        columns = _touched(inside[_Q], inside[_S], shapes.columns)
        return rows * columns * inside[_C] * inside[_N] * inside[_G]
    found = 1
    for d in range(8):
        if shapes.relevant[j, d]:
            found *= inside[d]
    return found


@inner
def _touched(outputs: int, taps: int, steps: tuple[int, int]) -> int:
    """See :func:`accnn.ir.workload.touched`."""
    return outputs * taps - max(0, outputs - steps[0]) * max(0, taps - steps[1])
