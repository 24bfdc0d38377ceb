"""The question for the plan of the scratchpad of a whole network: COSMA, without compiling it."""

from dataclasses import dataclass

from ....ir.errors import OptionError
from ....ir.proof import Scope
from ....models.graphs import HUMAN_DESIGNED, SEARCHED
from ....passes.scheduling.cosma.decode import decode
from ....passes.scheduling.cosma.problem import problem_of
from ....passes.scheduling.cosma.solve import solve
from ...stores.store import code_version, digest_of
from .outcome import TaskOutcome, TaskStatus

_DECIDING = (
    *("ir", "models/graphs", "models/published", "models/zoo"),
    *("passes/scheduling", "passes/mip"),
)
_PACKAGES = ("accnn", "mip", "highspy", "numpy")
_GRAPHS = {build.__name__: build for build in (*HUMAN_DESIGNED, *SEARCHED)}


@dataclass(frozen=True, slots=True)
class PlanQuestion:
    """How many bytes the best plan of a network moves; activations only, in whole tensors.

    Attributes:
        network: Name of a graph.
        capacity: Of the scratchpad [byte].
    """

    network: str
    capacity: int

    @property
    def key(self) -> str:
        """Digest of everything that the answer depends on."""
        version = code_version(_DECIDING, _PACKAGES)
        return digest_of("plan", self.network, str(self.capacity), version)

    def outcome(self) -> TaskOutcome:
        """Return bytes off chip and spills.

        Raises:
            InfeasibleError: The tensors of one operator do not fit.
        """
        problem = problem_of(_GRAPHS[self.network](), self.capacity)
        plan = decode(solve(problem), Scope.WHOLE_TENSORS)
        return TaskOutcome(
            status=TaskStatus.OK, offchip_bytes=float(plan.objective), spills=len(plan.spills)
        )


def check_graph(name: str) -> None:
    """Check that there is a graph of a name.

    Raises:
        OptionError: There is none; the hint lists them.
    """
    if name not in _GRAPHS:
        raise OptionError(f"no graph {name!r} to plan", hint=f"known: {', '.join(_GRAPHS)}")
