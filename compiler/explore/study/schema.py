"""The tables of a study file; units and ranges of what it may say."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

from annotated_types import Interval, MinLen

from ....ir.arch import STRICT, Count
from ....passes.mapping.problem import Objective


class StudyObjective(StrEnum):
    """What a study minimises, as the geometric mean over its networks."""

    LATENCY = "latency"
    ENERGY = "energy"
    EDP = "edp"
    OFFCHIP_BYTES = "offchip_bytes"

    @property
    def of_mappers(self) -> Objective:
        """What mappers minimise for it: they know no bytes, and energy follows these closest."""
        return Objective.ENERGY if self is StudyObjective.OFFCHIP_BYTES else Objective(self.value)


class Question(StrEnum):
    """What is asked of each network on each architecture."""

    NESTS = "nests"
    TILES = "tiles"
    PLANS = "plans"


class Method(StrEnum):
    """How points of the space are chosen."""

    GRID = "grid"
    RANDOM = "random"
    BAYESIAN = "bayesian"


class EnergyRule(StrEnum):
    """Whether energies of memories follow their capacity."""

    SCALED = "scaled"
    FIXED = "fixed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraints:
    """What an architecture must keep to.

    Attributes:
        area_mm2: Area of memories and MACs at most [mm2].
        sram: Bytes of all memories on chip at most, e.g. ``"2 MiB"``.
    """

    __pydantic_config__ = STRICT

    area_mm2: Annotated[float, Interval(gt=0)] | None = None
    sram: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchTable:
    """Which points of the space are looked at.

    Attributes:
        method: How they are chosen.
        points: How many at most; ``None`` is all, of a grid only.
        seed: Of what is drawn at random.
        batch: Of the Bayesian search: points that are chosen before any of them is known. Results
            depend on it, and not on the number of workers.
        storage: Where Optuna keeps its trials, as an SQLAlchemy URL; beside the results if absent.
    """

    __pydantic_config__ = STRICT

    method: Method = Method.GRID
    points: Count | None = None
    seed: Annotated[int, Interval(ge=0, le=2**31 - 1)] = 0
    batch: Count = 8
    storage: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MappingTable:
    """How layers are mapped.

    Attributes:
        mapper: Who maps them; the parameter ``options.mapper`` takes its place.
        objective: What loop nests and groups are chosen for; what the study minimises if absent.
        seed: Of mappers that draw at random.
        evaluations: Of searches: mappings to look at; ``None`` is the mapper's default.
        timeout: Of one task; what takes longer is recorded as such [s].
        retries: How often a task is tried again whose process died.
    """

    __pydantic_config__ = STRICT

    mapper: str = "cosa"
    objective: Objective | None = None
    seed: Annotated[int, Interval(ge=0, le=2**31 - 1)] = 0
    evaluations: Count | None = None
    timeout: Annotated[float, Interval(gt=0, le=1e6)] = 300.0
    retries: Annotated[int, Interval(ge=0, le=100)] = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TechnologyTable:
    """How memories cost area and energy.

    Attributes:
        node_nm: Technology node of areas [nm].
        energy: ``scaled`` multiplies the energies of a memory whose capacity differs from the base
            file's as the fitted curve does; ``fixed`` leaves them.
    """

    __pydantic_config__ = STRICT

    node_nm: Annotated[float, Interval(ge=5, le=180)] = 45.0
    energy: EnergyRule = EnergyRule.SCALED


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyFile:
    """A study.

    Attributes:
        name: Its name.
        description: For people.
        bases: Architecture files that are varied, by name or path.
        networks: ONNX files, CSV tables of layers (``layers.csv#resnet50`` is one network of one)
            and names of the zoo.
        objective: What is minimised.
        question: What is asked of a network: loop nests of its layers, tile schedules of its
            layers, or plans of the scratchpad.
        parameters: Values by ``part.key``; see :mod:`.parameters`.
        constraints: What architectures must keep to.
        search: Which points are looked at.
        mapping: How layers are mapped.
        technology: How memories cost area and energy.
    """

    __pydantic_config__ = STRICT

    name: Annotated[str, MinLen(1)]
    description: str = ""
    bases: Annotated[tuple[str, ...], MinLen(1)]
    networks: Annotated[tuple[str, ...], MinLen(1)]
    objective: StudyObjective = StudyObjective.EDP
    question: Question = Question.NESTS
    parameters: dict[str, Any]
    constraints: Constraints = Constraints()
    search: SearchTable = SearchTable()
    mapping: MappingTable = MappingTable()
    technology: TechnologyTable = TechnologyTable()
