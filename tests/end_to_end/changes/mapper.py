"""A mapper that leaves all loops in the outermost memory."""

from tests.end_to_end.changes.change import Change, Edit

_RECIPE = '''"""The simplest mapper: nothing is unrolled, and every step fetches its operands."""

from dataclasses import dataclass

from ....ir.mapping import Loop, even_nest
from ..mapper import Mapper, MappingResult, MappingStatus
from ..problem import MappingProblem


@dataclass(frozen=True)
class Outermost(Mapper):
    """Leaves all loops off chip."""

    name: str = "outermost"

    def find(self, problem: MappingProblem) -> MappingResult:
        """Return the nest."""
        loops = [Loop(dim, extent) for dim, extent in problem.workload.dims.items()]
        outer = {problem.arch.off_chip.name: loops}
        nest = even_nest(problem.workload, problem.machine, outer, (), problem.bypassed)
        return MappingResult(
            nest=nest,
            mapper=self.name,
            status=MappingStatus.HEURISTIC,
            objective=problem.value(nest),
        )
'''


def prove() -> None:
    """Compile a network with the mapper and run it."""
    from accnn.passes.mapping.registry import MAPPERS
    from tests.flow import compile_graph
    from tests.networks import NetworkBuilder

    net = NetworkBuilder()
    net.conv(net.input("x", (1, 3, 4, 4)), "y", 4, 3)
    compiled = compile_graph(net.build("y"), net.data, "simba", mapper="outermost")

    assert "outermost" in MAPPERS
    (mapping,) = compiled.module.mappings
    assert mapping.mapper.startswith("outermost")
    assert compiled.wrong(compiled.run()) == []


CHANGE = Change(
    row="a mapper",
    edits=(
        Edit("passes/mapping/recipes/outermost.py", "", _RECIPE),
        Edit(
            "passes/mapping/registry.py",
            "from .recipes.output_stationary import OutputStationary\n",
            "from .recipes.outermost import Outermost\n"
            "from .recipes.output_stationary import OutputStationary\n",
        ),
        Edit(
            "passes/mapping/registry.py",
            "        OutputStationary(),\n",
            "        Outermost(),\n        OutputStationary(),\n",
        ),
    ),
    proof=prove,
)
