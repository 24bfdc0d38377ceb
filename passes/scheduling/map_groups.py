"""What mappers are asked about the members of a fused group, and which of their nests fit together.

A member that the MAC array runs makes the rows of a stripe. Its inputs lie in lines, and so does
what it hands on; only weights and the last result pass in tiles. How much of the workspace the
lines leave is known roughly, so that a nest is asked for less and less until all tiles fit.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ...ir.arch import Architecture
from ...ir.errors import InfeasibleError
from ...ir.graph import Graph, Op
from ...ir.graph_schedule import Group
from ...ir.isa.spaces import accumulator_level
from ...ir.mapping import LoopNest
from ...ir.module import Mapping as OperatorMapping
from ...ir.module import Module
from ...ir.ops import is_mac, operand_types, spec_of, workload
from ...ir.tiles.schedule import TileSchedule
from ...ir.workload import Dim, Operand, Workload
from ..analysis.batches.nest_batch import batch_nests
from ..analysis.batches.tile_batch import TileBatch
from ..base import require_arch
from ..mapping.mapper import MappingResult
from ..mapping.problem import MappingProblem, Objective
from ..tiling.groups.chains import Chain, chains, passes_on, passing_bits
from ..tiling.groups.homes import homes_of
from ..tiling.groups.lines import bytes_of_lines
from ..tiling.groups.members import Members
from ..tiling.groups.rows import rows_of
from ..tiling.groups.stripes import usual_rows
from ..tiling.groups.windows import windows_together
from ..tiling.residency import residency, unit_of
from .static.known_schedules import Make
from .static.schedule_tiles import schedule_operator

SHARES = (1.0, 0.75, 0.5, 0.25)
"""Parts of what lines leave of the workspace that nests are asked to fit, the largest first."""

Solve = Callable[[Sequence[tuple[MappingProblem, str]]], Mapping[MappingProblem, MappingResult]]
"""Answers the problems of operators."""


def problem_on(
    arch: Architecture,
    workload: Workload,
    workspace: int,
    resident: frozenset[Operand],
    objective: Objective,
    seed: int,
) -> MappingProblem:
    """Return what a mapper is asked about an operator of a network.

    NPUs work side by side, so each may fill its share of the workspace. Any of them may run any
    tile, so a nest has to fit them all. Where no operand passes the workspace in tiles, its size is
    left out, so that equal questions are equal.

    Args:
        arch: The accelerator.
        workload: The operator's; sums get the accelerator's width.
        workspace: Of all NPUs together [byte].
        resident: Operands that lie whole in the scratchpad.
        objective: What the mapper minimises.
        seed: Of the mapper.
    """
    problem = MappingProblem(
        workload=replace(workload, psum_bits=arch.accumulator_bits),
        arch=arch.for_every_npu,
        workspace=workspace // len(arch.npus),
        resident=resident,
        objective=objective,
        seed=seed,
    )
    return problem if problem.needs_workspace else replace(problem, workspace=None)


def line_bytes(graph: Graph, group: Group, resident: Iterable[str] = ()) -> int:
    """Return what the lines of a group take at most, if no chain lags [byte].

    Args:
        graph: The network.
        group: The group.
        resident: Tensors that lie whole on chip, elsewhere.
    """
    return bytes_of_lines(graph, group.members, group.rows, resident)


def rows_of_nests(graph: Graph, group: Group, arch: Architecture) -> Mapping[str, int]:
    """Return for how many rows the nest of each member is.

    Where weights pass the scratchpad, a piece more of a stripe would bring them again: DarkNet-19
    on flexer-arch5 moves 24.0 MB with stripes cut to the rows of most of them, and 23.1 without.

    Args:
        graph: The network.
        group: The group.
        arch: The machine.
    """
    goes_around = Operand.W not in arch.scratchpad_level.holds
    return usual_rows(graph, group.members, group.rows, may_cut=goes_around)


@dataclass(frozen=True)
class GroupMapping:
    """Asks for the nests of a group's members.

    Attributes:
        module: The network with a plan that has the group.
        group: The group.
        objective: What mappers minimise.
        seed: Of mappers.
        make: Schedules the tiles.
    """

    module: Module
    group: Group
    objective: Objective
    seed: int
    make: Make = schedule_operator

    @property
    def _arch(self) -> Architecture:
        return require_arch(self.module)

    def problems(self, share: float, guide: Solve) -> tuple[tuple[str, MappingProblem], ...]:
        """Return (member, problem) of the members that the MAC array runs.

        Weights that remain from stripe to stripe share a memory, with all the copies that a nest
        makes of them. The members are asked in their order; each may take what those before it
        leave, less one copy of the weights of those that follow.

        Args:
            share: Part of what lines leave of the workspace.
            guide: Tells how many copies a member makes.
        """
        weights = [self.module.graph.types[op.operands[1]].bytes for op in self._macs]
        left, found = self._weights_capacity - sum(weights), list[tuple[str, MappingProblem]]()
        copies = self._arch.instances(self._arch.home(Operand.W).name)
        for (name, problem), own in zip(self._problems(share), weights, strict=True):
            if self._members.is_striped:
                # What no nest could take is left out, so that more members ask the same.
                problem = replace(problem, kept_weights=max(0, min(left + own, copies * own)))
                taken = _weights_bytes(problem, guide([(problem, name)])[problem].nest)
                left += own - min(taken, max(own, left + own))
            found.append((name, problem))
        return tuple(found)

    @property
    def _macs(self) -> tuple[Op, ...]:
        """Members that the MAC array runs."""
        ops = (self.module.graph.producer[name] for name in self.group.members)
        return tuple(op for op in ops if is_mac(op))

    @property
    def _weights_capacity(self) -> int:
        return self._arch.whole_capacity(self._arch.home(Operand.W).name)

    @cached_property
    def _members(self) -> Members:
        graph, plan, names = self.module.graph, self.module.graph_schedule, self.group.members
        assert plan is not None
        place = residency(graph, plan, unit_of(graph, plan, self.group.name))
        parts = chains(graph, names)
        return Members(graph, parts, self.group.rows, place, homes_of(graph, names))

    def _problems(self, share: float) -> Iterator[tuple[str, MappingProblem]]:
        graph, arch, members = self.module.graph, self._arch, self._members
        place = members.place
        rows = rows_of_nests(graph, self.group, arch)
        left = max(0, place.workspace_bytes - line_bytes(graph, self.group, place.addresses))
        for chain in members.chains:
            head = chain[0]
            base = workload(head, graph.types) if is_mac(head) else None
            if base is None:
                continue
            dims = {**base.dims, Dim.P: rows[head.name]}
            bits = passing_bits(chain, 1 + self._fetched(chain, place.addresses))
            problem = problem_on(
                arch,
                replace(base.resized(dims), output_bits=bits),
                int(max(0, left - self._handed_on(chain, rows[head.name])) * share),
                members.resident_operands(chain),
                self.objective,
                self.seed,
            )
            yield head.name, replace(problem, windows=windows_together(graph, chain))

    def _handed_on(self, chain: Chain, rows: int) -> int:
        """Return what a chain's members hand to each other in the scratchpad at a time [byte].

        That is no more than the accumulators of all NPUs hold.

        Args:
            chain: The chain.
            rows: How many rows its first member makes.
        """
        arch, level, type = self._arch, accumulator_level(self._arch), chain[0].result.type
        passed = passes_on(self.module.graph, chain) is not None
        if level is None or len(chain) - passed < 2:
            return 0
        held = (arch.level(level).usable or 0) * arch.instances(level) * len(arch.npus)
        made = type.elements * rows // rows_of(type)
        return min(made, held // arch.accumulator_bytes) * type.dtype.bytes

    def _fetched(self, chain: Sequence[Op], resident: Mapping[str, int]) -> int:
        """Return how many tensors of the result's size the tail of a chain fetches in tiles."""
        graph = self.module.graph
        count = 0
        for op in chain[1:]:
            types = operand_types(op, graph.types)
            for name, type in zip(op.operands, types, strict=True):
                if type is None or name in resident or name in self.group.members:
                    continue
                is_tile = spec_of(op).parameters is None
                count += is_tile and type.shape == op.result.type.shape
        return count

    def best(
        self, solve: Solve, guide: Solve | None = None
    ) -> tuple[tuple[OperatorMapping, ...], TileSchedule]:
        """Return nests whose tiles fit together, and the schedule of these.

        Args:
            solve: Answers the problems.
            guide: Answers them roughly, to share out the weights' memory; by default the same.

        Raises:
            InfeasibleError: No nests fit.
        """
        complaint: InfeasibleError | None = None
        for share in SHARES:
            try:
                problems = self.problems(share, guide or solve)
                found = solve([(problem, name) for name, problem in problems])
                mappings = tuple(mapping_of(name, found[problem]) for name, problem in problems)
                return mappings, self.schedule(mappings)
            except InfeasibleError as error:
                complaint = complaint or error
        assert complaint is not None
        raise complaint

    def schedule(self, mappings: tuple[OperatorMapping, ...]) -> TileSchedule:
        """Return the tiles of the group by themselves.

        Args:
            mappings: Nests of its members.

        Raises:
            InfeasibleError: They do not fit together.
        """
        plan = self.module.graph_schedule
        assert plan is not None
        module = replace(self.module, mappings=mappings)
        unit = unit_of(module.graph, plan, self.group.name)
        return self.make(module, unit)


def _weights_bytes(problem: MappingProblem, nest: LoopNest) -> int:
    """Return what all weights of a nest take of their memory, with all copies [byte]."""
    tiles = TileBatch(batch_nests([nest]), problem.machine, problem.held)
    return int(tiles.weights_bytes[0])


def mapping_of(name: str, result: MappingResult) -> OperatorMapping:
    """Return what a module keeps of a mapper's result.

    Args:
        name: Of the operator.
        result: What the mapper found.
    """
    return OperatorMapping(
        operator=name,
        nest=result.nest,
        mapper=result.mapper,
        status=result.status.value,
        objective=result.objective,
        bound=result.bound,
        scope=result.scope,
        estimate=result.estimate,
        note=result.note,
    )
