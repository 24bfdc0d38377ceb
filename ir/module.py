"""The compilation unit: one typed field per stage of the flow."""

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from .arch import Architecture
from .errors import VerifyError
from .graph import Graph
from .graph_schedule import GraphSchedule, SolveStatus
from .isa.program import Program
from .mapping import LoopNest
from .ops import is_mac, verify_graph
from .proof import Scope, verify_proof
from .resources import Constants
from .tiles.places import verify_places
from .tiles.schedule import TileSchedule


class Stage(StrEnum):
    """A field of ``Module`` that a pass may need or give."""

    GRAPH = "graph"
    ARCH = "arch"
    GRAPH_SCHEDULE = "graph_schedule"
    MAPPINGS = "mappings"
    TILE_SCHEDULE = "tile_schedule"
    PROGRAM = "program"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mapping:
    """The loop nest of one operator and what its mapper says of it.

    Attributes:
        operator: Name of the operator.
        nest: Its loops.
        mapper: Who found it.
        status: What is proven (a ``MappingStatus`` value of the mappers).
        objective: Value of what was minimised in the cost model, in its unit; of one NPU's share
            where several divide the work.
        bound: Proven lower bound of the objective, ``None`` where nothing is proven.
        scope: The nests that the bound holds for.
        estimate: What the cost model and the tiles' own cost come to, by which nests of whole
            networks are chosen; ``None`` where nobody asked. Nothing is proven of it [cycle].
        note: What else a reader should know, e.g. who stepped in after a failure.
    """

    operator: str
    nest: LoopNest
    mapper: str
    status: str
    objective: float
    bound: float | None = None
    scope: Scope | None = None
    estimate: float | None = None
    note: str = ""

    def verify(self) -> None:
        """Check that what is claimed has its proof.

        Raises:
            VerifyError: Names the operator.
        """
        verify_proof(
            f"mapping of %{self.operator}",
            self.objective,
            self.bound,
            self.scope,
            is_optimal=self.status == SolveStatus.OPTIMAL,
        )


@dataclass(frozen=True, kw_only=True)
class Module:
    """A network on its way from graph to program.

    Attributes:
        graph: The network.
        arch: The accelerator; absent before one is chosen.
        graph_schedule: Order of operators and plan of the scratchpad.
        mappings: Loop nests, one per operator of the MAC array, in schedule order.
        tile_schedule: Tiles and transfers of the whole network.
        program: The instruction streams.
        constants: Data of the constants, by name; those of the program beside those of the graph.
            Not part of the text form; empty where only the text is at hand.
    """

    graph: Graph
    arch: Architecture | None = None
    graph_schedule: GraphSchedule | None = None
    mappings: tuple[Mapping, ...] = ()
    tile_schedule: TileSchedule | None = None
    program: Program | None = None
    constants: Constants = Constants()

    @property
    def stages(self) -> frozenset[Stage]:
        """Stages that are present."""
        present = {Stage.GRAPH}
        if self.arch is not None:
            present.add(Stage.ARCH)
        if self.graph_schedule is not None:
            present.add(Stage.GRAPH_SCHEDULE)
        if self.mappings or not any(is_mac(op) for op in self.graph.ops):
            present.add(Stage.MAPPINGS)
        if self.tile_schedule is not None:
            present.add(Stage.TILE_SCHEDULE)
        if self.program is not None:
            present.add(Stage.PROGRAM)
        return frozenset(present)

    def mapping(self, operator: str) -> Mapping | None:
        """Return the mapping of an operator."""
        return self._by_operator.get(operator)

    @cached_property
    def _by_operator(self) -> dict[str, Mapping]:
        return {item.operator: item for item in reversed(self.mappings)}

    def verify(self, known: "Module | None" = None) -> None:
        """Check every stage that is present, and that the stages speak of one network.

        Args:
            known: A module that is valid: the very graph that it has is not looked at again.

        Raises:
            VerifyError: Names the stage and what is wrong in it.
        """
        if known is None or known.graph is not self.graph:
            verify_graph(self.graph)
        if self.constants:
            self.constants.verify(self.graph)
        names = {op.name for op in self.graph.ops}
        if self.arch is not None:
            self.arch.verify()
        if self.graph_schedule is not None:
            self.graph_schedule.verify()
            if set(self.graph_schedule.operators) != names:
                raise VerifyError("the graph schedule does not order the operators of the graph")
        for item in self.mappings:
            if item.operator not in names:
                raise VerifyError(f"mapping of %{item.operator}, which is not in the graph")
            item.verify()
            if self.arch is not None:
                item.nest.verify(self.arch.for_every_npu)
        if self.tile_schedule is not None:
            self.tile_schedule.verify()
            if self.arch is not None:
                self.tile_schedule.verify_engines(self.arch)
            for tensor in self.tile_schedule.graph.preloaded:
                raise VerifyError(f"nothing brings %{tensor} on chip")
            if self.graph_schedule is not None:
                verify_places(self.graph_schedule, self.tile_schedule)
        if self.program is not None:
            self.program.verify()
