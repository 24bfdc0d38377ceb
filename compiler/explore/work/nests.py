"""The question for the loop nest of one layer."""

from dataclasses import dataclass, replace
from pathlib import Path

from ....ir.arch import Architecture, Precision
from ....ir.workload import Workload
from ....passes.mapping.jobs import MapJob
from ....passes.mapping.mapper import Mapper
from ....passes.mapping.problem import MappingProblem
from ...mapping.solve import solve_all
from ...stores.mappings import MappingCache, key_of
from ..study.schema import StudyFile
from .outcome import TaskOutcome, TaskStatus

_BITS = {Precision.INT8: 8, Precision.FP32: 32}


@dataclass(frozen=True, slots=True)
class NestQuestion:
    """What a layer costs with the nest that a mapper finds.

    Attributes:
        job: Layer, machine, objective and mapper.
        cache: Folder of nests found earlier, by any command; ``None`` maps anew.
    """

    job: MapJob
    cache: Path | None

    @property
    def key(self) -> str:
        """Digest of everything that the answer depends on."""
        return key_of(self.job)

    def outcome(self) -> TaskOutcome:
        """Return the figures of the nest.

        Raises:
            InfeasibleError: Nothing fits.
        """
        cache = None if self.cache is None else MappingCache(self.cache)
        (answer,) = solve_all((self.job,), cache, processes=1)
        if isinstance(answer, Exception):
            raise answer
        cost = self.job.problem.cost(answer.nest)
        return TaskOutcome(
            status=TaskStatus.OK,
            cycles=cost.cycles,
            energy_pj=cost.energy_pj,
            offchip_bytes=cost.offchip_bytes,
        )


def nest_question(
    workload: Workload,
    arch: Architecture,
    mapper: Mapper,
    tables: StudyFile,
    cache: Path | None,
) -> NestQuestion:
    """Return the question for a layer on the first NPU of a machine.

    Args:
        workload: The layer.
        arch: The machine.
        mapper: Who maps it.
        tables: The study.
        cache: Folder of nests found earlier.
    """
    options = tables.mapping
    problem = MappingProblem(
        workload=with_widths(workload, arch),
        arch=arch.for_npu(arch.npus[0]),
        objective=options.objective or tables.objective.of_mappers,
        seed=options.seed,
        evaluations=options.evaluations,
    )
    return NestQuestion(MapJob(problem, mapper), cache)


def with_widths(workload: Workload, arch: Architecture) -> Workload:
    """Return a workload with the widths that a machine computes with."""
    bits = _BITS[arch.precision]
    return replace(
        workload,
        weight_bits=bits,
        input_bits=bits,
        output_bits=bits,
        psum_bits=arch.accumulator_bits,
    )
