"""Tile graphs of products, and space for them."""

from accnn.ir.isa.instructions import Space, Unit
from accnn.ir.mapping import Allocation, Loop, LoopNest
from accnn.ir.tiles.graph import Range, Role, Tile, TileGraph, TileOp
from accnn.ir.workload import DIMS, Dim, Operand, Workload


def tile(role: Role, number: int, size: int, space: Space = Space.GB) -> Tile:
    """Return the ``number``-th tile of ``size`` bytes of a tensor."""
    box = (Range(number * size, (number + 1) * size),)
    return Tile(tensor=role.value, role=role, view=(1,), box=box, element_bytes=1, space=space)


def accumulators(number: int, size: int, space: Space) -> Tile:
    """Return the ``number``-th tile of ``size`` accumulators ``N G K P Q`` of one row."""
    columns = Range(number * size, (number + 1) * size)
    return Tile(
        tensor="psum",
        role=Role.PSUM,
        view=(1,) * 5,
        box=(*(Range(0, 1),) * 4, columns),
        element_bytes=4,
        space=space,
    )


def box_of(columns: Range) -> tuple[Range, ...]:
    """Return the box of an operation on some columns of one row."""
    return tuple(columns if dim is Dim.Q else Range(0, 1) for dim in DIMS)


def product(outputs: int, depth: int, size: int = 64, acc: Space = Space.AB) -> TileGraph:
    """Return a product of ``outputs`` tiles, each the sum of ``depth`` operations."""
    weights = [tile(Role.W, number, size) for number in range(depth * outputs)]
    inputs = [tile(Role.I, number, size) for number in range(depth)]
    sums = [accumulators(number, size, acc) for number in range(outputs)]
    results = [tile(Role.O, number, size) for number in range(outputs)]
    tiles = (*weights, *inputs, *sums, *results)
    index = {item: number for number, item in enumerate(tiles)}
    products = [
        TileOp(
            operator="op",
            unit=Unit.MX,
            box=box_of(Range(out * size, (out + 1) * size)),
            reads=(index[inputs[k]], index[weights[out * depth + k]]),
            out=index[sums[out]],
            nests=(0,) * 4,
        )
        for out in range(outputs)
        for k in range(depth)
    ]
    finishing = [
        TileOp(
            operator="op",
            unit=Unit.VX,
            box=sums[out].box,
            reads=(index[sums[out]],),
            out=index[results[out]],
        )
        for out in range(outputs)
    ]
    ops = (*products, *finishing)
    return TileGraph(operators=("op",), tiles=tiles, ops=ops, nests=(fifty_steps(),))


def fifty_steps() -> LoopNest:
    """Return what the array runs: one product a step, all operands in the scratchpad."""
    return LoopNest(
        workload=Workload(Q=50),
        temporal=(Loop(Dim.Q, 50),),
        spatial=(),
        allocations=tuple(Allocation(operand, "gb", 0) for operand in Operand),
    )


def ranges(size: int, accumulators: int = 1 << 16) -> dict[Space, tuple[int, int]]:
    return {Space.GB: (128, size), Space.AB: (0, accumulators), Space.PB: (0, 1024)}
