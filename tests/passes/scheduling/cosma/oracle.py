"""Random problems, and their optima by trying every order, eviction and option."""

import heapq
import itertools
import random
from dataclasses import replace

from hypothesis import strategies as st

from accnn.passes.scheduling.cosma.problem import (
    ALL_RESIDENT,
    Operation,
    Option,
    PlanProblem,
    Tensor,
)


@st.composite
def problems(
    draw: st.DrawFn, *, most: int = 6, menus: bool = False, slack: int = 5, in_place: bool = False
) -> PlanProblem:
    """Draw a problem of up to ``most`` operators whose budget is at least its minimum.

    Results that are as large as operands that are read last may be written in place, if asked for.
    """
    size = st.integers(1, 8)
    tensors = [
        Tensor(name=f"x{i}", bytes=draw(size), on_host=True) for i in range(draw(st.integers(1, 2)))
    ]
    operations: list[Operation] = []
    for index in range(draw(st.integers(1, most))):
        reads = draw(
            st.lists(st.integers(0, len(tensors) - 1), min_size=1, max_size=3, unique=True)
        )
        writes = list(range(len(tensors), len(tensors) + draw(st.sampled_from((1, 1, 1, 2)))))
        sizes = st.sampled_from([tensors[t].bytes for t in reads]) if in_place else size
        tensors += [Tensor(name=f"t{index}_{number}", bytes=draw(sizes)) for number in writes]
        menu = ALL_RESIDENT
        if menus:
            touched = (*reads, *writes)
            streamed = draw(st.lists(st.sampled_from(touched), max_size=3, unique=True))
            extra = draw(st.integers(0, 4))
            menu += (
                Option(
                    streamed=tuple((t, tensors[t].bytes + extra) for t in streamed),
                    workspace=draw(st.integers(1, 4)),
                    constant_bytes=draw(st.integers(0, 3)),
                ),
            )
        operations.append(
            Operation(
                name=f"t{index}_{writes[0]}", reads=tuple(reads), writes=tuple(writes), menu=menu
            )
        )
    return _finished(draw, tensors, operations, slack, in_place)


def _finished(
    draw: st.DrawFn,
    tensors: list[Tensor],
    operations: list[Operation],
    slack: int,
    in_place: bool,
) -> PlanProblem:
    read = {tensor for operation in operations for tensor in operation.reads}
    final = [
        Tensor(
            name=tensor.name,
            bytes=tensor.bytes,
            on_host=tensor.on_host,
            is_output=not tensor.on_host and (index not in read or draw(st.integers(0, 9)) == 0),
        )
        for index, tensor in enumerate(tensors)
    ]
    problem = PlanProblem(
        name="random", tensors=tuple(final), operations=tuple(operations), budget=0
    )
    if in_place:
        problem = _written_in_place(problem)
    least = max(
        min(problem.footprint(index, option) for option in operation.menu)
        for index, operation in enumerate(operations)
    )
    return replace(problem, budget=least + draw(st.integers(0, slack)))


def _written_in_place(problem: PlanProblem) -> PlanProblem:
    """Let every single result replace what is as large and read last, in any order."""
    earlier: list[frozenset[int]] = []
    for sources in problem.predecessors:
        earlier.append(sources.union(*(earlier[source] for source in sources)))

    def replaces(index: int, operation: Operation) -> tuple[int, ...]:
        result, *others = operation.writes
        return tuple(
            tensor
            for tensor in operation.reads
            if not others
            and problem.tensors[tensor].bytes == problem.tensors[result].bytes
            and set(problem.consumers[tensor]) <= earlier[index] | {index}
        )

    operations = enumerate(problem.operations)
    changed = tuple(replace(op, replaces=replaces(index, op)) for index, op in operations)
    return replace(problem, operations=changed)


@st.composite
def forks(draw: st.DrawFn, *, sides: tuple[str, ...] = ("left", "right")) -> PlanProblem:
    """Draw a problem with a wall ``w`` and operators that may run before it or after it.

    Behind the wall all need the same input again, which is fetched once for all; what comes last
    may read it, too.
    """
    small, large = st.integers(1, 3), st.integers(8, 12)
    again = st.sampled_from(((), ("x",)))
    drawn = {"y": small, "x": small, "k": small, "m": large, "w": large}
    sizes = {name: draw(size) for name, size in {**drawn, **dict.fromkeys(sides, small)}.items()}
    names = list(sizes)
    tensors = tuple(
        Tensor(name=name, bytes=size, on_host=name == "x", is_output=name == "y")
        for name, size in sizes.items()
    )
    reads = {"k": "x", "m": "xk", "w": "m", **dict.fromkeys(sides, "x")}
    inputs = {name: tuple(map(names.index, read)) for name, read in reads.items()}
    inputs["y"] = tuple(map(names.index, ("k", "w", *sides, *draw(again))))
    operations = tuple(
        Operation(name=name, reads=read, writes=(names.index(name),), menu=ALL_RESIDENT)
        for name, read in inputs.items()
    )
    problem = PlanProblem(name="forked", tensors=tensors, operations=operations, budget=0)
    least = max(problem.footprint(op, ALL_RESIDENT[0]) for op in range(len(operations)))
    return replace(problem, budget=least + draw(st.integers(0, 3)))


@st.composite
def corridors(draw: st.DrawFn) -> PlanProblem:
    """Draw a chain of operators that leave no byte unused but the first, and what passes them by.

    That is off chip meanwhile, so nothing is left to choose.
    """
    count = draw(st.integers(2, 5))
    budget = 60
    some = st.sets(st.integers(1, count), min_size=1)
    passing = [(2, {count}, False)]  # makes a wall of every operator but the ends
    passing += draw(st.lists(st.tuples(st.integers(2, 5), some, st.booleans()), max_size=3))
    tensors = [Tensor(name="x", bytes=draw(st.integers(1, 3)), on_host=True)]
    tensors += [
        Tensor(
            name=f"s{index}",
            bytes=size,
            on_host=is_input,
            is_output=not is_input and index > 0 and draw(st.booleans()),
        )
        for index, (size, _, is_input) in enumerate(passing)
    ]
    made = [index for index, tensor in enumerate(tensors) if not tensor.on_host]
    operations: list[Operation] = []
    for step in range(count + 1):
        reads = [at for at, (_, users, _) in enumerate(passing, 1) if step in users]
        reads.append(len(tensors) - 1 if step else 0)
        writes = (*(made if step == 0 else ()), len(tensors))
        size = budget - sum(tensors[at].bytes for at in reads) if step else budget // 2
        tensors.append(Tensor(name=f"t{step}", bytes=size, is_output=step == count))
        operations.append(Operation(name=f"t{step}", reads=tuple(reads), writes=writes))
    return PlanProblem(
        name="corridor", tensors=tuple(tensors), operations=tuple(operations), budget=budget
    )


def brute_force(problem: PlanProblem) -> int:
    """Return the least off-chip bytes over all orders, evictions and options."""
    count = len(problem.operations)
    hosted = frozenset(i for i, tensor in enumerate(problem.tensors) if tensor.on_host)
    start = (frozenset[int](), frozenset[int](), hosted)
    best = {start: 0}
    heap = [(0, 0, start)]
    serial = 0
    while heap:
        cost, _, state = heapq.heappop(heap)
        if cost > best[state]:
            continue
        if len(state[0]) == count:
            return cost
        for added, after in _steps(problem, state):
            if cost + added < best.get(after, cost + added + 1):
                best[after] = cost + added
                serial += 1
                heapq.heappush(heap, (cost + added, serial, after))
    raise AssertionError("no plan exists")


def random_plan(problem: PlanProblem, rng: random.Random) -> int | None:
    """Return the off-chip bytes of a plan drawn step by step, ``None`` where it gets stuck."""
    hosted = frozenset(i for i, tensor in enumerate(problem.tensors) if tensor.on_host)
    state, total = (frozenset[int](), frozenset[int](), hosted), 0
    while len(state[0]) < len(problem.operations):
        steps = _steps(problem, state)
        if not steps:
            return None
        # Cheap steps are likelier: what is drawn is then close to what is good.
        least = min(cost for cost, _ in steps)
        cheap = [step for step in steps if step[0] == least]
        cost, state = rng.choice(cheap if rng.random() < 0.8 else steps)
        total += cost
    return total


_State = tuple[frozenset[int], frozenset[int], frozenset[int]]


def _steps(problem: PlanProblem, state: _State) -> list[tuple[int, _State]]:
    executed, resident, _ = state
    found: list[tuple[int, _State]] = []
    for op in range(len(problem.operations)):
        if op in executed or not problem.predecessors[op] <= executed:
            continue
        for option in problem.operations[op].menu:
            for count in range(len(resident) + 1):
                for leaving in itertools.combinations(sorted(resident), count):
                    step = _step(problem, state, op, option, frozenset(leaving))
                    found += [] if step is None else [step]
    return found


def _step(
    problem: PlanProblem, state: _State, op: int, option: Option, leaving: frozenset[int]
) -> tuple[int, _State] | None:
    executed, resident, hosted = state
    operation = problem.operations[op]
    size = [tensor.bytes for tensor in problem.tensors]
    streamed = {tensor for tensor, _ in option.streamed}
    resident = resident - leaving
    cost = sum(size[tensor] for tensor in leaving if tensor not in hosted)
    hosted = hosted | leaving
    wanted = set(operation.reads) - streamed
    absent = wanted - resident
    if not absent <= hosted or resident & streamed:
        return None
    if not (set(operation.reads) & streamed) <= hosted:
        return None
    made = set(operation.writes) - streamed
    resident = resident | wanted | made
    over = made and any(tensor in wanted for tensor in operation.replaces)
    saved = sum(size[tensor] for tensor in made) if over else 0
    if sum(size[tensor] for tensor in resident) - saved + option.workspace > problem.budget:
        return None
    stored = {tensor for tensor in made if problem.tensors[tensor].is_output}
    cost += sum(size[tensor] for tensor in absent | stored)
    cost += sum(moved for _, moved in option.streamed) + option.constant_bytes
    hosted = hosted | stored | (set(operation.writes) & streamed)
    executed = executed | {op}
    kept = frozenset(
        tensor
        for tensor in resident
        if any(user not in executed for user in problem.consumers[tensor])
    )
    return cost, (executed, kept, hosted)
