"""Execute one loop nest exactly: real buffers, every access counted, the result computed.

The nest's temporal loops run step by step. Each memory instance holds the tiles that the nest
allocates to it, as numbers; a tile is exchanged when a loop outside of it has moved it to another
place of its tensor, and remains otherwise. Nothing here is derived from formulas of reuse: what is
counted is what was moved.

Rules of the machine:

- A tile is known by the coordinates of the loops outside of it that index its operand. A tile at
  other coordinates is fetched whole, also where it shares halo rows with the one before.
- One transfer serves all children whose coordinates differ only along dimensions that do not
  index the operand, where the fan-out can multicast it; else each child has its own.
- Sums of children that differ only along reduction dimensions are added where they meet on their
  way up. When a tile comes back, its sums return to the first of those children; the others, and
  tiles that the parent has no sums of, start empty: the first update of an element reads nothing.
- An output element is finished when it has received all its products. It travels at output width
  from then on, but the innermost memory always holds it at accumulator width.
- Steps beyond the workload's extents (padding) are executed with weights of zero.
"""

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from accnn.ir.arch import Architecture
from accnn.ir.errors import SimulationError
from accnn.ir.mapping import LoopNest
from accnn.ir.workload import DIMS, REDUCTION, RELEVANT, Dim, Operand
from accnn.runtime_sim.array.counts import Side
from tests.runtime_sim.nest_geometry import Element, NestGeometry, Stage


@dataclass(frozen=True, slots=True)
class PortCount:
    """What passed one port of one instance.

    Attributes:
        place: Memory level, or fan-out (the link to one child).
        instance: Coordinates of the instance: one per unrolled loop above it.
        operand: The tensor.
        side: Read, write, down or up.
        elements: [element].
        bits: [bit].
    """

    place: str
    instance: tuple[int, ...]
    operand: Operand
    side: Side
    elements: int
    bits: int


@dataclass(frozen=True, slots=True)
class ExactRun:
    """Outcome of an execution.

    Attributes:
        steps: Steps of the temporal loops.
        counts: What passed each port, in a fixed order.
        first: What of that passed before the first step.
        last: What of that passed after the last step.
        output: ``[N, G, K, P, Q]``, padding cut off.
    """

    steps: int
    counts: tuple[PortCount, ...]
    first: tuple[PortCount, ...]
    last: tuple[PortCount, ...]
    output: np.ndarray


def run_nest(
    nest: LoopNest,
    arch: Architecture,
    weights: np.ndarray,
    inputs: np.ndarray,
    *,
    placement: frozenset[Operand] = frozenset(),
    sums: np.ndarray | None = None,
) -> ExactRun:
    """Execute a nest on one NPU.

    Each operand comes from the first memory that the nest names for it: off-chip memory for the
    nest of an operator, its home for what one instruction carries.

    Args:
        nest: The nest; what its ``verify`` checks about order is taken for granted.
        arch: The machine.
        weights: ``[G, K, C, R, S]`` integers.
        inputs: ``[N, G, C, Y, X]`` integers, at least as large as the windows reach.
        placement: Operands that lie whole in the scratchpad.
        sums: ``[N, G, K, P, Q]`` integers that the first memory of the outputs holds already, which
            are added to; it starts from zero if ``None``.

    Raises:
        SimulationError: The tiles of a buffer exceed its usable capacity.
    """
    machine = _Machine(nest, arch, placement)
    machine.load(weights, inputs, sums)
    return machine.run()


_Key = tuple[str, tuple[int, ...], Operand, Side]
Counts = tuple[PortCount, ...]
Sums = dict[Element, tuple[int, int]]
"""Outputs: value, and how many products it holds."""


class _Machine:
    """The running machine; lives for one execution."""

    def __init__(self, nest: LoopNest, arch: Architecture, placement: frozenset[Operand]) -> None:
        self.nest = nest
        self.arch = arch
        self.geometry = NestGeometry(nest, arch, placement)
        self.full = math.prod(nest.extents[dim] for dim in REDUCTION)
        self.psum_bits = max(arch.accumulator_bits, nest.workload.output_bits)
        self.counts: dict[tuple[str, tuple[int, ...], Operand, Side], list[int]] = {}
        self.held: dict[tuple[str, tuple[int, ...], Operand], int] = {}
        self.values: dict[Operand, dict[Element, int]] = {}
        self.sums: dict[tuple[str, tuple[int, ...]], Sums] = {}
        self.tiles: dict[tuple[str, tuple[int, ...], Operand], frozenset[Element]] = {}

    # -- values -------------------------------------------------------------------------------

    def load(self, weights: np.ndarray, inputs: np.ndarray, sums: np.ndarray | None) -> None:
        """Put the operands into their sources."""
        self.values[Operand.W] = {
            index: int(value) for index, value in np.ndenumerate(np.asarray(weights))
        }
        self.values[Operand.I] = {
            index: int(value) for index, value in np.ndenumerate(np.asarray(inputs))
        }
        for number, instance in enumerate(self._sources()):
            known: Sums = {}
            if sums is not None:  # the sums of several instances are parts of the whole
                share = {} if number else dict(np.ndenumerate(sums))
                known = {at: (int(share.get(at, 0)), 0) for at in np.ndindex(*self._padded())}
            self.sums[self.geometry.chains[Operand.O][0][0], instance] = known

    def _sources(self) -> list[tuple[int, ...]]:
        """Return the instances of the first memory of the outputs."""
        return list(self.geometry.instances(0, self.geometry.stages[Operand.O][0].above))

    def _padded(self) -> tuple[int, ...]:
        """Return the extents of the outputs with padding."""
        return tuple(self.nest.extents[dim] for dim in (Dim.N, Dim.G, Dim.K, Dim.P, Dim.Q))

    # -- execution ----------------------------------------------------------------------------

    def run(self) -> ExactRun:
        """Run all steps and return what happened."""
        previous: tuple[int, ...] | None = None
        first: tuple[PortCount, ...] = ()
        steps = 0
        for now in itertools.product(*(range(loop.extent) for loop in self.nest.temporal)):
            if previous is not None:
                self._drain_outputs(previous, now)
            self._exchange(previous, now)
            if previous is None:
                first = self._collected()
            self._compute(now)
            previous = now
            steps += 1
        assert previous is not None
        before = {key: tuple(entry) for key, entry in self.counts.items()}
        self._drain_outputs(previous, None)
        last = self._collected(before)
        return ExactRun(steps, self._collected(), first, last, self._output())

    def _exchange(self, previous: tuple[int, ...] | None, now: tuple[int, ...]) -> None:
        for operand in Operand:
            for stage in self.geometry.stages[operand]:
                if stage.child is not None and self._moves(stage, previous, now):
                    if operand is Operand.O:
                        self._open_outputs(stage, now)
                    else:
                        self._fetch(stage, now)

    def _moves(
        self, stage: Stage, previous: tuple[int, ...] | None, now: tuple[int, ...] | None
    ) -> bool:
        """Whether a stage's child tile is another one now (the first and the end count, too)."""
        if previous is None or now is None:
            return True
        return any(
            previous[index] != now[index]
            for index, loop in enumerate(self.nest.temporal[: stage.start])
            if loop.dim in RELEVANT[stage.operand]
        )

    def _fetch(self, stage: Stage, now: tuple[int, ...]) -> None:
        bits = self.nest.workload.bits(stage.operand)
        for parent in self.geometry.instances(0, stage.above):
            tiles: dict[tuple[int, ...], frozenset[Element]] = {}
            for way in self.geometry.instances(stage.above, stage.through):
                tile = self.geometry.tile(stage, parent + way, now)
                tiles[self.geometry.transfer(stage, way)] = tile
                assert stage.child is not None
                self._hold(stage.child, parent + way, stage.operand, tile, bits)
                self._count(stage.child, parent + way, stage.operand, Side.WRITE, len(tile), bits)
            for tile in tiles.values():
                self._count(stage.parent, parent, stage.operand, Side.READ, len(tile), bits)
            self._count_links(stage, parent, now, bits)

    def _count_links(
        self, stage: Stage, parent: tuple[int, ...], now: tuple[int, ...], bits: int
    ) -> None:
        for fanout, cut in self.geometry.cuts(stage):
            crossing: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}
            for way in self.geometry.instances(stage.above, stage.through):
                tile = self.geometry.tile(stage, parent + way, now)
                transfer = self.geometry.transfer(stage, way)
                crossing[way[:cut], transfer[cut:]] = len(tile)
            for (link, _), elements in crossing.items():
                self._count(fanout.name, parent + link, stage.operand, Side.DOWN, elements, bits)

    def _open_outputs(self, stage: Stage, now: tuple[int, ...]) -> None:
        """Start output tiles: with the parent's sums in the first child, empty in the others."""
        assert stage.child is not None
        for parent in self.geometry.instances(0, stage.above):
            known = self.sums[stage.parent, parent]
            for way in self.geometry.instances(stage.above, stage.through):
                child = parent + way
                tile = self.geometry.tile(stage, child, now)
                returns = self.geometry.is_first(stage, way) and all(item in known for item in tile)
                sums = {item: known[item] for item in tile} if returns else {}
                self.sums[stage.child, child] = sums
                self._hold(stage.child, child, Operand.O, tile, self._held_bits(stage, sums))
                if returns:
                    self._count_return(stage, parent, way, len(tile))

    def _count_return(
        self, stage: Stage, parent: tuple[int, ...], way: tuple[int, ...], elements: int
    ) -> None:
        assert stage.child is not None
        self._count(stage.parent, parent, Operand.O, Side.READ, elements, self.psum_bits)
        for fanout, cut in self.geometry.cuts(stage):
            link = parent + way[:cut]
            self._count(fanout.name, link, Operand.O, Side.DOWN, elements, self.psum_bits)
        self._count(stage.child, parent + way, Operand.O, Side.WRITE, elements, self.psum_bits)

    def _held_bits(self, stage: Stage, sums: Sums) -> int:
        innermost = stage.child == self.geometry.chains[Operand.O][-1][0]
        partial = any(count < self.full for _, count in sums.values())
        return self.psum_bits if innermost or partial else self.nest.workload.output_bits

    def _drain_outputs(self, previous: tuple[int, ...], now: tuple[int, ...] | None) -> None:
        for stage in reversed(self.geometry.stages[Operand.O]):
            if stage.child is not None and self._moves(stage, previous, now):
                for parent in self.geometry.instances(0, stage.above):
                    self._drain(stage, parent)

    def _drain(self, stage: Stage, parent: tuple[int, ...]) -> None:
        assert stage.child is not None
        innermost = stage.child == self.geometry.chains[Operand.O][-1][0]
        for way in self.geometry.instances(stage.above, stage.through):
            for _, count in self.sums[stage.child, parent + way].values():
                bits = self.psum_bits if innermost else self._bits(count)
                self._count(stage.child, parent + way, Operand.O, Side.READ, 1, bits)
        for fanout, cut in self.geometry.cuts(stage):
            for link in self.geometry.instances(stage.above, stage.above + cut):
                for _, count in self._joined(stage, parent + link, cut).values():
                    bits = self._bits(count)
                    self._count(fanout.name, parent + link, Operand.O, Side.UP, 1, bits)
        joined = self._joined(stage, parent, 0)
        for _, count in joined.values():
            self._count(stage.parent, parent, Operand.O, Side.WRITE, 1, self._bits(count))
        self.sums[stage.parent, parent].update(joined)
        if any(count < self.full for _, count in joined.values()):
            self._widen(stage.parent, parent)

    def _joined(self, stage: Stage, top: tuple[int, ...], cut: int) -> Sums:
        """Add up what the children beneath a point of the network send."""
        assert stage.child is not None
        joined: Sums = {}
        for way in self.geometry.instances(stage.above + cut, stage.through):
            for element, (value, count) in self.sums[stage.child, top + way].items():
                known = joined.get(element, (0, 0))
                joined[element] = (known[0] + value, known[1] + count)
        return joined

    def _bits(self, count: int) -> int:
        return self.nest.workload.output_bits if count == self.full else self.psum_bits

    def _compute(self, now: tuple[int, ...]) -> None:
        """One step of the array."""
        self._feed(now)
        last = self.geometry.stages[Operand.O][-1]
        for parent in self.geometry.instances(0, last.above):
            products: dict[Element, int] = {}
            terms: dict[Element, int] = {}
            crossing: dict[tuple[str, tuple[int, ...], Element], None] = {}
            for way in self.geometry.instances(last.above, last.through):
                at = self.geometry.index(parent + way, now)
                element = self.geometry.element(Operand.O, at)
                products[element] = products.get(element, 0) + self._product(at)
                terms[element] = terms.get(element, 0) + 1
                for fanout, cut in self.geometry.cuts(last):
                    crossing[fanout.name, parent + way[:cut], element] = None
            for name, link, _ in crossing:
                self._count(name, link, Operand.O, Side.UP, 1, self.psum_bits)
            self._update(last.parent, parent, products, terms)

    def _feed(self, now: tuple[int, ...]) -> None:
        """Count what weights and inputs the MACs take in one step."""
        for operand in (Operand.W, Operand.I):
            stage = self.geometry.stages[operand][-1]
            bits = self.nest.workload.bits(operand)
            for parent in self.geometry.instances(0, stage.above):
                ways = list(self.geometry.instances(stage.above, stage.through))
                reads = len({self.geometry.transfer(stage, way) for way in ways})
                self._count(stage.parent, parent, operand, Side.READ, reads, bits)
                for fanout, cut in self.geometry.cuts(stage):
                    links = {(way[:cut], self.geometry.transfer(stage, way)[cut:]) for way in ways}
                    for link, _ in links:
                        self._count(fanout.name, parent + link, operand, Side.DOWN, 1, bits)
                for way in ways:
                    self._check_fed(stage, parent, way, now)

    def _check_fed(
        self, stage: Stage, parent: tuple[int, ...], way: tuple[int, ...], now: tuple[int, ...]
    ) -> None:
        if len(self.geometry.stages[stage.operand]) == 1:
            return
        element = self.geometry.element(stage.operand, self.geometry.index(parent + way, now))
        if element not in self.tiles[stage.parent, parent, stage.operand]:
            raise SimulationError(f"{stage.parent}{parent} does not hold {stage.operand}{element}")

    def _product(self, at: Mapping[Dim, int]) -> int:
        workload = self.nest.workload
        if any(at[dim] >= workload.dims[dim] for dim in DIMS):
            return 0
        weight = self.values[Operand.W][self.geometry.element(Operand.W, at)]
        return weight * self.values[Operand.I][self.geometry.element(Operand.I, at)]

    def _update(
        self,
        level: str,
        instance: tuple[int, ...],
        products: Mapping[Element, int],
        terms: Mapping[Element, int],
    ) -> None:
        sums = self.sums[level, instance]
        for element, product in products.items():
            if element in sums:
                self._count(level, instance, Operand.O, Side.READ, 1, self.psum_bits)
            value, count = sums.get(element, (0, 0))
            sums[element] = (value + product, count + terms[element])
            self._count(level, instance, Operand.O, Side.WRITE, 1, self.psum_bits)

    # -- capacity and counts --------------------------------------------------------------------

    def _hold(
        self,
        level: str,
        instance: tuple[int, ...],
        operand: Operand,
        tile: frozenset[Element],
        bits: int,
    ) -> None:
        self.tiles[level, instance, operand] = tile
        self.held[level, instance, operand] = math.ceil(len(tile) * bits / 8)
        self._check_capacity(level, instance)

    def _widen(self, level: str, instance: tuple[int, ...]) -> None:
        """Count the bytes of partial sums in a tile that so far held finished outputs only."""
        tile = self.tiles.get((level, instance, Operand.O))
        if tile is not None:
            self._hold(level, instance, Operand.O, tile, self.psum_bits)

    def _check_capacity(self, level: str, instance: tuple[int, ...]) -> None:
        usable = self.arch.level(level).usable
        taken = sum(self.held.get((level, instance, operand), 0) for operand in Operand)
        if usable is not None and taken > usable:
            raise SimulationError(
                f"{level}{list(instance)} holds {taken} byte of tiles and has room for {usable}"
            )

    def _count(
        self,
        place: str,
        instance: tuple[int, ...],
        operand: Operand,
        side: Side,
        elements: int,
        bits: int,
    ) -> None:
        entry = self.counts.setdefault((place, instance, operand, side), [0, 0])
        entry[0] += elements
        entry[1] += elements * bits

    def _collected(self, before: Mapping[_Key, tuple[int, ...]] | None = None) -> Counts:
        """Return the counts so far, those of an earlier time subtracted."""
        earlier = before or {}
        found: list[PortCount] = []
        for key, (elements, bits) in sorted(self.counts.items()):
            old = earlier.get(key, (0, 0))
            if elements > old[0]:
                found.append(PortCount(*key, elements - old[0], bits - old[1]))
        return tuple(found)

    def _output(self) -> np.ndarray:
        dims = self.nest.workload.dims
        shape = tuple(dims[dim] for dim in (Dim.N, Dim.G, Dim.K, Dim.P, Dim.Q))
        found = np.zeros(shape, np.int64)
        level = self.geometry.chains[Operand.O][0][0]
        parts = [self.sums[level, instance] for instance in self._sources()]
        for element in np.ndindex(*shape):
            held = [part.get(element, (0, 0)) for part in parts]
            value, count = (sum(column) for column in zip(*held, strict=True))
            if count != self.full:
                raise SimulationError(f"output {element} has {count} of {self.full} products")
            found[element] = value
        return found
