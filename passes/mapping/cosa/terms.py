"""What each port, first tile and joule of a mapping amounts to, as logarithms that are linear.

Everything is a product of loop extents, tile sizes and reuse factors, so its logarithm is linear
in the variables of :mod:`.variables`; only sums (several tensors at one port, a shared memory, the
halo) need care. Compare :mod:`accnn.passes.analysis.stages` and ``traffic``, whose words are used
here.
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

from ....ir.arch import Fanout, MemoryLevel
from ....ir.workload import Operand
from ...mip.linear import Linear
from .variables import Variables


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """Bits that pass one place in one direction: ``exp(log) * (visits - finished)``.

    Weights and inputs, and updates of sums, have ``repeats`` and ``once`` of 1 and 0. Outputs
    pass ``repeats`` bits per element and visit less ``once`` bits per element (the last visit is
    narrower, the first reads nothing back).

    Attributes:
        operand: The tensor.
        place: Level or fan-out.
        way: ``read``, ``write``, ``down`` or ``up``.
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
    way: str
    log: Linear
    repeats: float
    once: float
    partly: float
    reducing: tuple[Fanout, ...]
    visits: int | None
    instances: Linear


def flows(v: Variables) -> Iterator[Flow]:
    """Yield all traffic."""
    for operand in (Operand.W, Operand.I):
        yield from _input_flows(v, operand)
    yield from _output_flows(v)


def _input_flows(v: Variables, operand: Operand) -> Iterator[Flow]:
    bits = v.space.workload.bits(operand)
    chain = v.space.chains[operand]
    for parent, child in _stages(chain, len(v.space.arch.levels)):
        inner = child < len(v.space.arch.levels)
        moved = v.visits(operand, child) + v.tile(operand, child) if inner else v.steps
        between = v.fanouts(parent, child)
        above = v.unrolled(v.fanouts(0, parent))

        def flow(place: str, way: str, log: Linear, instances: Linear) -> Flow:
            return Flow(
                operand=operand,
                place=place,
                way=way,
                log=log,
                repeats=bits,
                once=0.0,
                partly=0.0,
                reducing=(),
                visits=None,
                instances=instances,
            )

        name = v.space.arch.levels[parent].name
        yield flow(name, "read", moved + v.copies(operand, between), above)
        if inner:
            below = above + v.unrolled(between)
            yield flow(v.space.arch.levels[child].name, "write", moved, below)
        for position, fanout in enumerate(between):
            links = above + v.unrolled(between[: position + 1])
            log = moved + v.copies(operand, between[position + 1 :])
            yield flow(fanout.name, "down", log, links)


def _output_flows(v: Variables) -> Iterator[Flow]:
    arch, chain = v.space.arch, v.space.chains[Operand.O]
    psum, out = v.psum_bits, v.space.workload.output_bits
    for parent, child in _stages(chain, len(arch.levels)):
        above = v.unrolled(v.fanouts(0, parent))
        between = v.fanouts(parent, child)
        if child == len(arch.levels):
            yield from _update_flows(v, parent, between, above)
            return
        innermost = child == chain[-1]
        once = v.tiles(child) + v.tile(Operand.O, child)

        def flow(
            place: str,
            way: str,
            log: Linear,
            instances: Linear,
            level: int = child,
            reducing: tuple[Fanout, ...] | None = None,
        ) -> Flow:
            """Return a way of sums back (``reducing`` is ``None``) or of outputs up."""
            return Flow(
                operand=Operand.O,
                place=place,
                way=way,
                log=log,
                repeats=psum,
                once=psum if reducing is None else psum - out,
                partly=psum if reducing is None else 0.0,
                reducing=reducing or (),
                visits=level,
                instances=instances,
            )

        joined = once + v.relevant(Operand.O, between)
        outer, inner = arch.levels[parent].name, arch.levels[child].name
        below = above + v.unrolled(between)
        first = above + v.relevant(Operand.O, between)
        over = v.reducing(v.fanouts(0, parent))
        yield flow(outer, "write", joined, above, reducing=over)
        yield flow(outer, "read", joined, above)
        yield flow(inner, "write", once, first)
        if innermost:
            # Finished sums are read out once per visit, but the update that starts a sum from
            # zero reads nothing: together as many reads as updates, and the sums that came back.
            yield flow(inner, "read", once, below)
        else:
            yield flow(inner, "read", once, below, reducing=(*over, *v.reducing(between)))
        for position, fanout in enumerate(between):
            links = above + v.unrolled(between[: position + 1])
            log = once + v.relevant(Operand.O, between[position + 1 :])
            passed = (*over, *v.reducing(between[: position + 1]))
            yield flow(fanout.name, "up", log, links, reducing=passed)
            yield flow(fanout.name, "down", log, first)


def _update_flows(
    v: Variables, parent: int, between: tuple[Fanout, ...], above: Linear
) -> Iterator[Flow]:
    """Yield the updates of the innermost memory.

    Reads are updates less one per element and zero start, plus one per element and visit on the
    way out; starts and visits cancel but for the tiles that came back, which are counted above.
    Outputs that are added up where they lie have no way out: updates from zero, which read
    nothing, may be all there are, so none of their reads is counted (a bound, not exact).
    """
    name = v.space.arch.levels[parent].name
    updates = v.steps + v.relevant(Operand.O, between)
    reads = [(name, "read", updates, above)] if len(v.space.chains[Operand.O]) > 1 else []
    for place, way, log, instances in (
        *reads,
        (name, "write", updates, above),
        *(
            (
                fanout.name,
                "up",
                v.steps + v.relevant(Operand.O, between[position + 1 :]),
                above + v.unrolled(between[: position + 1]),
            )
            for position, fanout in enumerate(between)
        ),
    ):
        yield Flow(
            operand=Operand.O,
            place=place,
            way=way,
            log=log,
            repeats=v.psum_bits,
            once=0.0,
            partly=0.0,
            reducing=(),
            visits=None,
            instances=instances,
        )


def _stages(chain: tuple[int, ...], macs: int) -> Iterator[tuple[int, int]]:
    yield from zip(chain, (*chain[1:], macs), strict=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """What the first (or last) tile takes at one port: ``exp(log)`` cycles."""

    log: Linear


def fill_passages(v: Variables, operand: Operand) -> Iterator[tuple[int, tuple[Passage, ...]]]:
    """Yield the ports that an operand's first tile passes, by parent level; the slowest counts."""
    for parent, child in itertools.pairwise(v.space.chains[operand]):
        tile = v.tile(operand, child) + math.log(v.space.workload.bits(operand))
        between = v.fanouts(parent, child)
        passages: list[Passage] = []
        read = v.space.arch.levels[parent].read_bandwidth
        if read is not None:
            passages.append(Passage(log=tile + v.copies(operand, between) - math.log(8 * read)))
        write = write_bandwidth(v.space.arch.levels[child])
        if write is not None:
            passages.append(Passage(log=tile - math.log(8 * write)))
        for position, fanout in enumerate(between):
            if fanout.link_bandwidth is not None:
                log = tile + v.copies(operand, between[position + 1 :])
                passages.append(Passage(log=log - math.log(8 * fanout.link_bandwidth)))
        if passages:
            yield parent, tuple(passages)


def drain_passages(v: Variables) -> Iterator[tuple[Passage, ...]]:
    """Yield, per stage of the outputs, the ports that the last tile passes."""
    chain, arch = v.space.chains[Operand.O], v.space.arch
    for parent, child in itertools.pairwise(chain):
        tile = v.tile(Operand.O, child)
        over = v.reducing(v.fanouts(0, parent))
        between = v.fanouts(parent, child)
        passages: list[Passage] = []
        read = arch.levels[child].read_bandwidth
        if read is not None:
            passed = (*over, *v.reducing(between))
            width = Linear({}, math.log(v.psum_bits)) if child == chain[-1] else v.width(passed)
            passages.append(Passage(log=tile + width - math.log(8 * read)))
        for position, fanout in enumerate(between):
            if fanout.link_bandwidth is not None:
                passed = (*over, *v.reducing(between[: position + 1]))
                log = tile + v.relevant(Operand.O, between[position + 1 :]) + v.width(passed)
                passages.append(Passage(log=log - math.log(8 * fanout.link_bandwidth)))
        write = write_bandwidth(arch.levels[parent])
        if write is not None:
            log = tile + v.relevant(Operand.O, between) + v.width(over)
            passages.append(Passage(log=log - math.log(8 * write)))
        if passages:
            yield tuple(passages)


def write_bandwidth(level: MemoryLevel) -> float | None:
    """Return the bandwidth of writes [byte/cycle]."""
    return level.read_bandwidth if level.shared_port else level.write_bandwidth
