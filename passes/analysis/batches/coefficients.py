"""The flow table with an unrolling filled in: ``a`` and ``b`` of every flow.

Arrays have one row per flow ``F`` and one column per unrolling ``U``. All are whole numbers.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from ....ir.arch import Architecture
from ....ir.workload import OPERANDS, RELEVANT, Dim, Operand, Workload
from ..flows import Boundary, Factors, Flow, FlowTable, Kind, children, others, relevant
from ..traffic import Direction, energy_of
from .nest_batch import Bools, Floats, Ints
from .unrollings import Unrollings

Group = tuple[str, Operand, Direction]


@dataclass(frozen=True, eq=False)
class Index:
    """Where the arrays of a table have what; made once for each table.

    Attributes:
        table: The table.
    """

    table: FlowTable

    @cached_property
    def operands(self) -> tuple[Operand, ...]:
        """Whose each boundary is."""
        return tuple(item.operand for item in self.table.boundaries)

    @cached_property
    def at_macs(self) -> Bools:
        """Whether each boundary is the one of the array ``[J]``."""
        return np.array([item.child is None for item in self.table.boundaries])

    @cached_property
    def row_above(self) -> Mapping[tuple[Operand, str], int]:
        """The boundary above each memory that an operand passes to."""
        return {
            (item.operand, item.child): row
            for row, item in enumerate(self.table.boundaries)
            if item.child is not None
        }

    @cached_property
    def flows(self) -> tuple[Flow, ...]:
        """The flows, sorted by group."""
        places = [item.name for item in (*self.table.arch.levels, *self.table.arch.fanouts)]
        directions = list(Direction)
        return tuple(
            sorted(
                self.table.flows,
                key=lambda flow: (
                    places.index(flow.place),
                    OPERANDS.index(flow.operand),
                    directions.index(flow.direction),
                ),
            )
        )

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """Place, operand and direction: by places, memories first, each from outermost inwards."""
        return tuple(dict.fromkeys((i.place, i.operand, i.direction) for i in self.flows))

    def groups_at(self, place: str) -> slice:
        """Return the groups of a place, which follow each other."""
        own = [at for at, (name, _, _) in enumerate(self.groups) if name == place]
        return slice(own[0], own[-1] + 1) if own else slice(0)

    @cached_property
    def group(self) -> Ints:
        """Group of each flow ``[F]``; never decreasing."""
        return self._rows(lambda i: self.groups.index((i.place, i.operand, i.direction)))

    @cached_property
    def first_of_group(self) -> Ints:
        """The first flow of each group ``[G]``."""
        return np.flatnonzero(np.diff(self.group, prepend=-1))

    @cached_property
    def prices(self) -> tuple[Floats, Floats]:
        """Bits of one access of a memory, and its energy; links cost nothing ``[G]`` each."""
        arch = self.table.arch
        memories = {level.name for level in arch.levels}
        found = [
            energy_of(arch, place, direction) if place in memories else (1, 0.0)
            for place, _, direction in self.groups
        ]
        words, energies = zip(*found, strict=True)
        return np.array(words, np.float64), np.array(energies, np.float64)

    @cached_property
    def products(self) -> Mapping[tuple[Operand, Factors], int]:
        """All products of unrolled extents that are asked for, by their rows."""
        found: dict[tuple[Operand, Factors], int] = {}

        def add(operand: Operand, factors: Factors) -> None:
            found.setdefault((operand, factors), len(found))

        for flow in self.flows:
            add(flow.operand, flow.tiles)
            add(flow.operand, flow.instances)
            if flow.open is not None:
                add(flow.operand, flow.open)
        for boundary in self.table.of(Operand.O):
            add(Operand.O, others(boundary.hops))
            add(Operand.O, self.first_children(boundary))
            add(Operand.O, children((*boundary.above, *boundary.hops)))
        return found

    def first_children(self, boundary: Boundary) -> Factors:
        """Return the instances beneath an outputs' boundary to which sums come back first.

        One of those that are added up on their way, beneath each instance of the source: what is
        unrolled above the source is never added up.
        """
        source = self.table.of(Operand.O)[0]
        return relevant((*boundary.above, *boundary.hops)) | others(source.above)

    def product(self, operand: Operand, factors: Factors) -> int:
        """Return the row of a product."""
        return self.products[operand, factors]

    @cached_property
    def returning(self) -> tuple["Returning", ...]:
        """The flows of sums that come back, of which not all instances take part."""
        bounds = self.table.of(Operand.O)
        added = [self.product(Operand.O, others(item.hops)) for item in bounds]
        return tuple(
            Returning(
                flow=row,
                first=self.product(Operand.O, self.first_children(flow.boundary)),
                outer=tuple(enumerate(added[: flow.boundary.position]))[::-1],
                starting=self.product(Operand.O, flow.instances)
                if flow.kind is Kind.START
                else None,
            )
            for row, flow in enumerate(self.flows)
            if not flow.at_macs and flow.kind in (Kind.BACK, Kind.START)
        )

    def _rows(self, of: Callable[[Flow], int]) -> Ints:
        """Return a number for each flow ``[F]``."""
        return np.array([of(flow) for flow in self.flows], np.int64)

    @cached_property
    def boundary(self) -> Ints:
        """Boundary of each flow ``[F]``."""
        return self._rows(lambda flow: self.table.boundaries.index(flow.boundary))

    @cached_property
    def tiles(self) -> Ints:
        """Product of tiles of each flow ``[F]``."""
        return self._rows(lambda flow: self.product(flow.operand, flow.tiles))

    @cached_property
    def instances(self) -> Ints:
        """Product of instances of each flow ``[F]``."""
        return self._rows(lambda flow: self.product(flow.operand, flow.instances))

    @cached_property
    def is_visit(self) -> Ints:
        """Whether a flow is there in every visit ``[F, 1]``."""
        return self._rows(lambda flow: int(flow.kind is not Kind.START))[:, None]

    @cached_property
    def is_fresh(self) -> Ints:
        """Whether a flow is not there in the first visit of a tile ``[F, 1]``."""
        return self._rows(lambda flow: int(flow.kind in (Kind.BACK, Kind.START)))[:, None]

    @cached_property
    def closing(self) -> Ints:
        """Flows whose last visit may carry finished outputs."""
        own = [at for at, flow in enumerate(self.flows) if flow.open is not None]
        return np.array(own, np.int64)

    @cached_property
    def open(self) -> Ints:
        """Product that is 1 where these are finished ``[len(closing)]``."""
        own = (self.flows[int(at)] for at in self.closing)
        return np.array([self.product(i.operand, i.open or frozenset()) for i in own], np.int64)

    @cached_property
    def sums(self) -> tuple[int, ...]:
        """Boundaries of the outputs, outermost first; the last one is at the MACs."""
        return tuple(self.table.boundaries.index(item) for item in self.table.of(Operand.O))

    @cached_property
    def inputs(self) -> tuple[int, ...]:
        """Boundaries of the inputs, outermost first; the last one is at the MACs."""
        return tuple(self.table.boundaries.index(item) for item in self.table.of(Operand.I))


@dataclass(frozen=True, slots=True, kw_only=True)
class Returning:
    """Sums that come back over a boundary, and the products that tell how many.

    Attributes:
        flow: Row of the flow.
        first: Product of the instances to which sums come back first.
        outer: Boundaries further out, the nearest first, by their positions in the chain of the
            outputs, with the product of the instances that are added up there.
        starting: Product of all instances, of sums that start from zero.
    """

    flow: int
    first: int
    outer: tuple[tuple[int, int], ...]
    starting: int | None


@lru_cache(maxsize=64)
def index_of(table: FlowTable) -> Index:
    """Return the index of a table."""
    return Index(table)


@dataclass(frozen=True, slots=True)
class Restarts:
    """Tiles that start from zero once more with each visit of a boundary further out.

    They move as often as that boundary has visits, times the tiles inside each of its own.

    Attributes:
        flow: Row of the flow.
        outer: Position of the other boundary in the chain of the outputs.
        bits: Per element ``[U]``.
    """

    flow: int
    outer: int
    bits: Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Widths:
    """Bits of one element.

    Attributes:
        W: Of a weight.
        I: Of an input.
        O: Of a finished output.
        psum: Of a partial sum.
    """

    W: int
    I: int  # noqa: E741
    O: int  # noqa: E741
    psum: int


def widths_of(workload: Workload, arch: Architecture) -> Widths:
    """Return the widths of a workload's elements on a machine."""
    return Widths(
        W=workload.weight_bits,
        I=workload.input_bits,
        O=workload.output_bits,
        psum=max(arch.accumulator_bits, workload.output_bits),
    )


class FlowCoefficients:
    """What multiplies visits and tiles: ``elements x (visits x a + tiles x b)`` bits.

    Args:
        table: The flows.
        unrollings: What is filled in.
        widths: Of elements.
        has_sums: Whether the source of the outputs holds sums already, which are added to.

    Attributes:
        visit: ``a`` of each flow through the busiest instance ``[F, U]``.
        tile: ``b`` of the same.
        last: Bits per element in the last visit of a tile, busiest instance ``[F, U]``.
        beneath: Extents unrolled beneath each boundary, one beneath the MACs ``[J, U, 8]``.
        products: The value of each product of unrolled extents ``[products, U]``.
        widths: Bits of an element of each flow ``[F, 1]``.
    """

    def __init__(
        self,
        table: FlowTable,
        unrollings: Unrollings,
        widths: Widths,
        *,
        has_sums: bool = False,
    ) -> None:
        self.index = index = index_of(table)
        self.beneath = _beneath(table, unrollings)
        self.products = _products(index, unrollings)
        bits = {Operand.W: widths.W, Operand.I: widths.I, Operand.O: widths.psum}
        self.widths = np.array([[bits[flow.operand]] for flow in index.flows], np.int64)
        each = self.products[index.tiles] * self.widths
        self.visit, self.tile = each * index.is_visit, -each * index.is_fresh
        if has_sums:
            self.tile = np.zeros_like(self.tile)
        done = self.products[index.open] == 1
        narrower = (widths.psum - widths.O) * done * self.products[index.tiles[index.closing]]
        self.tile[index.closing] = -narrower
        self.last = each.copy()
        self.last[index.closing] -= narrower
        self._psum_bits, self._fresh = widths.psum, 0 if has_sums else 1

    @cached_property
    def all_visit(self) -> Ints:
        """``a`` of each flow through all instances ``[F, U]``."""
        return self._through_all[0]

    @cached_property
    def all_tile(self) -> Ints:
        """``b`` of the same."""
        return self._through_all[1]

    @cached_property
    def restarts(self) -> tuple[Restarts, ...]:
        """What is to be taken off that neither of them tells."""
        return self._through_all[2]

    @cached_property
    def _through_all(self) -> tuple[Ints, Ints, tuple[Restarts, ...]]:
        """What passes all instances; of single operations nobody asks."""
        instances = self.products[self.index.instances]
        visit, tile = self.visit * instances, self.tile * instances
        return visit, tile, tuple(self._returned(visit, tile))

    def _returned(self, all_visit: Ints, all_tile: Ints) -> Iterator[Restarts]:
        """Fill in the flows of sums that come back, of which not all instances take part.

        The first of the children that add up read each tile back in all visits but its first. The
        others, beneath a parent that is not the first child of its own boundary, start from zero
        with each visit of that parent, and read back in all other visits.

        Args:
            all_visit: Filled in.
            all_tile: Filled in.
        """
        psum_bits, fresh = self._psum_bits, self._fresh
        for item in self.index.returning:
            row = item.flow
            first = left = psum_bits * self.products[item.first]
            all_visit[row], all_tile[row] = first, -fresh * first
            for outer, added in item.outer:
                reduced = self.products[added]
                more = left * (reduced - 1)
                if more.any():
                    all_visit[row] += more
                    yield Restarts(row, outer, more)
                left = left * reduced
            if item.starting is not None:
                all_visit[row] -= psum_bits * self.products[item.starting]


def _beneath(table: FlowTable, unrollings: Unrollings) -> Ints:
    """Return the extents unrolled beneath each boundary ``[J, U, 8]``."""
    found: list[Ints] = []
    for item in table.boundaries:
        fanouts = () if item.child is None else table.arch.fanouts_beneath(item.child)
        found.append(unrollings.over([fanout.name for fanout in fanouts]))
    return np.stack(found)


def _products(index: Index, unrollings: Unrollings) -> Ints:
    """Return the value of each product of unrolled extents ``[products, U]``."""
    factors = _factors(index, unrollings.loops)[:, None]
    found: Ints = np.where(factors, unrollings.extents, 1).prod(axis=2)
    return found


@lru_cache(maxsize=256)
def _factors(index: Index, unrolled: tuple[tuple[str, Dim], ...]) -> Bools:
    """Return which unrolled loops each product has ``[products, len(unrolled)]``."""
    found = np.zeros((len(index.products), len(unrolled)), np.bool_)
    for (operand, factors), row in index.products.items():
        found[row] = [(fanout, dim in RELEVANT[operand]) in factors for fanout, dim in unrolled]
    return found


@lru_cache(maxsize=256)
def coefficients_of(
    table: FlowTable,
    unrolled: tuple[tuple[str, Dim], ...],
    extents: tuple[tuple[int, ...], ...],
    widths: Widths,
    *,
    has_sums: bool = False,
) -> FlowCoefficients:
    """Return the coefficients of some unrollings: ``a`` and ``b`` of each flow.

    Args:
        table: The flows.
        unrolled: (fan-out, dimension) pairs.
        extents: Of the unrolled loops, in this order, of each unrolling.
        widths: Of the operands.
        has_sums: Whether the source of the outputs holds sums that are added to.
    """
    unrollings = Unrollings(unrolled, np.array(extents, np.int64).reshape(len(extents), -1))
    return FlowCoefficients(table, unrollings, widths, has_sums=has_sums)
