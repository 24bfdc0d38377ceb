"""How long groups are expected to take: their stripes, each as long as the nests of its members.

Measuring a group means to map its members, and to tile and schedule its stripes. The nests of
single members tell nearly as much, and the same member in stripes of the same height belongs to
many groups.
"""

from dataclasses import dataclass, field, replace

from ....ir.arch import Architecture
from ....ir.errors import InfeasibleError
from ....ir.graph import Graph, Op
from ....ir.graph_schedule import Group
from ....ir.ops import operand_types, spec_of, workload
from ....ir.workload import Dim, Operand, Workload
from ...mapping.problem import Objective
from ...mapping.recipes.in_tiles import InTiles
from ...mapping.recipes.output_stationary import OutputStationary
from ...tiling.groups.chains import chains
from ...tiling.groups.rows import rows_of
from ..map_groups import problem_on, rows_of_nests

_TILES = 3
"""Part of the scratchpad, as its divisor, that tiles of a group are expected to find free."""


@dataclass
class ExpectedCycles:
    """What groups are expected to take; remembers what members take in stripes of each height.

    Attributes:
        graph: The network.
        arch: The machine.
        budget: What there is of the scratchpad [byte].
    """

    graph: Graph
    arch: Architecture
    budget: int
    _known: dict[Workload, float] = field(default_factory=dict[Workload, float])

    def of(self, group: Group) -> float:
        """Return the cycles of the array or of the vector unit, whichever are more.

        The array does not count for a single chain that makes all rows at once: its nest may be any
        that its first member has alone.

        Args:
            group: The group.
        """
        is_free = not group.rows and len(chains(self.graph, group.members)) == 1
        rows = rows_of_nests(self.graph, group, self.arch)
        array = vector = 0.0
        for op in map(self.graph.producer.__getitem__, group.members):
            height = rows[op.name]
            rounds = rows_of(op.result.type) / height
            array += 0.0 if is_free else rounds * self._of_nest(op, height)
            vector += self._of_vector(op)
        return max(array, vector)

    def _of_nest(self, op: Op, rows: int) -> float:
        """Return what the array takes for some rows of a member; 0 for others [cycle]."""
        base = workload(op, self.graph.types)
        if base is None:
            return 0.0
        part = base.resized({**base.dims, Dim.P: rows})
        if part not in self._known:
            self._known[part] = self._estimate(part)
        return self._known[part]

    def _estimate(self, part: Workload) -> float:
        inside = frozenset({Operand.I, Operand.O})
        workspace = self.budget // _TILES
        problem = problem_on(self.arch, part, workspace, inside, Objective.LATENCY, 0)
        kept = self.arch.whole_capacity(self.arch.home(Operand.W).name)
        try:
            found = InTiles(mapper=OutputStationary(), npus=len(self.arch.npus)).find(
                replace(problem, kept_weights=kept)
            )
        except InfeasibleError:
            return 0.0
        return found.objective if found.estimate is None else found.estimate

    def _of_vector(self, op: Op) -> float:
        """Return what the vector units take for all of a member's result [cycle]."""
        cost = max(1, spec_of(op).cost(op, operand_types(op, self.graph.types)))
        lanes = self.arch.vector.lanes * len(self.arch.npus)
        return op.result.type.elements * cost / lanes
