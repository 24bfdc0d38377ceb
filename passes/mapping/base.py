"""What every mapper takes and gives."""

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Protocol

from ...ir.arch import Architecture
from ...ir.errors import VerifyError
from ...ir.mapping import LoopNest, SpatialLoop
from ...ir.proof import Scope, gap_of
from ...ir.workload import Operand, Workload
from ..analysis.cost import CostReport

NOTHING_RESIDENT: frozenset[Operand] = frozenset()


class Objective(StrEnum):
    """What a mapper minimises."""

    LATENCY = "latency"
    ENERGY = "energy"
    EDP = "edp"

    def of(self, report: CostReport) -> float:
        """Return the figure of a cost report: [cycle], [pJ] or [pJ * cycle]."""
        match self:
            case Objective.LATENCY:
                return report.cycles
            case Objective.ENERGY:
                return report.energy_pj
            case Objective.EDP:
                return report.edp


class Rules(StrEnum):
    """Whose rules count while searching, for mappers that know others than ours (SALSA, LOMA).

    ``zigzag`` is for comparison with ZigZag's figures: its energies, and its idea of room, by
    which outputs take the width at which they leave a memory, and padding takes none. Nests found
    so may fail :meth:`~accnn.ir.mapping.LoopNest.verify`. ``zigzag-sound`` has the energies, but
    the room that partial sums really need. Latency is ours under all rules.
    """

    ACCNN = "accnn"
    ZIGZAG = "zigzag"
    ZIGZAG_SOUND = "zigzag-sound"


class MappingStatus(StrEnum):
    """How far a mapper can vouch for its result.

    ``optimal`` and ``bounded`` come with a bound that was proven of some nests, the scope: no nest
    of these is better than an optimal one by more than the mapper's tolerance; ``bounded`` has not
    closed the gap. ``heuristic`` promises nothing, though a bound may be known; ``fallback`` came
    from a simpler mapper after a failure.
    """

    OPTIMAL = "optimal"
    BOUNDED = "bounded"
    HEURISTIC = "heuristic"
    FALLBACK = "fallback"


@dataclass(frozen=True, slots=True, kw_only=True)
class MapOptions:
    """What a mapper may be told.

    Attributes:
        objective: What to minimise.
        seed: Of mappers that draw at random.
        evaluations: Of searches: how many mappings to look at; ``None`` is the mapper's default.
        padding: Whether extents may be padded where that pays.
        even: Whether all operands of a level must start their tiles at the same loop.
        rules: Whose rules count; mappers that know only ours disregard it.
        spatial: The unrolled loops, where these are given; mappers that choose them themselves
            disregard it.
    """

    objective: Objective = Objective.LATENCY
    seed: int = 0
    evaluations: int | None = None
    padding: bool = True
    even: bool = False
    rules: Rules = Rules.ACCNN
    spatial: tuple[SpatialLoop, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MappingResult:
    """A nest and what its mapper says about it.

    Attributes:
        nest: The nest; it satisfies ``verify`` on the machine it was made for.
        mapper: Name of the mapper.
        status: What the mapper vouches for.
        objective: Value of the objective in the cost model.
        bound: Proven lower bound of the objective, ``None`` where nothing is proven.
        scope: The nests that the bound holds for; the nest itself may lie outside, and below.
        estimate: What the cost model and the tiles' own cost come to, where nests were chosen by
            that; nothing is proven of it [cycle].
        seconds: Wall time of the search; does not take part in comparisons [s].
        cpu_seconds: CPU time of the search; does not take part in comparisons [s].
        note: What else a reader should know, e.g. why a fallback was taken.
    """

    nest: LoopNest
    mapper: str
    status: MappingStatus
    objective: float
    bound: float | None = None
    scope: Scope | None = None
    estimate: float | None = None
    seconds: float = field(default=0.0, compare=False)
    cpu_seconds: float = field(default=0.0, compare=False)
    note: str = ""

    @property
    def gap(self) -> float | None:
        """See :func:`~accnn.ir.proof.gap_of`."""
        return gap_of(self.objective, self.bound)


class Mapper(Protocol):
    """Finds a nest for one workload.

    Implementations raise :class:`~accnn.ir.errors.InfeasibleError` where no nest exists.
    """

    @property
    def name(self) -> str:
        """Spelling on the command line."""
        ...

    def map(
        self,
        workload: Workload,
        arch: Architecture,
        *,
        workspace: int | None = None,
        resident: frozenset[Operand] = NOTHING_RESIDENT,
        options: MapOptions = MapOptions(),
    ) -> MappingResult:
        """Return a nest that fits.

        Args:
            workload: What is computed.
            arch: The machine that one NPU sees.
            workspace: Bytes of the scratchpad that tiles may take, both halves of the double
                buffer together; ``None`` leaves the architecture's own figure [byte].
            resident: Operands that lie whole in the scratchpad, outside of the workspace. The
                nest does not allocate them there.
            options: Objective, seed and limits.
        """
        ...


def with_workspace(arch: Architecture, workspace: int | None) -> Architecture:
    """Return the machine with only ``workspace`` bytes of its scratchpad, used by halves."""
    if workspace is None:
        return arch
    scratchpad = replace(arch.scratchpad_level, capacity=workspace, double_buffered=True)
    levels = tuple(scratchpad if level.name == arch.scratchpad else level for level in arch.levels)
    return replace(arch, levels=levels)


def held_resident(arch: Architecture, resident: frozenset[Operand]) -> frozenset[Operand]:
    """Return the operands that can lie in the scratchpad, of those that are said to."""
    return frozenset(item for item in resident if item in arch.scratchpad_level.holds)


def check_nest(nest: LoopNest, arch: Architecture, resident: frozenset[Operand]) -> None:
    """Check that a nest fits a machine (see :func:`with_workspace`) and its resident operands.

    Raises:
        VerifyError: The nest does not compute its workload, or partial sums would come back to
            outputs that lie finished in the scratchpad.
        InfeasibleError: Something does not fit.
    """
    nest.verify(arch)
    if returns_sums(nest, arch, resident):
        raise VerifyError("partial sums return to outputs that lie in the scratchpad")


def returns_sums(nest: LoopNest, arch: Architecture, resident: frozenset[Operand]) -> bool:
    """Whether partial sums would come back to outputs that lie finished in the scratchpad."""
    if Operand.O not in held_resident(arch, resident):
        return False
    inner = [item for item in nest.of(Operand.O) if arch.index(item.level) > 0]
    leaves = any(item.level != arch.scratchpad for item in inner)
    return leaves and nest.holds_psums(arch, arch.scratchpad)


def bypassed(arch: Architecture, resident: frozenset[Operand]) -> frozenset[tuple[Operand, str]]:
    """Return the allocations that resident operands do without."""
    return frozenset((operand, arch.scratchpad) for operand in held_resident(arch, resident))
