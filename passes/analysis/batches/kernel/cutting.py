"""Where nests are cut into operations of the array, nest by nest; see ``tile_batch``."""

# pyright: reportArgumentType=false, reportReturnType=false, reportUnknownArgumentType=false

from typing import NamedTuple

from .....ir.compiled import entry, inner
from .moving import Bools, Ints, TemporalLoops
from .turning import behind, steps, values

_W, _I, _O = range(3)


class StartColumns(NamedTuple):
    """Columns of the starts that matter where nests are cut; -1 where there is none.

    Attributes:
        homes: The outermost on-chip memory of W, I and O.
        array: The outermost memory of the outputs beneath the scratchpad.
    """

    homes: tuple[int, int, int]
    array: int


class Cuts(NamedTuple):
    """Where ``B`` nests are cut, and into how much.

    Attributes:
        home: Where the outermost on-chip tile of W, I and O starts, 0 for all of it ``[3, B]``.
        accumulators: Where the tile of accumulators starts ``[B]``.
        boundary: First loop that is left to an instruction ``[B]``.
        is_inside: Whether outputs are completed beneath the scratchpad ``[B]``.
        spills_sums: Whether sums go off chip before they are complete ``[B]``.
        operations: Operations of the array ``[B]``.
        accumulations: Accumulations that are finished by the vector unit ``[B]``.
    """

    home: Ints
    accumulators: Ints
    boundary: Ints
    is_inside: Bools
    spills_sums: Bools
    operations: Ints
    accumulations: Ints


@entry
def fill_cuts(
    loops: TemporalLoops,
    outputs: Bools,
    columns: StartColumns,
    starts: tuple[Ints, Ints, Ints],
    found: Cuts,
) -> None:
    """Fill in where nests are cut.

    Args:
        loops: The nests.
        outputs: Whether each dimension changes the outputs ``[8]``.
        columns: Which starts matter.
        starts: Where tiles of W, I and O start in the memories that keep them ``[B, levels]``.
        found: Filled in.
    """
    for b in range(len(loops.dims)):
        for operand in range(3):
            column = columns.homes[operand]
            found.home[operand, b] = starts[operand][b, column] if column >= 0 else 0
        sums, home = starts[_O], found.home[_O, b]
        inner_most = behind(loops, b, outputs, sums[b, -1])
        is_inside = columns.array >= 0 and not _are_open(loops, b, outputs, sums[b, columns.array])
        boundary = max(found.home[_W, b], found.home[_I, b], inner_most if is_inside else home)
        found.accumulators[b], found.boundary[b] = inner_most, boundary
        found.is_inside[b] = is_inside
        found.spills_sums[b] = _are_open(loops, b, outputs, home)
        found.operations[b] = steps(loops, b, boundary)
        found.accumulations[b] = (
            steps(loops, b, inner_most) if is_inside else values(loops, b, outputs, boundary)
        )


@inner
def _are_open(loops: TemporalLoops, b: int, outputs: Bools, start: int) -> bool:
    """Whether loops outside of a tile of outputs come back to the same ones."""
    outer = behind(loops, b, outputs, start)
    return steps(loops, b, outer) > values(loops, b, outputs, outer)
