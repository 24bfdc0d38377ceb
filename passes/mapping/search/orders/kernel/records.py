"""What the kernel works on, as records: the machine, the loops, tiles, and arrays for one search.

A record goes to compiled code as one pointer, whatever it holds; passing its arrays one by one
took most of the time of an evaluation. The price are fixed sizes (``MOST_...``). The classes tell
the type checker what the fields are.

Operands are indexed W=0 I=1 O=2, dimensions as in :data:`accnn.ir.workload.DIMS`. Index ``x`` is
an operand, ``c`` a memory of its chain (or its boundary), ``q`` a bounded memory, ``p`` a port,
``k`` a candidate start.
"""

from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

W, I, O = 0, 1, 2  # noqa: E741
R, S, P, Q, C, K, N, G = range(8)
EXACT, GREEDY = 0, 1
ACCNN, ZIGZAG = 0, 1
ENERGY, LATENCY, EDP = 0, 1, 2

MOST_DEPTH = 6
MOST_MEMORIES = 8
MOST_PORTS = 24
MOST_LOOPS = 63
MOST_ROWS = 1 << 13


class MachineRecord(Protocol):
    """Workload, spatial mapping and accelerator.

    Attributes:
        objective: ``ENERGY``, ``LATENCY`` or ``EDP``.
        policy: ``EXACT`` or ``GREEDY``.
        counting: ``ACCNN`` or ``ZIGZAG``.
        steps: Steps of the temporal loops, the same for every order [cycle].
        fixed: Energy that is the same for every order [pJ].

        even: Whether operands of one memory start at the same loop.
        chain: Length of each chain, the source included ``[x]``.
        memories: Bounded memories.
        member: Place of a memory in each chain, -1 if it does not hold the operand ``[q, x]``.
        usable: Of each bounded memory [byte] ``[q]``.
        joint: Whether an operand shares any memory ``[x]``.
        first: Innermost memory that several operands share; ``memories`` if none is.
        last: Outermost memory that holds a joint operand.

        loose: Whether outputs take the width at which they leave a memory.
        must_finish: Whether outputs must be finished where they reach their source.
        whole: Extents of all temporal loops ``[8]``.
        beneath: Unrolled extents beneath each memory ``[x, c, 8]``.
        relevant: Whether an operand depends on a dimension ``[x, 8]``.
        bits: Width of a finished element ``[x]``.
        psum_bits: Width of a partial sum.
        window: Vertical and horizontal stride, then dilation ``[4]``.
        stored: Rows and columns of the input without padding ``[2]``.
        split_sum: Whether instances of a memory share a sum ``[x, c]``.

        per_visit: Energy per element and visit at a boundary [pJ] ``[x, c]``.
        per_tile: Energy per element and different tile at a boundary [pJ] ``[x, c]``.
        couple: Energy per element that crosses boundary ``c``, per visit of boundary ``d`` and
            tile of ``c`` inside it, for sums that are split above ``d`` [pJ] ``[c, d]``.
        at_macs: ZigZag: energy per change of the element at the MACs [pJ] ``[x]``.
        across: ZigZag: distinct tiles of the instances beneath that one instance serves ``[x, c]``.
        used: ZigZag: instances that take part ``[x, c]``.
        word: ZigZag: bits of one access ``[x, c]``.
        read: ZigZag: energy of one read [pJ] ``[x, c]``.
        write: ZigZag: energy of one write [pJ] ``[x, c]``.

        ports: How many.
        port_fixed: Cycles that are the same for every order ``[p]``.
        port_visit: Cycles per element and visit ``[p, x, c]``.
        port_tile: Cycles per element and different tile ``[p, x, c]``.
        first_tile: Cycles per element of the first (O: last) tile over a boundary ``[x, c]``.
        place: Number of each memory of a chain from the innermost outwards ``[x, c]``.
    """

    objective: int
    policy: int
    counting: int
    steps: float
    fixed: float

    even: bool
    chain: Ints
    memories: int
    member: Ints
    usable: Ints
    joint: Bools
    first: int
    last: int

    loose: bool
    must_finish: bool
    whole: Ints
    beneath: Ints
    relevant: Bools
    bits: Ints
    psum_bits: int
    window: Ints
    stored: Ints
    split_sum: Bools

    per_visit: Floats
    per_tile: Floats
    couple: Floats
    at_macs: Floats
    across: Ints
    used: Ints
    word: Ints
    read: Floats
    write: Floats

    ports: int
    port_fixed: Floats
    port_visit: Floats
    port_tile: Floats
    first_tile: Floats
    place: Ints


class Loops(Protocol):
    """The distinct loops of a workload; the *code* of a set of loops counts each in one digit.

    Attributes:
        kinds: How many.
        dims: Dimension of each.
        extents: Extent of each.
        counts: How often each occurs.
        radix: Worth of one occurrence in a code.
        turns: Whether a loop changes an operand ``[x, kind]``.
    """

    kinds: int
    dims: Ints
    extents: Ints
    counts: Ints
    radix: Ints
    turns: Bools


class TileRecord(Protocol):
    """Figures of one operand's tile that follow from the loops inside, in whatever order.

    Attributes:
        key: One more than the code of the loops inside, 0 for a row that is empty.
        done: Whether sums are finished inside.
        visits: How often the tile is brought.
        tiles: Different ones among them.
        elements: At each memory ``[c]``.
        size: Bytes at each memory, with sums finished inside (0) or not (1) ``[c, 2]``.
        energy: Of each boundary [pJ] ``[c]``.
    """

    key: int
    done: bool
    visits: float
    tiles: float
    elements: Floats
    size: Ints
    energy: Floats


class Tiles(Protocol):
    """Tiles by operand, and by row or candidate."""

    shape: tuple[int, int]

    def __getitem__(self, at: tuple[int, int]) -> TileRecord: ...
    def __setitem__(self, at: tuple[int, int], tile: TileRecord) -> None: ...


class OrderRecord(Protocol):
    """What is found out about one order.

    Attributes:
        codes: Of the loops inside of a start.
        times: Iterations outside of a start.
        starts: Candidates, ascending ``[x, k]``.
        counts: How many ``[x]``.
        inner: Extents inside of a tile ``[8]``.
        cost: Of the boundary, what the allocation minimises ``[x, c, k]``.
        values: Least cost up to the boundary ``[x, c, k]``.
        least: Least cost of all inside, sums finished (0) or not (1) ``[x, 2, k]``.
        chosen: Candidate of each tile ``[x, c]``.
        best: Those of the best allocation of the order ``[x, c]``.
        loads: Cycles of each port ``[p]``.
        weights: Of each port in the cost ``[p]``.
    """

    codes: Ints
    times: Floats
    starts: Ints
    counts: Ints
    inner: Ints
    cost: Floats
    values: Floats
    least: Floats
    chosen: Ints
    best: Ints
    loads: Floats
    weights: Floats


_X = 3
_XC = (_X, MOST_DEPTH)
_STARTS = MOST_LOOPS + 1
_INT, _FLOAT, _BOOL = np.int64, np.float64, np.int8  # Numba knows no arrays of np.bool_ in records

_MACHINE = np.dtype(
    [
        ("objective", _INT),
        ("policy", _INT),
        ("counting", _INT),
        ("steps", _FLOAT),
        ("fixed", _FLOAT),
        ("even", _BOOL),
        ("chain", _INT, _X),
        ("memories", _INT),
        ("member", _INT, (MOST_MEMORIES, _X)),
        ("usable", _INT, MOST_MEMORIES),
        ("joint", _BOOL, _X),
        ("first", _INT),
        ("last", _INT),
        ("loose", _BOOL),
        ("must_finish", _BOOL),
        ("whole", _INT, 8),
        ("beneath", _INT, (*_XC, 8)),
        ("relevant", _BOOL, (_X, 8)),
        ("bits", _INT, _X),
        ("psum_bits", _INT),
        ("window", _INT, 4),
        ("stored", _INT, 2),
        ("split_sum", _BOOL, _XC),
        ("per_visit", _FLOAT, _XC),
        ("per_tile", _FLOAT, _XC),
        ("couple", _FLOAT, (MOST_DEPTH, MOST_DEPTH)),
        ("at_macs", _FLOAT, _X),
        ("across", _INT, _XC),
        ("used", _INT, _XC),
        ("word", _INT, _XC),
        ("read", _FLOAT, _XC),
        ("write", _FLOAT, _XC),
        ("ports", _INT),
        ("port_fixed", _FLOAT, MOST_PORTS),
        ("port_visit", _FLOAT, (MOST_PORTS, *_XC)),
        ("port_tile", _FLOAT, (MOST_PORTS, *_XC)),
        ("first_tile", _FLOAT, _XC),
        ("place", _INT, _XC),
    ],
    align=True,
)
_LOOPS = np.dtype(
    [
        ("kinds", _INT),
        ("dims", _INT, MOST_LOOPS),
        ("extents", _INT, MOST_LOOPS),
        ("counts", _INT, MOST_LOOPS),
        ("radix", _INT, MOST_LOOPS),
        ("turns", _BOOL, (_X, MOST_LOOPS)),
    ],
    align=True,
)
_TILE = np.dtype(
    [
        ("key", _INT),
        ("done", _BOOL),
        ("visits", _FLOAT),
        ("tiles", _FLOAT),
        ("elements", _FLOAT, MOST_DEPTH),
        ("size", _INT, (MOST_DEPTH, 2)),
        ("energy", _FLOAT, MOST_DEPTH),
    ],
    align=True,
)
_STATE = np.dtype(
    [
        ("codes", _INT, _STARTS),
        ("times", _FLOAT, _STARTS),
        ("starts", _INT, (_X, _STARTS)),
        ("counts", _INT, _X),
        ("inner", _INT, 8),
        ("cost", _FLOAT, (*_XC, _STARTS)),
        ("values", _FLOAT, (*_XC, _STARTS)),
        ("least", _FLOAT, (_X, 2, _STARTS)),
        ("chosen", _INT, _XC),
        ("best", _INT, _XC),
        ("loads", _FLOAT, MOST_PORTS),
        ("weights", _FLOAT, MOST_PORTS),
    ],
    align=True,
)

Fields = dict[str, float | NDArray[Any]]


def machine_of(fields: Fields) -> MachineRecord:
    """Return a machine; arrays may be smaller than the most there may be."""
    return cast("MachineRecord", _record(_MACHINE, fields))


def loops_of(fields: Fields) -> Loops:
    """Return loops; arrays may be smaller than the most there may be."""
    return cast("Loops", _record(_LOOPS, fields))


def new_state() -> OrderRecord:
    """Return arrays for one order."""
    return cast("OrderRecord", _record(_STATE, {}))


def new_tiles(rows: int) -> Tiles:
    """Return arrays for tiles of each operand, all empty."""
    return cast("Tiles", np.zeros((_X, rows), _TILE))


def new_rows(sets: float) -> Tiles:
    """Return arrays to keep tiles, by the last digits of their codes.

    Args:
        sets: How many sets of loops there are.
    """
    return new_tiles(1 << (min(MOST_ROWS, int(sets)) - 1).bit_length())


def new_candidates() -> Tiles:
    """Return arrays for the candidates of one order."""
    return new_tiles(_STARTS)


def _record(kind: np.dtype[np.void], fields: Fields) -> np.record:
    found = np.zeros(1, kind)
    for name, value in fields.items():
        own = found[name][0]
        if isinstance(value, np.ndarray):
            own[tuple(slice(extent) for extent in value.shape)] = value
        else:
            found[name] = value
    return found.view(np.recarray)[0]
