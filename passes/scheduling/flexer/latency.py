"""Time and on-chip traffic of tile operations on every NPU, memoised by shape."""

from dataclasses import dataclass, field

from ....ir.arch import Architecture
from ....ir.mapping import LoopNest
from ....ir.program import MacProfile
from ....ir.workload import DIMS, Operand, Workload
from ...analysis.tile_cost import tile_cost
from ...mapping.base import MapOptions, Objective
from ...mapping.registry import find_mapper
from ...tiling.profile import profile_of

Profiles = tuple[MacProfile, ...]
"""One profile per NPU."""


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
    _profiles: dict[tuple[Workload, Workload], Profiles] = field(
        default_factory=dict[tuple[Workload, Workload], Profiles]
    )

    def profiles(self, base: Workload, full: tuple[int, ...], own: tuple[int, ...]) -> Profiles:
        """Return the profiles of a tile operation.

        Args:
            base: The operator; strides, dilation and widths are taken from it.
            full: Extents ``R S P Q C K N G`` of a full tile.
            own: Extents of this one.
        """
        whole, tile = _resized(base, full), _resized(base, own)
        key = (whole, tile)
        if key not in self._profiles:
            twins = [self._twin(npu) for npu in range(len(self.arch.npus))]
            known = {twin: self._profile(whole, tile, twin) for twin in sorted(set(twins))}
            self._profiles[key] = tuple(known[twin] for twin in twins)
        return self._profiles[key]

    def _twin(self, npu: int) -> int:
        """Return the first NPU whose arrays have the same sizes."""
        sizes = self.arch.npus[npu].sizes
        return next(number for number, item in enumerate(self.arch.npus) if item.sizes == sizes)

    def _profile(self, whole: Workload, tile: Workload, twin: int) -> MacProfile:
        machine = self.arch.for_npu(self.arch.npus[twin])
        if (whole, twin) not in self._nests:
            found = find_mapper(self.mapper).map(
                whole,
                machine,
                resident=frozenset(Operand),
                options=MapOptions(objective=self.objective),
            )
            self._nests[(whole, twin)] = found.nest
        cost = tile_cost(self._nests[(whole, twin)], machine, tile.dims, 0)
        return profile_of(cost, self.arch)


def _resized(base: Workload, extents: tuple[int, ...]) -> Workload:
    return base.resized(dict(zip(DIMS, extents, strict=True)))


def profile_energy(profile: MacProfile, arch: Architecture) -> float:
    """Return the energy of one tile operation below off-chip memory [pJ]."""
    total = profile.compute_pj + profile.network_pj
    for item in profile.traffic:
        level = arch.level(item.level)
        reading = item.read * 8 / level.word_bits * level.read_energy
        total += reading + item.written * 8 / level.word_bits * level.write_energy
    return total
