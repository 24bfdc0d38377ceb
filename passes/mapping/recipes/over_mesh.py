"""The mapper ``network``: of what other mappers find, what is fastest over the mesh.

Mappers search in the cost model, where all ports work at once; among nests of equal latency some
have tiny tiles, which wait for their way over the mesh. This one lets several mappers search, and
takes the nest whose latency is least in the closed form of :mod:`...analysis.mesh_load`, that of
the mapper named first where several are equal. The search itself does not know of the mesh.

References:
    Huang et al.: CoSA. ISCA 2021, section V-C: schedules compared on a simulated network.
"""

from dataclasses import dataclass

from ....ir.errors import InfeasibleError
from ....ir.mesh import mesh_of
from ...analysis.mesh_load import mesh_load, network_cycles
from ..mapper import Mapper, MappingResult, MappingStatus
from ..problem import MappingProblem
from .cosa import Cosa
from .salsa import Salsa
from .timeloop_hybrid import TimeloopHybrid


@dataclass(frozen=True, kw_only=True)
class FastestOverMesh(Mapper):
    """The best of several mappers by the closed form of the network.

    Attributes:
        name: Spelling on the command line.
        candidates: Who searches.
    """

    name: str = "network"
    candidates: tuple[Mapper, ...] = (Cosa(), Salsa(), TimeloopHybrid())

    def find(self, problem: MappingProblem) -> MappingResult:
        """Return the nest with the least latency over the mesh, in closed form.

        Raises:
            ArchitectureError: The machine has no mesh, or one that is too small.
            InfeasibleError: No candidate finds a nest.
        """
        mesh_of(problem.arch)
        found: list[tuple[float, MappingResult]] = []
        reason = InfeasibleError("no mapper was asked")
        for candidate in self.candidates:
            try:
                result = candidate.map(problem)
            except InfeasibleError as error:
                reason = error
                continue
            load = mesh_load(result.nest, problem.machine, problem.held)
            found.append((network_cycles(problem.cost(result.nest), load), result))
        if not found:
            raise reason
        cycles, best = min(found, key=lambda item: item[0])
        return MappingResult(
            nest=best.nest,
            mapper=self.name,
            status=MappingStatus.HEURISTIC,
            objective=problem.value(best.nest),
            note=f"by {best.mapper}, {cycles:,.0f} cycles over the mesh in closed form",
        )
