"""Menus: which tensors an operator may stream, through which workspace, at what traffic.

What an option moves is told by a *traffic model*, a function that can be replaced: the analytic
one of ``traffic/streaming.py``, or ``traffic/tiled.py``, which asks the mapper and cuts the tiles.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from ....ir.arch import Architecture
from ....ir.direct import direct_operands
from ....ir.graph import Graph, Op
from ....ir.groups import GROUP
from ....ir.in_place import replaceable
from ....ir.workload import Operand
from .problem import Menu, Option
from .search.bounds import closures
from .search.moves import mask_of
from .traffic.delay import NO_DELAY, Delay
from .traffic.model import TrafficModel

_MANY = 4
_LEAST_WORKSPACE = 32


def resident_menu(graph: Graph, arch: Architecture) -> Menu:
    """Return the menu of the paper: one option, with everything resident.

    What the machine reads from off chip directly is streamed; it takes no room.
    """

    def menu(op: Op, number: Mapping[str, int]) -> tuple[Option, ...]:
        direct = sorted(direct_operands(graph, op, arch))
        return (Option(streamed=tuple((number[name], graph.types[name].bytes) for name in direct)),)

    return menu


def streaming_menu(
    graph: Graph,
    arch: Architecture,
    budget: int,
    model: TrafficModel,
    *,
    include_parameters: bool = False,
    delay: Delay = NO_DELAY,
    replaced: Mapping[str, tuple[str, ...]] | None = None,
) -> Menu:
    """Return the function that gives each operator's menu.

    An option is kept when no other one streams the same tensors for no more workspace and no
    more traffic and delay. The workspaces that are tried grow by the square root of two, so that
    the menu of a larger budget has (nearly) all options of a smaller one's.

    Args:
        graph: The network.
        arch: The accelerator.
        budget: Size of the scratchpad [byte].
        model: What an option moves.
        include_parameters: Whether constants are tensors of the problem, resident whole.
        delay: What cycles are worth.
        replaced: By operator, the tensors of which one may give its place to the result.
    """
    weights_pass = Operand.W in arch.scratchpad_level.holds and not include_parameters

    def menu(op: Op, number: Mapping[str, int]) -> tuple[Option, ...]:
        names = tuple(name for name in op.touched if name in number)
        constants = any(graph.is_constant(name) for name in op.inputs)
        options: list[Option] = []
        direct = direct_operands(graph, op, arch)
        results = [value.name for value in op.results]
        for streamed in dict.fromkeys(
            chosen | direct for chosen in _subsets(names, results, graph)
        ):
            resident = frozenset(names) - streamed
            room = budget - sum(graph.types[name].bytes for name in resident)
            if op.name in resident and resident & set((replaced or {}).get(op.name, ())):
                room += op.result.type.bytes
            if include_parameters:
                resident |= frozenset(name for name in op.inputs if graph.is_constant(name))
            needs_workspace = bool(streamed) or (constants and weights_pass) or op.kind == GROUP
            options += _pareto(op, resident, room, number, model, delay, needs_workspace)
        return tuple(options)

    return menu


def replaced_operands(network: Graph, graph: Graph) -> Mapping[str, tuple[str, ...]]:
    """Return by operator the operands that its result may replace: it reads them last in any order.

    Args:
        network: The network.
        graph: The same with one operator for each group.
    """
    place = {op.name: number for number, op in enumerate(graph.ops)}

    def mask(ops: Iterable[Op]) -> int:
        return mask_of([place[op.name] for op in ops])

    made = graph.producer
    ancestors, _ = closures([mask(made[x] for x in op.inputs if x in made) for op in graph.ops])
    return {
        op.name: tuple(
            name
            for name in replaceable(network, op)
            if not mask(graph.consumers[name]) & ~(ancestors[number] | 1 << number)
        )
        for number, op in enumerate(graph.ops)
    }


def _subsets(
    names: Sequence[str], results: Sequence[str], graph: Graph
) -> Iterator[frozenset[str]]:
    """Yield the sets of tensors that may be streamed together, the empty one first.

    Args:
        names: Tensors of an operator.
        results: Those that it makes.
        graph: The network.
    """
    movable = [name for name in names if not graph.is_constant(name)]
    if len(movable) <= _MANY:
        for count in range(len(movable) + 1):
            for chosen in combinations(movable, count):
                yield frozenset(chosen)
        return
    yield frozenset()
    operands = [name for name in movable if name not in results]
    for name in movable:
        yield frozenset({name})
    for result in results:
        for name in (*operands, *results):
            yield frozenset({name, result})
    yield frozenset(operands)
    yield frozenset(movable)


def _pareto(
    op: Op,
    resident: frozenset[str],
    room: int,
    number: Mapping[str, int],
    model: TrafficModel,
    delay: Delay,
    needs_workspace: bool,
) -> list[Option]:
    """Return the options with given residents that trade workspace against traffic."""
    if room < 0:
        return []
    if not needs_workspace:
        found = model(op, resident, 0)
        if found is None:
            return []
        return [Option(constant_bytes=found.constants, delay=delay.of(found))]
    options: list[Option] = []
    least: int | None = None
    for workspace in _workspaces(room):
        found = model(op, resident, workspace)
        if found is None or (least is not None and found.total + delay.of(found) >= least):
            continue
        least = found.total + delay.of(found)
        options.append(
            Option(
                streamed=tuple((number[name], size) for name, size in found.activations),
                workspace=found.workspace,
                constant_bytes=found.constants,
                delay=delay.of(found),
            )
        )
    return options


def _workspaces(room: int) -> Iterator[int]:
    """Yield workspaces from a few bytes up to all there is."""
    workspace, half_step = _LEAST_WORKSPACE, _LEAST_WORKSPACE * 7 // 5
    while workspace < room:
        yield workspace
        workspace, half_step = half_step, 2 * workspace
    if room > 0:
        yield room
