"""Figures of one tile: footprint, visits, bytes and energy of its boundaries."""

# The compiler infers scalars; the stubs of NumPy take some of them for arrays.
# pyright: reportArgumentType=false, reportReturnType=false, reportUnknownArgumentType=false

import math

from ......ir.compiled import inner
from .records import (
    ZIGZAG,
    C,
    G,
    I,
    Ints,
    Loops,
    MachineRecord,
    N,
    O,
    P,
    Q,
    R,
    S,
    TileRecord,
    Tiles,
)

_NEVER = 1 << 60


@inner
def find_row(m: MachineRecord, loops: Loops, rows: Tiles, x: int, code: int, inside: Ints) -> int:
    """Return the row of an operand's tile, filled.

    Args:
        m: The machine.
        loops: The distinct loops.
        rows: All that are kept.
        x: Operand.
        code: Of the loops inside.
        inside: Takes the extents inside ``[8]``.
    """
    row = code & (rows.shape[1] - 1)
    tile = rows[x, row]
    if tile.key != code + 1:
        _unpack(loops, code, inside)
        _fill(m, tile, x, inside)
        tile.key = code + 1
    return row


@inner
def _unpack(loops: Loops, code: int, inside: Ints) -> None:
    """Fill the extents inside from the code of the loops."""
    for d in range(8):
        inside[d] = 1
    for kind in range(loops.kinds):
        many = code // loops.radix[kind] % (loops.counts[kind] + 1)
        for _ in range(many):
            inside[loops.dims[kind]] *= loops.extents[kind]


@inner
def _fill(m: MachineRecord, tile: TileRecord, x: int, inside: Ints) -> None:
    steps, tile.tiles = 1.0, 1.0
    for d in range(8):
        steps *= inside[d]
        if m.relevant[x, d]:
            tile.tiles *= m.whole[d] // inside[d]
    tile.visits = m.steps / steps
    tile.done = x == O
    for d in (R, S, C):
        tile.done = tile.done and inside[d] == m.whole[d]
    for c in range(m.chain[x] - 1):
        tile.elements[c] = _elements(m, x, c, inside, m.loose)
        _fill_sizes(m, tile, x, c)
        if m.counting == ZIGZAG:
            tile.elements[c] = _elements(m, x, c, inside, True)
            is_open = x == O and (m.split_sum[x, c + 1] or not tile.done)
            bits = tile.elements[c] * (m.psum_bits if is_open else m.bits[x])
            tile.energy[c] = tile.visits * _zigzag_energy(m, x, c, bits, is_open)
        else:
            each = tile.visits * m.per_visit[x, c] + tile.tiles * m.per_tile[x, c]
            tile.energy[c] = tile.elements[c] * each


@inner
def _elements(m: MachineRecord, x: int, c: int, inside: Ints, clip: bool) -> float:
    """Return the elements of a tile at one memory, with or without padding."""
    b = m.beneath[x, c]
    found = 1.0
    for d in range(8):
        if m.relevant[x, d] and (x != I or d in (C, N, G)):
            found *= inside[d] * b[d]
    if x == I:
        height = _touched(inside[P] * b[P], inside[R] * b[R], m.window[0], m.window[2])
        width = _touched(inside[Q] * b[Q], inside[S] * b[S], m.window[1], m.window[3])
        if clip:
            height, width = min(height, m.stored[0]), min(width, m.stored[1])
        found *= height * width
    return found


@inner
def _touched(outputs: int, taps: int, stride: int, dilation: int) -> int:
    """Distinct input rows; see :func:`accnn.ir.workload.touched`."""
    if outputs == 1 or taps == 1:
        return outputs * taps
    if dilation == 1:
        return (outputs - 1) * min(stride, taps) + taps
    common = math.gcd(stride, dilation)
    step_p, step_r = dilation // common, stride // common
    return outputs * taps - max(0, outputs - step_p) * max(0, taps - step_r)


@inner
def _fill_sizes(m: MachineRecord, tile: TileRecord, x: int, c: int) -> None:
    """Fill the bytes of the tile at one memory; see :class:`.records.Tile`."""
    small = math.ceil(tile.elements[c] * m.bits[x] / 8.0)
    finished, unfinished = small, small
    if x == O:
        wide = math.ceil(tile.elements[c] * max(m.bits[x], m.psum_bits) / 8.0)
        if m.must_finish and c == m.chain[x] - 2 and not tile.done:
            finished, unfinished = _NEVER, _NEVER
        elif m.loose:
            if m.split_sum[x, c + 1] or not tile.done:
                finished, unfinished = wide, wide
        else:
            unfinished = wide
            if m.split_sum[x, c]:
                finished = wide
    tile.size[c, 0] = finished
    tile.size[c, 1] = unfinished


@inner
def _zigzag_energy(m: MachineRecord, x: int, c: int, bits: float, is_open: bool) -> float:
    """Return the energy of one visit at the boundary of a chain memory [pJ].

    Args:
        m: The machine.
        x: Operand.
        c: Chain memory.
        bits: Of the tile (all figures are exact in doubles).
        is_open: Whether outputs cross as partial sums, in both directions.
    """
    upper, lower = m.read[x, c + 1], m.write[x, c]
    if x == O:
        upper, lower = m.write[x, c + 1], m.read[x, c]
        if is_open:
            upper += m.read[x, c + 1]
            lower += m.write[x, c]
    top = math.ceil(bits * m.across[x, c + 1] / m.word[x, c + 1]) * m.used[x, c + 1]
    low = math.ceil(bits / m.word[x, c]) * m.used[x, c]
    return top * upper + low * lower
