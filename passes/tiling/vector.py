"""Cut element-wise, pooling and layout operators into tiles for the vector unit and copies.

These operators have no reuse to speak of: the tiler takes boxes of the result that fit the
workspace twice (so that transfers overlap with computing), cutting the outermost axis first.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from ...ir.arch import Architecture
from ...ir.errors import InfeasibleError, Shortage
from ...ir.graph import Graph, Op
from ...ir.isa.instructions import Space, Unit
from ...ir.operators.access import MOST_LOOPS, Box, Part, View, size_of, whole
from ...ir.operators.spec import Family
from ...ir.ops import operand_types, parts_of, spec_of
from ...ir.tiles.graph import Range, Role, Tile, TileGraph, TileOp
from .collect import TileCollector, cuts
from .residency import Residency

_GATHERED = "a gather by computed indices holds all of the indexed axis; a larger scratchpad helps"


@dataclass(frozen=True)
class _Cut:
    """A part of an operator, and where its tensors are.

    Attributes:
        graph: The network.
        op: The operator.
        part: The part.
        place: Where tensors are.
    """

    graph: Graph
    op: Op
    part: Part
    place: Residency

    @cached_property
    def views(self) -> tuple[tuple[str, View], ...]:
        """The result, then what is read: names and views."""
        reads = ((self.op.operands[read.operand], read.view) for read in self.part.reads)
        return ((self.op.name, self.part.out), *reads)

    def boxes(self, box: Box) -> tuple[Box, ...]:
        """Return what an operation touches of each of these: the box of the result first."""
        return (box, *(read.box(box) for read in self.part.reads))

    def element_bytes(self, name: str) -> int:
        """Return the size of an element of a tensor [byte]."""
        return self.graph.types[name].dtype.bytes

    def read_bytes(self, box: Box) -> int:
        """Return what one operation reads; a broadcast element counts once [byte]."""
        return sum(
            read.elements(box) * self.element_bytes(self.op.operands[read.operand])
            for read in self.part.reads
        )

    @cached_property
    def least(self) -> int:
        """What the tiles of one element of the domain take [byte]."""
        return self.moved_bytes(_central(self.part.domain, [1] * len(self.part.domain)))

    @property
    def is_streamed(self) -> bool:
        """Whether not all of its tensors are resident."""
        return any(name not in self.place.addresses for name, _ in self.views)

    @cached_property
    def least_at_once(self) -> int:
        """What they take of one element, but of all along axes that cost next to nothing [byte]."""
        sizes = [axis.size if self.is_cheap(at) else 1 for at, axis in enumerate(self.part.domain)]
        return self.moved_bytes(_central(self.part.domain, sizes))

    def is_cheap(self, axis: int) -> bool:
        """Whether a whole axis takes hardly more than one element, as the indices of a gather."""
        sizes = [1] * len(self.part.domain)
        sizes[axis] = self.part.domain[axis].size
        return 2 * self.moved_bytes(_central(self.part.domain, sizes)) < 3 * self.least

    def moved_bytes(self, box: Box) -> int:
        """Return the bytes of the tiles that are not resident (of the result, if all are)."""
        moved = [
            self.element_bytes(name) * size_of(part)
            for (name, _), part in zip(self.views, self.boxes(box), strict=True)
            if name not in self.place.addresses
        ]
        return sum(moved) if moved else size_of(box)


def tile_vector(graph: Graph, op: Op, arch: Architecture, place: Residency) -> TileGraph:
    """Return the tile graph of an operator that the MAC array does not run.

    Args:
        graph: The network.
        op: The operator.
        arch: The machine.
        place: What the plan says about its step.

    Raises:
        InfeasibleError: Not even one element at a time fits the workspace.
        VerifyError: The kind of operator cannot be cut.
    """
    collector = TileCollector(op.name)
    cost = spec_of(op).cost(op, operand_types(op, graph.types))
    for cut in _cuts(graph, op, place):
        for box in _boxes(cut, arch):
            collector.add(_tile_op(cut, box, collector, cost))
    return collector.finish()


def least_workspace(graph: Graph, op: Op, arch: Architecture, resident: frozenset[str]) -> int:
    """Return the workspace below which not even one element at a time fits [byte].

    Args:
        graph: The network.
        op: An operator that the MAC array does not run.
        arch: The machine.
        resident: The tensors that lie in the scratchpad beside the workspace.
    """
    least = (cut.least for cut in _cuts(graph, op, _beside(resident)) if cut.is_streamed)
    return 2 * len(arch.npus) * max(least, default=0)


def workspace_for_all_indices(
    graph: Graph, op: Op, arch: Architecture, resident: frozenset[str]
) -> int:
    """Return the workspace from which on a gather brings its table once [byte].

    Args:
        graph: The network.
        op: An operator that the MAC array does not run; of others than gathers what they need.
        arch: The machine.
        resident: The tensors that lie in the scratchpad beside the workspace.
    """
    least = (cut.least_at_once for cut in _cuts(graph, op, _beside(resident)) if cut.is_streamed)
    return 2 * len(arch.npus) * max(least, default=0)


def _cuts(graph: Graph, op: Op, place: Residency) -> list[_Cut]:
    """Return the parts of an operator, each with where its tensors are."""
    return [_Cut(graph, op, part, place) for part in parts_of(op, graph.types)]


def _beside(resident: frozenset[str], workspace: int = 0) -> Residency:
    """Return a place of which only is known what is resident, and how much space is beside it."""
    addresses = dict.fromkeys(resident, 0)
    return Residency(addresses=addresses, workspace_address=0, workspace_bytes=workspace)


def table_loads(
    graph: Graph, op: Op, arch: Architecture, resident: frozenset[str], workspace: int
) -> int:
    """Return how often the table of a gather comes: again for each part of the indices.

    Args:
        graph: The network.
        op: The gather.
        arch: The machine.
        resident: The tensors that lie in the scratchpad beside the workspace.
        workspace: For tiles, no less than :func:`least_workspace` [byte].
    """

    def loads(cut: _Cut) -> int:
        pairs = enumerate(zip(cut.part.domain, _sizes(cut, arch), strict=True))
        return math.prod(-(-axis.size // size) for at, (axis, size) in pairs if cut.is_cheap(at))

    return max(map(loads, _cuts(graph, op, _beside(resident, workspace))))


def _boxes(cut: _Cut, arch: Architecture) -> list[Box]:
    """Cut the domain into boxes whose tiles fit the workspace twice.

    Axes are cut from the outermost in until tiles fit, those last that cost next to nothing.

    Raises:
        InfeasibleError: One element does not fit.
    """
    sizes = _sizes(cut, arch)
    parts = [
        [Range(axis.start + part.start, axis.start + part.stop) for part in cuts(axis.size, size)]
        for axis, size in zip(cut.part.domain, sizes, strict=True)
    ]
    return list(product(*parts))


def _sizes(cut: _Cut, arch: Architecture) -> list[int]:
    """Return the extents of the boxes, but for those at the end of an axis.

    Raises:
        InfeasibleError: One element does not fit.
    """
    domain = cut.part.domain
    limit = _byte_limit(cut, arch)
    sizes = [axis.size for axis in domain]
    first = max(0, len(sizes) - MOST_LOOPS)
    sizes[:first] = [1] * first

    def demand() -> int:
        return cut.moved_bytes(_central(domain, sizes))

    for axis in sorted(range(len(sizes)), key=cut.is_cheap):
        if demand() <= limit:
            break
        sizes[axis] = _axis_size(sizes, axis, lambda: demand() <= limit)
    if demand() > limit:
        shortage = Shortage(resource=arch.scratchpad, demand=demand(), capacity=limit)
        hint = _GATHERED if spec_of(cut.op).family is Family.GATHER else None
        raise InfeasibleError(f"no tile of %{cut.op.name} fits", shortage=shortage, hint=hint)
    return sizes


def _central(domain: Box, sizes: Sequence[int]) -> Box:
    """Return a box in the middle of the domain: no other of its size reads more."""
    starts = [
        axis.start + (axis.size - size) // 2 for axis, size in zip(domain, sizes, strict=True)
    ]
    return tuple(Range(start, start + size) for start, size in zip(starts, sizes, strict=True))


def _byte_limit(cut: _Cut, arch: Architecture) -> int:
    """Bytes that the tiles of one operation may take; resident work is cut for the NPUs."""
    share = -(-size_of(cut.part.domain) // (4 * len(arch.npus)))
    if not cut.is_streamed:
        return max(share, 1)
    large = max(4096, 4 * share, 2 * cut.least)  # a gather reads much for one element
    return min(cut.place.workspace_bytes // (2 * len(arch.npus)), large)


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


def _tile_op(cut: _Cut, box: Box, collector: TileCollector, cost: int) -> TileOp:
    def tile(name: str, view: View, part: Box, role: Role) -> int:
        address = None if cut.graph.is_constant(name) else cut.place.addresses.get(name)
        return collector.tile(
            Tile(
                tensor=name,
                role=role,
                view=view.strides,
                box=part if address is None else whole(view.shape),
                element_bytes=cut.element_bytes(name),
                space=Space.GB,
                address=address,
            )
        )

    _, *operands = zip(cut.views, cut.boxes(box), strict=True)
    reads = [tile(name, view, part, Role.I) for (name, view), part in operands]
    first = spec_of(cut.op).parameters
    parameters = () if first is None else cut.op.operands[first:]
    reads += [collector.tile(table_tile(cut.graph, name)) for name in parameters]
    return TileOp(
        operator=cut.op.name,
        unit=Unit.VX if cost else Unit.ST,
        box=box,
        reads=tuple(reads),
        out=tile(cut.op.name, cut.part.out, box, Role.O),
        cost=cost,
        read_bytes=cut.read_bytes(box),
        written_bytes=size_of(box) * cut.element_bytes(cut.op.name),
    )


def table_tile(graph: Graph, name: str) -> Tile:
    """Return the tile of a table, which lies beside the vector unit."""
    elements = (graph.types[name].elements,)
    return Tile(
        tensor=name,
        role=Role.PARAM,
        view=(1,),
        box=whole(elements),
        element_bytes=graph.types[name].dtype.bytes,
        space=Space.PB,
    )
