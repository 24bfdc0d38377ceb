"""The flow table as logarithms that are linear: traffic, first and last tiles of a mapping.

Every factor of a flow is a product of loop extents, tile sizes and reuse factors, so its logarithm
is linear in the variables of :mod:`.variables`; only sums (several tensors at one port, a shared
memory, the halo) need care. See :mod:`accnn.passes.analysis.flows`, whose words are used here.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from ....ir.arch import Fanout
from ....ir.workload import Operand
from ...analysis.flows import Boundary, FlowTable, Kind, flow_table, relevant
from ...analysis.flows import Flow as Counted
from ...analysis.traffic import Direction, bandwidth_of
from ...mip.linear import Linear
from .variables import Variables


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowTerms:
    """Bits that pass one place in one direction: ``exp(log) * (visits - finished)``.

    Weights and inputs, and updates of sums, have ``repeats`` and ``once`` of 1 and 0. Outputs
    pass ``repeats`` bits per element and visit less ``once`` bits per element (the last visit is
    narrower, the first reads nothing back).

    Attributes:
        operand: The tensor.
        place: Level or fan-out.
        way: Which way.
        log: Natural logarithm of the elements per visit of everything, through the busiest
            instance; for outputs without the factor of repeated visits.
        repeats: Bits per element and visit.
        once: Bits per element that one visit saves.
        partly: ``once`` where a fan-out of ``reducing`` adds up sums further out, so that none that
            passes here is finished.
        reducing: Those fan-outs; empty where it makes no difference.
        visits: Which child's visits repeat it (a level index); ``None`` for plain products.
        instances: Logarithm of how many instances do the same.
    """

    operand: Operand
    place: str
    way: Direction
    log: Linear
    repeats: float
    once: float
    partly: float
    reducing: tuple[Fanout, ...]
    visits: int | None
    instances: Linear


def table_of(v: Variables) -> FlowTable:
    """Return the flow table of a space's machine and chains."""
    names = [level.name for level in v.space.arch.levels]
    chains = tuple(tuple(names[at] for at in v.space.chains[operand]) for operand in Operand)
    return flow_table(v.space.arch, chains)


def flows(v: Variables) -> Iterator[FlowTerms]:
    """Yield all traffic.

    Of sums that return, only those to the first of the children that add up are counted, and of
    outputs that are added up where they lie, no reads: updates from zero, which read nothing, may
    be all there are (bounds, not exact).
    """
    table = table_of(v)
    for flow in table.flows:
        starts = flow.kind is Kind.START or _is_read_by_updates(flow, table)
        if flow.operand is not Operand.O or (flow.at_macs and not starts):
            yield _moved(v, flow)
        elif not starts:
            yield _returned(v, flow)


def _is_read_by_updates(flow: Counted, table: FlowTable) -> bool:
    """Whether sums are read where they come from, for the products that are added to them."""
    is_alone = len(table.of(Operand.O)) == 1
    return is_alone and flow.operand is Operand.O and flow.direction is Direction.READ


def _moved(v: Variables, flow: Counted) -> FlowTerms:
    """Return what passes in every visit."""
    operand, child = flow.operand, _level(v, flow.boundary)
    moved = v.steps if flow.at_macs else v.visits(operand, child) + v.tile(operand, child)
    sums = operand is Operand.O
    return FlowTerms(
        operand=operand,
        place=flow.place,
        way=flow.direction,
        log=moved + v.product(operand, flow.tiles),
        repeats=v.psum_bits if sums else v.space.workload.bits(operand),
        once=0.0,
        partly=0.0,
        reducing=(),
        visits=None,
        instances=v.product(operand, flow.instances),
    )


def _returned(v: Variables, flow: Counted) -> FlowTerms:
    """Return a way of sums back, or of outputs up.

    Finished sums are read out of the innermost memory once per visit, but the update that starts a
    sum from zero reads nothing: together as many reads as updates, and the sums that came back.
    """
    child = _level(v, flow.boundary)
    is_back = flow.kind is Kind.BACK or flow.open is None
    instances = flow.instances
    if is_back:  # each sum that comes back passes every place once
        instances = relevant((*flow.boundary.above, *flow.boundary.hops)) - flow.tiles
    return FlowTerms(
        operand=Operand.O,
        place=flow.place,
        way=flow.direction,
        log=v.tiles(child) + v.tile(Operand.O, child) + v.product(Operand.O, flow.tiles),
        repeats=v.psum_bits,
        once=v.psum_bits if is_back else v.psum_bits - v.space.workload.output_bits,
        partly=v.psum_bits if is_back else 0.0,
        reducing=() if is_back else _reducing(v, flow),
        visits=child,
        instances=v.product(Operand.O, instances),
    )


def _reducing(v: Variables, flow: Counted) -> tuple[Fanout, ...]:
    """Return the fan-outs that may add up sums after they have passed, or as they do."""
    unfinished = flow.open or frozenset()
    own = [item for item in v.space.arch.fanouts if (item.name, False) in unfinished]
    return v.reducing(own)


def _level(v: Variables, boundary: Boundary) -> int:
    """Return the index of the child of a boundary; of the MACs, the number of levels."""
    arch = v.space.arch
    return len(arch.levels) if boundary.child is None else arch.index(boundary.child)


def first_tiles(v: Variables, operand: Operand) -> Iterator[tuple[str, tuple[Linear, ...]]]:
    """Yield the times that an operand's first tile takes, by parent; the slowest counts.

    Each is the logarithm of what it takes at one bounded port [cycle].
    """
    width = Linear({}, math.log(v.space.workload.bits(operand)))
    for boundary in table_of(v).of(operand)[:-1]:
        own = _flows_at(v, boundary, Kind.MOVE)
        logs = tuple(_tile_time(v, flow, width) for flow in own)
        if logs:
            yield boundary.parent, logs


def last_tiles(v: Variables) -> Iterator[tuple[Linear, ...]]:
    """Yield, per boundary of the outputs, the times that the last tile takes at bounded ports.

    From the inner memory outwards, as logarithms [cycle].
    """
    for boundary in table_of(v).of(Operand.O)[:-1]:
        own = sorted(_flows_at(v, boundary, Kind.DRAIN), key=lambda flow: flow.direction)
        logs = tuple(_tile_time(v, flow, _last_width(v, flow)) for flow in own)
        if logs:
            yield logs


def _flows_at(v: Variables, boundary: Boundary, kind: Kind) -> list[Counted]:
    """Return the flows of one kind through bounded ports."""
    return [
        flow
        for flow in table_of(v).flows
        if flow.boundary == boundary
        and flow.kind is kind
        and bandwidth_of(v.space.arch, flow.place, flow.direction) is not None
    ]


def _last_width(v: Variables, flow: Counted) -> Linear:
    if flow.open is None:
        return Linear({}, math.log(v.psum_bits))
    return v.width(_reducing(v, flow))


def _tile_time(v: Variables, flow: Counted, width: Linear) -> Linear:
    """Return the logarithm of the time that one tile takes at a bounded port [cycle]."""
    tile = v.tile(flow.operand, _level(v, flow.boundary))
    bandwidth = bandwidth_of(v.space.arch, flow.place, flow.direction)
    assert bandwidth is not None
    return tile + width + v.product(flow.operand, flow.tiles) - math.log(8 * bandwidth)
