"""Where the loops of a nest take its tiles: instances, stages, indices and elements."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from accnn.ir.arch import Architecture, Fanout
from accnn.ir.mapping import Loop, LoopNest, SpatialLoop
from accnn.ir.workload import DIMS, REDUCTION, RELEVANT, Dim, Operand

Element = tuple[int, ...]
"""Index of a weight ``(g, k, c, r, s)``, an input ``(n, g, c, y, x)`` or an output
``(n, g, k, p, q)``."""


@dataclass(frozen=True, slots=True)
class Stage:
    """An operand's way from one memory to the next inner one (``None``: the MACs)."""

    operand: Operand
    parent: str
    child: str | None
    start: int
    above: int
    through: int
    fanouts: tuple[Fanout, ...]


class NestGeometry:
    """One nest on one machine.

    Attributes:
        nest: The nest.
        arch: The machine.
        spatial: Unrolled loops, ordered by fan-out from the outermost inwards.
        chains: Per operand the memories that keep it, with the loop at which its tile starts.
        stages: Per operand the ways between them; the last one leads to the MACs.
    """

    def __init__(self, nest: LoopNest, arch: Architecture, placement: frozenset[Operand]) -> None:
        self.nest = nest
        self.arch = arch
        order = [fanout.name for fanout in arch.fanouts]
        self.spatial = sorted(nest.spatial, key=lambda loop: order.index(loop.fanout))
        self.chains = {item: _chain(nest, arch, item, placement) for item in Operand}
        self.stages = {item: self._stages(item) for item in Operand}
        self._radix = self._radices()

    def _stages(self, operand: Operand) -> tuple[Stage, ...]:
        chain = self.chains[operand]
        ends: list[tuple[str | None, int]] = [*chain[1:], (None, len(self.nest.temporal))]
        found: list[Stage] = []
        for (parent, _), (child, start) in zip(chain, ends, strict=True):
            top = self.arch.index(parent)
            bottom = len(self.arch.levels) if child is None else self.arch.index(child)
            between = tuple(
                item for item in self.arch.fanouts if top <= self.arch.index(item.below) < bottom
            )
            above = sum(self._depth(loop) < top for loop in self.spatial)
            through = sum(self._depth(loop) < bottom for loop in self.spatial)
            found.append(Stage(operand, parent, child, start, above, through, between))
        return tuple(found)

    def _depth(self, loop: SpatialLoop) -> int:
        return self.arch.index(self.arch.fanout(loop.fanout).below)

    def element(self, operand: Operand, at: Mapping[Dim, int]) -> Element:
        """Return the element of an operand that one MAC uses."""
        if operand is Operand.W:
            return at[Dim.G], at[Dim.K], at[Dim.C], at[Dim.R], at[Dim.S]
        if operand is Operand.O:
            return at[Dim.N], at[Dim.G], at[Dim.K], at[Dim.P], at[Dim.Q]
        stride, dilation = self.nest.workload.stride, self.nest.workload.dilation
        row = at[Dim.P] * stride[0] + at[Dim.R] * dilation[0]
        column = at[Dim.Q] * stride[1] + at[Dim.S] * dilation[1]
        return at[Dim.N], at[Dim.G], at[Dim.C], row, column

    def instances(self, first: int, end: int) -> Iterator[tuple[int, ...]]:
        """Yield the coordinates of unrolled loops ``first`` to ``end``."""
        return itertools.product(*(range(loop.extent) for loop in self.spatial[first:end]))

    def cuts(self, stage: Stage) -> Iterator[tuple[Fanout, int]]:
        """Yield the fan-outs of a stage with the unrolled loops down to and including each."""
        cut = 0
        for fanout in stage.fanouts:
            cut += sum(
                loop.fanout == fanout.name for loop in self.spatial[stage.above : stage.through]
            )
            yield fanout, cut

    def transfer(self, stage: Stage, way: tuple[int, ...]) -> tuple[int, ...]:
        """Return what tells one transfer of a parent from another."""
        loops = self.spatial[stage.above : stage.through]
        return tuple(
            at if self._tells(stage.operand, loop) else 0
            for at, loop in zip(way, loops, strict=True)
        )

    def _tells(self, operand: Operand, loop: SpatialLoop) -> bool:
        if loop.dim in RELEVANT[operand]:
            return True
        return operand not in self.arch.fanout(loop.fanout).multicast

    def is_first(self, stage: Stage, way: tuple[int, ...]) -> bool:
        """Whether a child is the first of those whose sums are added."""
        loops = self.spatial[stage.above : stage.through]
        return all(at == 0 for at, loop in zip(way, loops, strict=True) if loop.dim in REDUCTION)

    def index(self, at: tuple[int, ...], now: tuple[int, ...]) -> dict[Dim, int]:
        """Return the indices of one MAC in one step."""
        found = dict.fromkeys(DIMS, 0)
        for loop, value, weight in zip(self.nest.temporal, now, self._radix[0], strict=True):
            found[loop.dim] += value * weight
        for loop, value, weight in zip(self.spatial, at, self._radix[1], strict=True):
            found[loop.dim] += value * weight
        return found

    def tile(
        self, stage: Stage, child: tuple[int, ...], now: tuple[int, ...]
    ) -> frozenset[Element]:
        """Return the elements that a child instance needs while the loops outside stand still.

        Args:
            stage: From one memory to the next inner one.
            child: Coordinates of the instance.
            now: Positions of the loops outside.
        """
        base = self.index(
            child + (0,) * (len(self.spatial) - len(child)),
            now[: stage.start] + (0,) * (len(now) - stage.start),
        )
        offsets = {dim: [0] for dim in DIMS}
        inner: list[tuple[Loop | SpatialLoop, int]] = [
            *zip(self.nest.temporal[stage.start :], self._radix[0][stage.start :], strict=True),
            *zip(self.spatial[len(child) :], self._radix[1][len(child) :], strict=True),
        ]
        for loop, weight in inner:
            offsets[loop.dim] = [
                offset + value * weight
                for offset in offsets[loop.dim]
                for value in range(loop.extent)
            ]
        dims = sorted(RELEVANT[stage.operand])
        fixed = dict(base)
        tile: set[Element] = set()
        for choice in itertools.product(*(offsets[dim] for dim in dims)):
            for dim, offset in zip(dims, choice, strict=True):
                fixed[dim] = base[dim] + offset
            tile.add(self.element(stage.operand, fixed))
        return frozenset(tile)

    def _radices(self) -> tuple[Sequence[int], Sequence[int]]:
        """Return the step of the index that each temporal and each unrolled loop makes.

        Loops are stacked from the MACs outwards along the memories of the inputs, so that every
        tile of inputs is a contiguous window; for the other operands it makes no difference.
        """
        temporal = [0] * len(self.nest.temporal)
        spatial = [0] * len(self.spatial)
        reached = dict.fromkeys(DIMS, 1)
        end = len(temporal)
        for (_, start), stage in zip(
            reversed(self.chains[Operand.I]), reversed(self.stages[Operand.I]), strict=True
        ):
            for index in reversed(range(stage.above, stage.through)):
                spatial[index] = reached[self.spatial[index].dim]
                reached[self.spatial[index].dim] *= self.spatial[index].extent
            for index in reversed(range(start, end)):
                temporal[index] = reached[self.nest.temporal[index].dim]
                reached[self.nest.temporal[index].dim] *= self.nest.temporal[index].extent
            end = start
        for index in reversed(range(self.stages[Operand.I][0].above)):
            spatial[index] = reached[self.spatial[index].dim]
            reached[self.spatial[index].dim] *= self.spatial[index].extent
        return temporal, spatial


def _chain(
    nest: LoopNest, arch: Architecture, operand: Operand, placement: frozenset[Operand]
) -> tuple[tuple[str, int], ...]:
    own = tuple((item.level, item.start) for item in nest.of(operand))
    if operand not in placement or operand not in arch.scratchpad_level.holds:
        return own
    inside = arch.index(arch.scratchpad)
    return ((arch.scratchpad, 0), *(item for item in own if arch.index(item[0]) > inside))
