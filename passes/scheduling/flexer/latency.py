"""What the arrays run for tile operations on every NPU, and what it costs, memoised by shape."""

from dataclasses import dataclass, field

from ....ir.arch import Architecture
from ....ir.mapping import LoopNest
from ....ir.workload import DIMS, Operand, Workload
from ...analysis.tile_cost import TileCost, tile_cost
from ...mapping.problem import MappingProblem, Objective
from ...mapping.registry import find_mapper
from ...tiling.inner_nest import inner_nest


@dataclass(frozen=True, slots=True)
class TimedNest:
    """What one array runs for one operation.

    Attributes:
        nest: The loops.
        fresh: What it costs where sums start from zero.
        adding: What it costs where it adds to sums that are there.
    """

    nest: LoopNest
    fresh: TileCost
    adding: TileCost


@dataclass(slots=True)
class TileTimer:
    """Maps tiles onto single NPUs and remembers what it found; local to one run.

    Operands lie in the scratchpad. A border tile takes the nest of the full tile, cut down to its
    own extents.

    Attributes:
        arch: The machine.
        mapper: Name of the mapper.
        objective: What the mapper minimises.
    """

    arch: Architecture
    mapper: str = "output-stationary"
    objective: Objective = Objective.LATENCY
    _nests: dict[tuple[Workload, int], LoopNest] = field(
        default_factory=dict[tuple[Workload, int], LoopNest]
    )
    _timed: dict[tuple[Workload, Workload], tuple[TimedNest, ...]] = field(
        default_factory=dict[tuple[Workload, Workload], tuple[TimedNest, ...]]
    )

    def timed(
        self, base: Workload, full: tuple[int, ...], own: tuple[int, ...]
    ) -> tuple[TimedNest, ...]:
        """Return what each NPU runs for a tile operation.

        Args:
            base: The operator; strides, dilation and widths are taken from it.
            full: Extents ``R S P Q C K N G`` of a full tile.
            own: Extents of this one.
        """
        whole, tile = _resized(base, full), _resized(base, own)
        key = (whole, tile)
        if key not in self._timed:
            twins = [self._twin(npu) for npu in range(len(self.arch.npus))]
            known = {twin: self._time(whole, tile, twin) for twin in sorted(set(twins))}
            self._timed[key] = tuple(known[twin] for twin in twins)
        return self._timed[key]

    def _twin(self, npu: int) -> int:
        """Return the first NPU whose arrays have the same sizes."""
        sizes = self.arch.npus[npu].sizes
        return next(number for number, item in enumerate(self.arch.npus) if item.sizes == sizes)

    def _time(self, whole: Workload, tile: Workload, twin: int) -> TimedNest:
        machine = self.arch.for_npu(self.arch.npus[twin])
        if (whole, twin) not in self._nests:
            problem = MappingProblem(
                workload=whole,
                arch=machine,
                resident=frozenset(Operand),
                objective=self.objective,
            )
            self._nests[(whole, twin)] = find_mapper(self.mapper).map(problem).nest
        inner = inner_nest(self._nests[(whole, twin)], machine, tile, 0, machine.scratchpad)
        return TimedNest(
            inner, tile_cost(inner, machine), tile_cost(inner, machine, accumulate=True)
        )


def _resized(base: Workload, extents: tuple[int, ...]) -> Workload:
    return base.resized(dict(zip(DIMS, extents, strict=True)))
