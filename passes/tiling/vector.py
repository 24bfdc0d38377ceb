"""Cut element-wise, pooling and layout operators into tiles for the vector unit and copies.

These operators have no reuse to speak of: the tiler takes boxes of the result that fit the
workspace twice (so that transfers overlap with computing), cutting the outermost axis first.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

from ...ir.arch import Architecture
from ...ir.errors import InfeasibleError, Shortage, VerifyError
from ...ir.graph import Graph, Op
from ...ir.isa import Space
from ...ir.latency import EXP_COST, SIMPLE_COST
from ...ir.op_views import Window, window_of
from ...ir.tiles import Range, Role, Tile, TileGraph, TileOp
from .collect import TileCollector, cuts, dense_strides, whole
from .residency import Residency

Box = tuple[Range, ...]


@dataclass(frozen=True, slots=True)
class Seen:
    """A tensor under the axes that its operator is cut along.

    Attributes:
        name: The tensor.
        shape: Extents of the axes.
        strides: Element stride of each axis; 0 repeats (broadcast).
    """

    name: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A part of an operator that is cut by itself (each operand of a concat is one).

    Attributes:
        out: The result.
        domain: Box of the result that this part writes.
        operands: Tensors read.
        needs: From a box of the result to the box of each operand.
        lines: From a box of the result to the rows and columns that windows touch of the operand;
            what lies between them is not read.
        cost: Lane cycles per element, 0 for a plain copy.
        parameters: Tables read whole.
    """

    out: Seen
    domain: Box
    operands: tuple[Seen, ...]
    needs: Callable[[Box], tuple[Box, ...]]
    lines: Callable[[Box], tuple[int, int]] | None = None
    cost: int = 1
    parameters: tuple[str, ...] = ()


def tile_vector(graph: Graph, op: Op, arch: Architecture, place: Residency) -> TileGraph:
    """Return the tile graph of an operator that the MAC array does not run.

    Raises:
        InfeasibleError: Not even one element at a time fits the workspace.
        VerifyError: The kind of operator cannot be cut.
    """
    collector = TileCollector(op.name)
    for piece in pieces_of(graph, op):
        for box in _boxes(graph, piece, arch, place):
            collector.add(_tile_op(graph, op, piece, box, collector, place))
    return collector.finish()


def pieces_of(graph: Graph, op: Op) -> tuple[Piece, ...]:
    """Return the parts that an operator is cut into before tiling.

    Raises:
        VerifyError: The kind of operator cannot be cut.
    """
    if op.kind in _ELEMENTWISE:
        return (_elementwise(graph, op),)
    if op.kind in ("max_pool", "avg_pool", "global_avg_pool"):
        return (_pool(graph, op),)
    if op.kind in ("reduce_max", "reduce_sum"):
        return (_reduction(graph, op),)
    if op.kind == "concat":
        return _concat(graph, op)
    if op.kind == "reshape":
        return (_flat(graph, op, op.operands[:1], cost=0),)
    if op.kind == "transpose":
        return (_transpose(graph, op),)
    raise VerifyError(f"{op.kind} %{op.name} cannot be cut into tiles")


_ELEMENTWISE = frozenset(
    {"add", "mul", "sub", "div", "exp", "relu", "clip", "leaky_relu", "sigmoid", "tanh"}
    | {"lookup", "quantize", "dequantize"}
)

_SLOW = frozenset({"sigmoid", "tanh", "exp", "div"})


def _seen(graph: Graph, name: str) -> Seen:
    shape = graph.types[name].shape
    return Seen(name, shape, dense_strides(shape))


def _flat(graph: Graph, op: Op, operands: tuple[str, ...], cost: int = 1) -> Piece:
    """Return a piece that treats all tensors as one row of elements."""
    extent = (graph.types[op.name].elements,)
    return Piece(
        out=Seen(op.name, extent, (1,)),
        domain=whole(extent),
        operands=tuple(Seen(name, extent, (1,)) for name in operands),
        needs=lambda box: (box,) * len(operands),
        cost=cost,
        parameters=op.operands[1:] if op.kind == "lookup" else (),
    )


def _elementwise(graph: Graph, op: Op) -> Piece:
    operands = op.operands[:1] if op.kind == "lookup" else op.operands
    cost = EXP_COST if op.kind in _SLOW else SIMPLE_COST
    shape = graph.types[op.name].shape
    if all(graph.types[name].shape == shape for name in operands):
        return _flat(graph, op, operands, cost)
    seen = tuple(_broadcast(graph, name, len(shape)) for name in operands)

    def needs(box: Box) -> tuple[Box, ...]:
        return tuple(
            tuple(
                Range(0, 1) if extent == 1 else axis
                for axis, extent in zip(box, operand.shape, strict=True)
            )
            for operand in seen
        )

    return Piece(
        out=_seen(graph, op.name), domain=whole(shape), operands=seen, needs=needs, cost=cost
    )


def _reduction(graph: Graph, op: Op) -> Piece:
    source, axis = _seen(graph, op.operands[0]), op.int("axis")
    row = Range(0, source.shape[axis])
    return Piece(
        out=_seen(graph, op.name),
        domain=whole(graph.types[op.name].shape),
        operands=(source,),
        needs=lambda box: ((*box[:axis], row, *box[axis + 1 :]),),
        cost=row.size,
    )


def _broadcast(graph: Graph, name: str, rank: int) -> Seen:
    shape = graph.types[name].shape
    padded = (1,) * (rank - len(shape)) + shape
    return Seen(name, padded, dense_strides(padded))


def _pool(graph: Graph, op: Op) -> Piece:
    source = _seen(graph, op.operands[0])
    out = graph.types[op.name].shape
    window = pool_window(graph, op)

    def needs(box: Box) -> tuple[Box, ...]:
        rows = tuple(
            _window_rows(box[2 + axis], window, axis, source.shape[2 + axis]) for axis in (0, 1)
        )
        return ((box[0], box[1], *rows),)

    def lines(box: Box) -> tuple[int, int]:
        rows, columns = (
            _window_lines(box[2 + axis], window, axis, source.shape[2 + axis]) for axis in (0, 1)
        )
        return rows, columns

    return Piece(
        out=_seen(graph, op.name),
        domain=whole(out),
        operands=(source,),
        needs=needs,
        lines=lines,
        cost=math.prod(window.kernel),
    )


def pool_window(graph: Graph, op: Op) -> Window:
    """Return the window of a pool; a global one covers its whole operand."""
    if op.kind != "global_avg_pool":
        return window_of(op)
    height, width = graph.types[op.operands[0]].shape[2:]
    return Window(kernel=(height, width))


def _window_rows(outputs: Range, window: Window, axis: int, extent: int) -> Range:
    stride, reach = window.stride[axis], window.reach()[axis]
    first = outputs.start * stride - window.pads[axis]
    last = (outputs.stop - 1) * stride - window.pads[axis] + reach
    return Range(min(max(first, 0), extent - 1), max(1, min(last, extent)))


def _window_lines(outputs: Range, window: Window, axis: int, extent: int) -> int:
    """Return the rows (or columns) that windows read, padding left out.

    Where they do not lie evenly, each tap reads its own.
    """
    step, dilation, pad = window.stride[axis], window.dilation[axis], window.pads[axis]
    by_tap = [
        {
            line
            for output in range(outputs.start, outputs.stop)
            if 0 <= (line := output * step + tap * dilation - pad) < extent
        }
        for tap in range(window.kernel[axis])
    ]
    union = sorted(set[int]().union(*by_tap))
    is_even = len({after - before for before, after in pairwise(union)}) <= 1
    return len(union) if is_even else sum(map(len, by_tap))


def _concat(graph: Graph, op: Op) -> tuple[Piece, ...]:
    axis = op.int("axis")
    shape = graph.types[op.name].shape
    out = _as_rows(Seen(op.name, shape, ()), axis)
    pieces: list[Piece] = []
    offset = 0
    for name in op.operands:
        source = _as_rows(_seen(graph, name), axis)
        extent = source.shape[1]
        pieces.append(
            Piece(
                out=out,
                domain=(Range(0, out.shape[0]), Range(offset, offset + extent)),
                operands=(source,),
                needs=_shift(offset),
                cost=0,
            )
        )
        offset += extent
    return tuple(pieces)


def _as_rows(seen: Seen, axis: int) -> Seen:
    """Fold the axes before ``axis`` into one, and the others into another."""
    shape = (math.prod(seen.shape[:axis]), math.prod(seen.shape[axis:]))
    return Seen(seen.name, shape, dense_strides(shape))


def _shift(offset: int) -> Callable[[Box], tuple[Box, ...]]:
    def needs(box: Box) -> tuple[Box, ...]:
        outer, inner = box
        return ((outer, Range(inner.start - offset, inner.stop - offset)),)

    return needs


def _transpose(graph: Graph, op: Op) -> Piece:
    perm = op.ints("perm")
    source = _seen(graph, op.operands[0])
    turned = Seen(
        source.name,
        tuple(source.shape[axis] for axis in perm),
        tuple(source.strides[axis] for axis in perm),
    )
    out = _seen(graph, op.name)
    return Piece(
        out=out, domain=whole(out.shape), operands=(turned,), needs=lambda box: (box,), cost=0
    )


def _boxes(graph: Graph, piece: Piece, arch: Architecture, place: Residency) -> list[Box]:
    """Cut the domain into boxes whose tiles fit the workspace twice.

    Raises:
        InfeasibleError: One element does not fit.
    """
    limit = _byte_limit(piece, arch, place)
    sizes = [axis.size for axis in piece.domain]

    def demand() -> int:
        return _moved_bytes(graph, piece, _central(piece.domain, sizes), place)

    for axis in range(len(sizes)):
        if demand() <= limit:
            break
        sizes[axis] = _axis_size(sizes, axis, lambda: demand() <= limit)
    if demand() > limit:
        shortage = Shortage(resource=arch.scratchpad, demand=demand(), capacity=limit)
        raise InfeasibleError(f"no tile of %{piece.out.name} fits", shortage=shortage)
    parts = [
        [Range(axis.start + part.start, axis.start + part.stop) for part in cuts(axis.size, size)]
        for axis, size in zip(piece.domain, sizes, strict=True)
    ]
    return list(product(*parts))


def _central(domain: Box, sizes: Sequence[int]) -> Box:
    """Return a box in the middle of the domain: no other of its size reads more."""
    starts = [
        axis.start + (axis.size - size) // 2 for axis, size in zip(domain, sizes, strict=True)
    ]
    return tuple(Range(start, start + size) for start, size in zip(starts, sizes, strict=True))


def _byte_limit(piece: Piece, arch: Architecture, place: Residency) -> int:
    """Bytes that the tiles of one operation may take; resident work is cut for the NPUs."""
    total = math.prod(axis.size for axis in piece.domain)
    share = -(-total // (4 * len(arch.npus)))
    everything_resident = all(
        name in place.addresses
        for name in (piece.out.name, *(seen.name for seen in piece.operands))
    )
    if everything_resident:
        return max(share, 1)
    return min(place.workspace_bytes // (2 * len(arch.npus)), max(4096, 4 * share))


def _axis_size(sizes: list[int], axis: int, fits: Callable[[], bool]) -> int:
    """Return the largest extent of an axis for which ``fits`` holds, at least one."""
    low, high = 1, sizes[axis]
    while low < high:
        sizes[axis] = (low + high + 1) // 2
        if fits():
            low = sizes[axis]
        else:
            high = sizes[axis] - 1
    return low


def _moved_bytes(graph: Graph, piece: Piece, box: Box, place: Residency) -> int:
    """Bytes of the tiles that are not resident (of the result, if all are)."""
    pairs = [(piece.out, box), *zip(piece.operands, piece.needs(box), strict=True)]
    moved = [
        graph.types[seen.name].dtype.bytes * math.prod(axis.size for axis in part)
        for seen, part in pairs
        if seen.name not in place.addresses
    ]
    return sum(moved) if moved else math.prod(axis.size for axis in box)


def _tile_op(
    graph: Graph, op: Op, piece: Piece, box: Box, collector: TileCollector, place: Residency
) -> TileOp:
    def tile(seen: Seen, part: Box, role: Role) -> int:
        address = None if graph.is_constant(seen.name) else place.addresses.get(seen.name)
        return collector.tile(
            Tile(
                tensor=seen.name,
                role=role,
                view=seen.strides,
                box=part if address is None else whole(seen.shape),
                element_bytes=graph.types[seen.name].dtype.bytes,
                space=Space.GB,
                address=address,
            )
        )

    reads = [
        tile(seen, part, Role.I)
        for seen, part in zip(piece.operands, piece.needs(box), strict=True)
    ]
    reads += [collector.tile(_table(graph, name)) for name in piece.parameters]
    return TileOp(
        operator=op.name,
        box=box,
        reads=tuple(reads),
        acc=None,
        out=tile(piece.out, box, Role.O),
        cost=piece.cost,
        read_bytes=_read_bytes(graph, piece, box),
        written_bytes=_size(box) * graph.types[piece.out.name].dtype.bytes,
    )


def _size(box: Box) -> int:
    return math.prod(axis.size for axis in box)


def _read_bytes(graph: Graph, piece: Piece, box: Box) -> int:
    """Return what one operation reads of its operands; a broadcast element counts once [byte]."""
    total = 0
    for seen, part in zip(piece.operands, piece.needs(box), strict=True):
        elements = _size(part)
        if piece.lines is not None:
            elements = _size(part[:2]) * math.prod(piece.lines(box))
        total += elements * graph.types[seen.name].dtype.bytes
    return total


def _table(graph: Graph, name: str) -> Tile:
    elements = (graph.types[name].elements,)
    return Tile(
        tensor=name,
        role=Role.PARAM,
        view=(1,),
        box=whole(elements),
        element_bytes=graph.types[name].dtype.bytes,
        space=Space.PB,
    )
