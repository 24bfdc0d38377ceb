"""Order and residency as an integer program: eqs. (1)-(8) and (12), without addresses.

Variables exist only inside the windows that dependences leave: an operator runs between the
number of its ancestors and the number of its non-descendants, a tensor lives from the first
step of its producer to the last step of its consumers (the paper's tensor overlap analysis).

Symbols of the paper: ``C`` creates, ``P`` keeps, ``S`` spills, ``R`` retrieves, ``res`` resides.

Deviation:
    * One operator runs per step; the equations leave that to the definition of a step.
    * Network inputs (and constants, where they count) have a host copy from the start, so they
      may be retrieved without a spill; their first arrival is the compulsory load. Outputs have
      a host copy from the step that makes them on; that store is compulsory too. Both are part
      of the objective, as a constant where everything is resident.
    * Dropping a tensor that has a host copy is free: it is just not kept. With eq. (3) as
      published, nothing else is needed for that.
    * A tensor that one operator alone reads from off chip, or that nobody reads, resides during
      that operator and has no variables of its own.
    * An operator chooses one option of its menu. What the option streams need not reside, but
      must have a host copy, and may not reside at that step. The paper is the menu with one
      option and nothing streamed.

References:
    Li, Gupta, Malik. Combined Scheduling, Memory Allocation and Tensor Replacement for
    Minimizing Off-Chip Data Accesses of DNN Accelerators. FMCAD, 2024.
"""

import math
from collections.abc import Sequence
from functools import cached_property, reduce

from ....mip import Linear, MipModel, MipResult, Solver, total
from ....mip.linear import ZERO
from ..plan import Plan, replay
from ..problem import Option, PlanProblem
from ..search.bounds import closures


class OrderResidency:
    """The variables and rows of eqs. (1)-(8).

    Args:
        problem: The problem.
        solver: Who solves it.
        order: Runs the operators in this order only (eq. (16)).
        spilling: Whether tensors may leave before their last use; ``False`` is eq. (13).
    """

    def __init__(
        self,
        problem: PlanProblem,
        *,
        solver: Solver = Solver.HIGHS,
        order: Sequence[int] | None = None,
        spilling: bool = True,
    ) -> None:
        self.problem = problem
        self.model = MipModel(problem.name, solver)
        self.steps = len(problem.operations)
        self.windows = windows_of(problem, order)
        self.shared = [i for i in range(len(problem.tensors)) if not problem.is_private(i)]
        self._spilling = spilling
        self._runs = self._operators()
        self._make_tensors()
        self._one_operator_per_step()
        for tensor in self.shared:
            self._tensor_rows(tensor)
        self._dependence_rows()

    @cached_property
    def unit(self) -> int:
        """Bytes are counted in multiples of this, so that coefficients stay small [byte]."""
        sizes = [tensor.bytes for tensor in self.problem.tensors]
        options = (option for op in self.problem.operations for option in op.menu)
        for option in options:
            sizes += [option.workspace, option.constant_bytes, option.delay]
            sizes += [cost for _, cost in option.streamed]
        return max(1, reduce(math.gcd, sizes, 0))

    @property
    def budget(self) -> int:
        """The budget in units, rounded down."""
        return self.problem.budget // self.unit

    def size(self, tensor: int) -> int:
        """Return the size of a tensor in units."""
        return self.problem.tensors[tensor].bytes // self.unit

    def lifetime(self, tensor: int) -> range:
        """Return the steps at which a tensor may reside."""
        producer = self.problem.producer[tensor]
        touching = [self.windows[op] for op in self.problem.consumers[tensor]]
        if producer is not None:
            touching.insert(0, self.windows[producer])
        first = min((window[0] for window in touching), default=0)
        return range(first, max((window[-1] for window in touching), default=-1) + 1)

    def runs(self, operation: int, step: int) -> Linear:
        """Return whether an operator runs at a step."""
        return total(self._runs.get((operation, step), ()))

    def creates(self, tensor: int, step: int) -> Linear:
        """``C``: whether a tensor is made in the scratchpad at a step."""
        return self._made(tensor, step, streamed=False)

    def resides(self, tensor: int, step: int) -> Linear:
        """``res``: whether a tensor is in the scratchpad at a step."""
        if self.problem.is_private(tensor):
            users = self.problem.consumers[tensor]
            return self._made(tensor, step, streamed=False) + total(
                self._chooses(op, step, tensor, streamed=False) for op in users
            )
        return total(
            (self.creates(tensor, step), self._keep(tensor, step), self._fetch(tensor, step))
        )

    def keeps(self, tensor: int, step: int) -> Linear:
        """``P``: whether a tensor that resided at the step before stays."""
        return self._keep(tensor, step)

    def room(self, step: int) -> Linear:
        """Return the room that is taken at a step, in units."""
        shared = (
            self.resides(tensor, step) * self.size(tensor)
            for tensor in self.shared
            if step in self._lifetimes[tensor]
        )
        held = (
            run * (self.problem.held(op, option) // self.unit)
            for op in range(self.steps)
            for run, option in self._choices(op, step)
        )
        return total((*shared, *held))

    def off_chip(self) -> Linear:
        """Return eq. (12): the off-chip traffic, in units, compulsory part included."""
        moved = [
            variable * self.size(tensor)
            for table in (self._spills, self._fetches)
            for (tensor, _), variable in table.items()
        ]
        steps = (
            run * (self.problem.step_cost(op, option) // self.unit)
            for op in range(self.steps)
            for step in self.windows[op]
            for run, option in self._choices(op, step)
        )
        return total((*moved, *steps))

    def fetch_when_read(self) -> None:
        """Add that a tensor is retrieved only for an operator that runs at that very step.

        No optimum is lost: a retrieve that comes earlier can wait.
        """
        for (tensor, step), fetch in self._fetches.items():
            readers = total(self.runs(op, step) for op in self.problem.consumers[tensor])
            self.model.add_at_most(fetch, readers)

    def plan(self, result: MipResult) -> Plan:
        """Return the plan of a solution."""
        steps: list[tuple[int, int]] = []
        for step in range(self.steps):
            op, number = next(
                (op, number)
                for op in range(self.steps)
                for number, run in enumerate(self._runs.get((op, step), ()))
                if result.value(run) > 0.5
            )
            steps.append((op, number))
        fetched = {key for key, fetch in self._fetches.items() if result.value(fetch) > 0.5}
        return replay(self.problem, _with_evictions(self.problem, steps, fetched))

    def _operators(self) -> dict[tuple[int, int], list[Linear]]:
        """Eq. (7): each operator runs once, in one way."""
        found: dict[tuple[int, int], list[Linear]] = {}
        for op, operation in enumerate(self.problem.operations):
            for step in self.windows[op]:
                found[op, step] = [self.model.binary() for _ in operation.menu]
            runs = (run for step in self.windows[op] for run in found[op, step])
            self.model.add_equal(total(runs), 1)
        return found

    def _make_tensors(self) -> None:
        self._lifetimes = {tensor: self.lifetime(tensor) for tensor in self.shared}
        self._keeps: dict[tuple[int, int], Linear] = {}
        self._spills: dict[tuple[int, int], Linear] = {}
        self._fetches: dict[tuple[int, int], Linear] = {}
        for tensor in self.shared:
            on_host = self.problem.tensors[tensor].on_host
            has_copy = on_host or self.problem.tensors[tensor].is_output
            life = self._lifetimes[tensor]
            for step in life[1:]:
                self._keeps[tensor, step] = self.model.binary()
            if not self._spilling:
                if on_host:
                    self._fetches.update({(tensor, step): self.model.binary() for step in life})
                continue
            for step in () if has_copy else life[1:]:
                self._spills[tensor, step] = self.model.binary()
            for step in life if on_host else life[1:]:
                self._fetches[tensor, step] = self.model.binary()

    def _one_operator_per_step(self) -> None:
        for step in range(self.steps):
            self.model.add_equal(total(self.runs(op, step) for op in range(self.steps)), 1)

    def _tensor_rows(self, tensor: int) -> None:
        model = self.model
        for step in self._lifetimes[tensor]:
            creates, keeps = self.creates(tensor, step), self._keep(tensor, step)
            spills, fetches = self._spill(tensor, step), self._fetch(tensor, step)
            before_made, before_kept = self.creates(tensor, step - 1), self._keep(tensor, step - 1)
            model.add_at_most(total((creates, keeps, spills, fetches)), 1)  # eq. (1)
            if (tensor, step) in self._keeps:  # eq. (2)
                before = total((before_made, before_kept, self._fetch(tensor, step - 1)))
                model.add_at_most(keeps, before)
            if (tensor, step) in self._spills:  # eq. (3)
                model.add_at_most(spills, before_made + before_kept)
            if (tensor, step) in self._fetches:  # eq. (4)
                model.add_at_most(fetches, self._host_copy(tensor, step))
        spills = [self._spill(tensor, step) for step in self._lifetimes[tensor]]
        if len(spills) > 1:  # eq. (8)
            model.add_at_most(total(spills), 1)
        if not self._spilling and self.problem.tensors[tensor].on_host:
            fetches = [self._fetch(tensor, step) for step in self._lifetimes[tensor]]
            model.add_at_most(total(fetches), 1)

    def _dependence_rows(self) -> None:
        """Eq. (5): what an operator reads resides, or is streamed and has a host copy."""
        for op, operation in enumerate(self.problem.operations):
            for tensor in dict.fromkeys(operation.reads):
                if self.problem.is_private(tensor):
                    continue
                for step in self.windows[op]:
                    self._read_row(op, tensor, step)
            for source in sorted(self.problem.predecessors[op]):
                self._precedence_rows(op, source)

    def _read_row(self, op: int, tensor: int, step: int) -> None:
        present = self._keep(tensor, step) + self._fetch(tensor, step)
        resident = self._chooses(op, step, tensor, streamed=False)
        self.model.add_at_most(resident, present)
        streamed = self._chooses(op, step, tensor, streamed=True)
        if not streamed.is_constant:
            self.model.add_at_most(streamed, self._host_copy(tensor, step))
            self.model.add_at_most(streamed + present, 1)

    def _precedence_rows(self, op: int, source: int) -> None:
        """Add that the source has run before; implied by eqs. (2) and (5), but tighter."""
        ran = ZERO
        window = {*self.windows[op], *self.windows[source]}
        for step in range(min(window), self.windows[source][-1] + 1):
            ran_before = total(
                self.runs(source, earlier) for earlier in self.windows[source] if earlier < step
            )
            ran = ran + self.runs(op, step)
            if not ran.is_constant:
                self.model.add_at_most(ran, ran_before)

    def _host_copy(self, tensor: int, step: int) -> Linear:
        """Return whether a tensor has been copied off chip by a step."""
        item = self.problem.tensors[tensor]
        if item.on_host:
            return ZERO + 1.0
        life = self._lifetimes[tensor]
        spilled = (self._spill(tensor, at) for at in life if at <= step)
        emitted = (self._made(tensor, at, streamed=True) for at in life if at < step)
        stored = (self.creates(tensor, at) for at in life if at < step and item.is_output)
        return total((*spilled, *emitted, *stored))

    def _choices(self, op: int, step: int) -> list[tuple[Linear, Option]]:
        runs = self._runs.get((op, step), [])
        return list(zip(runs, self.problem.operations[op].menu, strict=bool(runs)))

    def _chooses(self, op: int, step: int, tensor: int, *, streamed: bool) -> Linear:
        """Return whether an operator runs with a tensor streamed, or resident."""
        return total(
            run
            for run, option in self._choices(op, step)
            if streamed == any(item == tensor for item, _ in option.streamed)
        )

    def _made(self, tensor: int, step: int, *, streamed: bool) -> Linear:
        producer = self.problem.producer[tensor]
        if producer is None:
            return ZERO
        return self._chooses(producer, step, tensor, streamed=streamed)

    def _keep(self, tensor: int, step: int) -> Linear:
        return self._keeps.get((tensor, step), ZERO)

    def _spill(self, tensor: int, step: int) -> Linear:
        return self._spills.get((tensor, step), ZERO)

    def _fetch(self, tensor: int, step: int) -> Linear:
        return self._fetches.get((tensor, step), ZERO)


def windows_of(problem: PlanProblem, order: Sequence[int] | None = None) -> list[range]:
    """Return the steps at which each operator may run; just one where the order is fixed."""
    if order is not None:
        step_of = {op: step for step, op in enumerate(order)}
        return [range(step_of[op], step_of[op] + 1) for op in range(len(order))]
    before = [sum(1 << op for op in items) for items in problem.predecessors]
    ancestors, descendants = closures(before)
    count = len(problem.operations)
    return [
        range(ancestors[op].bit_count(), count - descendants[op].bit_count()) for op in range(count)
    ]


def _with_evictions(
    problem: PlanProblem, steps: Sequence[tuple[int, int]], fetched: set[tuple[int, int]]
) -> list[tuple[int, int, int]]:
    """Add to each step what leaves before it: what is fetched or streamed before its next use."""
    evicted = [0] * (len(steps) + 1)
    touched: dict[int, int] = {}
    for step, (op, option) in enumerate(steps):
        operation = problem.operations[op]
        streamed = {tensor for tensor, _ in operation.menu[option].streamed}
        for tensor in dict.fromkeys(operation.touches):
            last = touched.get(tensor)
            absent = tensor in streamed or any(
                (tensor, at) in fetched for at in range((last or 0) + 1, step + 1)
            )
            if last is not None and absent:
                evicted[last + 1] |= 1 << tensor
                del touched[tensor]
            if tensor not in streamed:
                touched[tensor] = step
    return [(op, option, evicted[step]) for step, (op, option) in enumerate(steps)]
