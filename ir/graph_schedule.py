"""Operator order, and which tensor is in the scratchpad where and when.

Step ``t`` executes ``order[t]``. A residence keeps a tensor at one address over an inclusive
range of steps. Within a step, in this order:

1. *spills*: a tensor without host copy, whose residence ends with the step before, is written
   off chip; its block serves this very step;
2. *loads and retrieves*: a tensor with a host copy whose residence begins here is read whole;
3. the operator runs: it reads its operands and writes its results, each either at its resident
   address (a result's residence begins here, perhaps in the place of an operand whose residence
   ends here: see ``in_place.py``) or *streamed* in tiles through the workspace;
   a result that is streamed out has a host copy from then on;
4. *stores*: a resident output of the network is written off chip; it may remain resident.

Network inputs and constants have a host copy from the start. A tensor with a host copy leaves
for free: its residence just ends. Constants that the plan does not mention pass in tiles,
through the workspace where the scratchpad holds weights, straight to the NPU where it does not.
Every step that streams anything, such constants included, has a workspace.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from operator import attrgetter

from .errors import VerifyError
from .notebook import Cell, table_html
from .proof import Scope, verify_proof


class SolveStatus(StrEnum):
    """What a solver can say of its result."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    LIMIT = "limit"
    INFEASIBLE = "infeasible"
    HEURISTIC = "heuristic"
    FALLBACK = "fallback"


@dataclass(frozen=True, slots=True, kw_only=True)
class Residence:
    """A tensor in the scratchpad, steps ``first_step`` to ``last_step`` inclusive.

    Attributes:
        tensor: Its name.
        first_step: First step during which it is there.
        last_step: Last step during which it is there.
        address: First byte, relative to the scratchpad's start.
        bytes: Its size.
    """

    tensor: str
    first_step: int
    last_step: int
    address: int
    bytes: int

    def may_replace(self, other: "Residence") -> bool:
        """Whether it begins in the place of another one that ends with the same step.

        Of their tensors this says nothing: only one of the step's result and an operand does.
        """
        is_same_place = (self.address, self.bytes) == (other.address, other.bytes)
        return is_same_place and self.first_step == other.last_step


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """A whole tensor moved between scratchpad and off-chip memory at the start of a step."""

    tensor: str
    step: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """Bytes that the operator of one step may use for tiles of what it streams."""

    step: int
    address: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """A tensor that the operator of one step reads from, or writes to, off-chip memory in tiles.

    Attributes:
        tensor: Its name.
        step: The step.
        bytes: Off-chip bytes that streaming moves according to the plan.
    """

    tensor: str
    step: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Operators that are executed together, in one step, tile by tile.

    What only they read never leaves the chip. Others may read the result of the last one, and of
    any other one (*further results*).

    Attributes:
        members: Names of the operators, in execution order; the group has the name of the last.
        rows: Rows of the last result that are made at a time; 0: all.
    """

    members: tuple[str, ...]
    rows: int = 0

    @property
    def name(self) -> str:
        """Name of the group."""
        return self.members[-1]


@dataclass(frozen=True, kw_only=True)
class GraphSchedule:
    """A plan for the scratchpad over the whole network.

    Every activation that an operator reads or writes is, at that step, either resident or
    streamed. Constants stand in the plan only where the architecture keeps them in the
    scratchpad for more than a tile at a time.

    Attributes:
        budget: Size of the scratchpad that the plan may use [byte].
        order: Names of the operators, in execution order; a group stands for its members.
        residences: Who is where and when.
        loads: First arrival of a network input or constant (compulsory).
        spills: Tensors written off chip although they are needed later.
        retrieves: Tensors brought back.
        stores: Network outputs written off chip (compulsory) from residence; observers may add
            other results, of which they get copies that nothing reads back.
        streams: Tensors moved in tiles.
        workspaces: At most one per step.
        groups: Steps that execute several operators.
        status: What is proven of the plans of ``scope``.
        objective: Off-chip bytes that the plan minimises.
        bound: Proven lower bound of the objective, 0 where nothing is proven; equals it where
            optimal.
        scope: The plans that the bound holds for.
    """

    budget: int
    order: tuple[str, ...]
    residences: tuple[Residence, ...] = ()
    loads: tuple[Transfer, ...] = ()
    spills: tuple[Transfer, ...] = ()
    retrieves: tuple[Transfer, ...] = ()
    stores: tuple[Transfer, ...] = ()
    streams: tuple[Stream, ...] = ()
    workspaces: tuple[Workspace, ...] = ()
    groups: tuple[Group, ...] = ()
    status: SolveStatus = SolveStatus.HEURISTIC
    objective: int = 0
    bound: int = 0
    scope: Scope | None = None

    @cached_property
    def step_of(self) -> Mapping[str, int]:
        """Step of every operator, those of groups included."""
        return {
            member: step for step, name in enumerate(self.order) for member in self.members(name)
        }

    def _repr_html_(self) -> str:
        caption = (
            f"Graph schedule, {len(self.order)} steps in {self.budget:,} bytes: "
            f"{self.objective:,} bytes off chip ({self.status}), bound {self.bound:,}"
        )
        headings = ("step", "operators", "resident", "streamed", "moved whole", "bytes")
        return table_html(caption, headings, map(self._row, range(len(self.order))))

    def _row(self, step: int) -> tuple[Cell, ...]:
        """Return what a notebook shows of a step."""
        kept = [
            item.tensor for item in self.residences if item.first_step <= step <= item.last_step
        ]
        streams = [item for item in self.streams if item.step == step]
        whole = (
            ("load", self.loads),
            ("spill", self.spills),
            ("retrieve", self.retrieves),
            ("store", self.stores),
        )
        moved = [(what, item) for what, items in whole for item in items if item.step == step]
        return (
            step,
            " ".join(self.members(self.order[step])),
            " ".join(kept),
            " ".join(item.tensor for item in streams),
            ", ".join(f"{what} {item.tensor}" for what, item in moved),
            sum(item.bytes for item in (*streams, *(item for _, item in moved))),
        )

    def group(self, name: str) -> Group | None:
        """Return the group of a name, ``None`` where it is that of a single operator."""
        return self.groups_by_name.get(name)

    def members(self, name: str) -> tuple[str, ...]:
        """Return the operators that are executed under a name of the order."""
        group = self.group(name)
        return (name,) if group is None else group.members

    @cached_property
    def operators(self) -> tuple[str, ...]:
        """Names of all operators, in execution order."""
        return tuple(member for name in self.order for member in self.members(name))

    @cached_property
    def groups_by_name(self) -> Mapping[str, Group]:
        """All groups, by name."""
        return {group.name: group for group in self.groups}

    def resident(self, tensor: str, step: int) -> Residence | None:
        """Return the residence that keeps a tensor during a step."""
        for item in self._by_tensor.get(tensor, ()):
            if item.first_step <= step <= item.last_step:
                return item
        return None

    def residences_at(self, step: int) -> tuple[Residence, ...]:
        """Return the residences of a step, in the order of the plan."""
        return self._by_step.get(step, ())

    @property
    def in_place(self) -> tuple[Residence, ...]:
        """The residences of results that begin in the place of an operand."""
        return tuple(item for item in self.residences if self.replaced_by(item))

    def replaced_by(self, item: Residence) -> tuple[Residence, ...]:
        """Return the residences in whose place another one begins: one, or none."""
        there = self.residences_at(item.first_step)
        return tuple(other for other in there if item is not other and item.may_replace(other))

    def moved_whole(self, step: int) -> tuple[Transfer, ...]:
        """Return the transfers of whole tensors at a step: loads, spills, retrieves, stores."""
        return self._whole_by_step.get(step, ())

    def workspace(self, step: int) -> Workspace | None:
        """Return the workspace of a step."""
        return self._workspaces.get(step)

    def streamed(self, tensor: str, step: int) -> bool:
        """Whether a step moves a tensor in tiles."""
        return (tensor, step) in self._streams

    @cached_property
    def _by_tensor(self) -> Mapping[str, tuple[Residence, ...]]:
        found: dict[str, list[Residence]] = {}
        for item in self.residences:
            found.setdefault(item.tensor, []).append(item)
        return {name: tuple(items) for name, items in found.items()}

    @cached_property
    def _by_step(self) -> Mapping[int, tuple[Residence, ...]]:
        found: dict[int, list[Residence]] = {}
        for item in self.residences:
            for step in range(item.first_step, item.last_step + 1):
                found.setdefault(step, []).append(item)
        return {step: tuple(items) for step, items in found.items()}

    @cached_property
    def _whole_by_step(self) -> Mapping[int, tuple[Transfer, ...]]:
        found: dict[int, list[Transfer]] = {}
        for item in (*self.loads, *self.spills, *self.retrieves, *self.stores):
            found.setdefault(item.step, []).append(item)
        return {step: tuple(items) for step, items in found.items()}

    @cached_property
    def _workspaces(self) -> Mapping[int, Workspace]:
        return {item.step: item for item in self.workspaces}

    @cached_property
    def _streams(self) -> frozenset[tuple[str, int]]:
        return frozenset((item.tensor, item.step) for item in self.streams)

    def verify(self) -> None:
        """Check what needs no graph: capacity, overlap in address x time, claims with their proofs.

        Raises:
            VerifyError: Names the tensor and step.
        """
        verify_proof(
            "graph schedule",
            self.objective,
            self.bound or None,
            self.scope,
            is_optimal=self.status is SolveStatus.OPTIMAL and self.objective > 0,
        )
        if len(set(self.operators)) != len(self.operators):
            raise VerifyError("an operator is scheduled twice")
        order = frozenset(self.order)
        for group in self.groups:
            if group.name not in order or len(group.members) < 2 or group.rows < 0:
                raise VerifyError(f"group %{group.name} is not in the order, or none")
        for item in self.residences:
            self._verify_block(item.tensor, item.first_step, item.last_step, item)
        for item in self.workspaces:
            self._verify_block(f"workspace of step {item.step}", item.step, item.step, item)
        _verify_no_overlap(self.residences)
        self._verify_workspaces()

    def _verify_block(
        self, name: str, first: int, last: int, block: "Residence | Workspace"
    ) -> None:
        if not 0 <= first <= last < len(self.order):
            raise VerifyError(f"{name} is resident over impossible steps {first}..{last}")
        if block.address < 0 or block.address + block.bytes > self.budget:
            place = f"{block.address}+{block.bytes}"
            raise VerifyError(f"{name} at {place} leaves the budget {self.budget}")

    def _verify_workspaces(self) -> None:
        if len(self._workspaces) < len(self.workspaces):
            raise VerifyError("a step has two workspaces")
        for item in self.workspaces:
            for other in self.residences_at(item.step):
                if overlap(item, other):
                    raise VerifyError(
                        f"the workspace and {other.tensor} overlap at step {item.step}"
                    )


def overlap(one: Residence | Workspace, other: Residence | Workspace) -> bool:
    """Whether two blocks of the scratchpad share an address.

    Args:
        one: A block.
        other: Another one.
    """
    return one.address < other.address + other.bytes and other.address < one.address + one.bytes


def _verify_no_overlap(residences: Iterable[Residence]) -> None:
    active: list[Residence] = []
    for item in sorted(residences, key=attrgetter("first_step")):
        active = [other for other in active if other.last_step >= item.first_step]
        for other in active:
            replaces = item.may_replace(other) or other.may_replace(item)
            if overlap(item, other) and not replaces:
                raise VerifyError(
                    f"{item.tensor} and {other.tensor} overlap at step {item.first_step}"
                )
        active.append(item)
