"""Networks whose plan has given groups, compiled and run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from accnn.backend.load import load_architecture
from accnn.backend.lowering.lower import lower
from accnn.ir.graph import Attr, Graph
from accnn.ir.graph_schedule import Group
from accnn.ir.groups import contracted, group_op
from accnn.ir.mapping import Allocation, Loop, SpatialLoop
from accnn.ir.module import Module
from accnn.ir.resources import Constants
from accnn.ir.tiles.events import TRANSFERS
from accnn.ir.types import DType
from accnn.ir.workload import Dim, Operand
from accnn.passes.base import Context
from accnn.passes.mapping.recipes.in_tiles import GreedyInTiles
from accnn.passes.scheduling.in_order import schedule_in_order
from accnn.passes.scheduling.map_groups import GroupMapping, mapping_of
from accnn.passes.scheduling.map_operators import MapOperators
from accnn.passes.scheduling.network.join import join
from accnn.passes.scheduling.static.group_schedules import GroupSchedules, StripeOrder
from accnn.passes.scheduling.static.schedule_tiles import ScheduleTiles, schedule_in_turn
from accnn.runtime_sim.reference.run import run as run_reference
from tests.flow import Compiled
from tests.inputs import Array, random_inputs
from tests.networks import NetworkBuilder, per_tensor
from tests.tiles import tiles_of


def planned(graph: Graph, arch: str, groups: Sequence[Group], budget: int | None = None) -> Module:
    """Return a module with the plan of the graph's own order, some operators fused."""
    machine = load_architecture(arch)
    plan = schedule_in_order(contracted(graph, groups), machine, budget=budget)
    return Module(graph=graph, arch=machine, graph_schedule=replace(plan, groups=tuple(groups)))


def compile_fused(
    graph: Graph,
    data: Mapping[str, Array],
    arch: str,
    groups: Sequence[Group],
    budget: int | None = None,
    *,
    compared: bool = False,
) -> Compiled:
    """Compile a network with given groups and compute what its outputs must be.

    Args:
        graph: The network.
        data: Of its constants.
        arch: Name of the machine.
        groups: What is fused.
        budget: Of the plan [byte].
        compared: Whether nests are compared as in a compilation, which takes longer, but finds
            some that fit where the greedy mapper's do not.
    """
    module = mapped(graph, data, arch, groups, budget, compared=compared)
    return _tiled(module)


def mapped(
    graph: Graph,
    data: Mapping[str, Array],
    arch: str,
    groups: Sequence[Group],
    budget: int | None = None,
    *,
    compared: bool = False,
) -> Module:
    """Return a network with given groups and the nests of their members, not tiled.

    Args:
        graph: The network.
        data: Of its constants.
        arch: Name of the machine.
        groups: What is fused.
        budget: Of the plan [byte].
        compared: Whether nests are compared as in a compilation, which takes longer.
    """
    module = replace(planned(graph, arch, groups, budget), constants=Constants(data))
    if compared:
        return MapOperators(mapper="output-stationary").run(module, Context())
    return with_nests(module)


def with_nests(module: Module) -> Module:
    """Return a module that has its plan with nests of the greedy mapper, as they are.

    To compare them with better ones, as the pass does, would take most of the time of a test.
    """
    finder, plan, ctx = MapOperators(mapper="output-stationary"), module.graph_schedule, Context()
    assert plan is not None and module.arch is not None
    solve = partial(finder.timed, module.arch, ctx, GreedyInTiles(npus=len(module.arch.npus)))
    asked = finder.problems(module.graph, plan, module.arch, ctx.seed)
    found = solve([(problem, name) for name, problem in asked])
    nests = [mapping_of(name, found[problem]) for name, problem in asked]
    for group in plan.groups:
        mapping = GroupMapping(module, group, finder.objective, ctx.seed, schedule_in_turn)
        nests += mapping.best(solve)[0]
    return replace(module, mappings=tuple(nests))


def tiled(module: Module) -> Compiled:
    """Compile a module that has its plan, and compute what its outputs must be."""
    return _tiled(with_nests(module))


def _tiled(module: Module) -> Compiled:
    return lowered_with(ScheduleTiles().run(module, Context()))


def lowered_with(module: Module) -> Compiled:
    """Lower a module that has its tiles, and compute what its outputs must be."""
    module.verify()
    lowered = lower(module)
    lowered.program.verify()
    constants = module.constants.with_arrays(lowered.derived)
    inputs = random_inputs(module.graph, 0)
    expected = run_reference(module.graph, module.constants, inputs)
    return Compiled(replace(module, program=lowered.program, constants=constants), inputs, expected)


def moved(compiled: Compiled) -> set[str]:
    """Return the tensors that are moved between chip and memory in tiles."""
    schedule = tiles_of(compiled.module)
    tiles = schedule.graph.tiles
    return {tiles[event.subject].tensor for event in schedule.events if event.kind in TRANSFERS}


def check_that_what_members_hand_on_never_leaves(network, arch: str, rows: int) -> None:
    """Compile all of a network as one group, and look at what is moved and computed."""
    graph, data = network()
    members = tuple(op.name for op in graph.ops)

    compiled = compile_fused(graph, data, arch, (Group(members=members, rows=rows),))

    assert not moved(compiled) & set(members[:-1])
    assert compiled.wrong(compiled.run(detect_races=True)) == []


def bottleneck(size: int = 12) -> tuple[Graph, Mapping[str, Array]]:
    """Fewer channels, a filter, the channels back, and what came in added."""
    net = NetworkBuilder()
    x = net.input("x", (1, 16, size, size))
    b = net.conv(net.conv(x, "a", 8, 1), "b", 8, 3)
    c = net.conv(b, "c", 16, 1)
    return net.build(net.op("add", (c, x), "y", quant=per_tensor(0.1, 1))), net.data


def inverted(size: int = 9) -> tuple[Graph, Mapping[str, Array]]:
    """More channels, a filter of each, the channels back, and added to what came in."""
    net = NetworkBuilder()
    x = net.input("x", (1, 12, size, size))
    b = net.conv(net.conv(x, "a", 24, 1), "b", 24, 3, groups=24)
    c = net.conv(b, "c", 12, 1)
    return net.build(net.op("add", (x, c), "y", quant=per_tensor(0.1, 1))), net.data


def fire(size: int = 11) -> tuple[Graph, Mapping[str, Array]]:
    """Fewer channels, two filters of these joined, one of them at another scale, and a filter."""
    net = NetworkBuilder()
    a = net.conv(net.input("x", (1, 13, size, size)), "a", 6, 1)
    narrow, wide = net.conv(a, "narrow", 9, 1), net.conv(a, "wide", 7, 3)
    table = net.constant("table", (256,), DType.S8)
    looked = net.op("lookup", (wide, table), "looked", quant=net.types[narrow].quant)
    y = net.op("concat", (narrow, looked), "joined", {"axis": 1}, net.types[narrow].quant)
    return net.build(net.conv(y, "y", 10, 3)), net.data


def pooled(
    size: tuple[int, int] = (12, 20), kernel: tuple[int, int] = (2, 2), kind: str = "max_pool"
) -> tuple[Graph, Mapping[str, Array]]:
    """A filter, a table, a pool, another table, and a filter."""
    net = NetworkBuilder()
    table = net.constant("table", (256,), DType.S8)
    a = net.conv(net.input("x", (1, 8, *size)), "a", 24, 3)
    looked = net.op("lookup", (a, table), "b", quant=per_tensor(0.1))
    attrs: dict[str, Attr] = {"kernel": kernel, "stride": kernel}
    quant = None if kind == "max_pool" else per_tensor(0.1)
    made = net.op(kind, (looked,), "c", attrs, quant)
    again = net.op("lookup", (made, table), "d", quant=per_tensor(0.2))
    return net.build(net.conv(again, "e", 16, 3)), net.data


def windows(size: int = 24) -> tuple[Graph, Mapping[str, Array]]:
    """A filter, a pool whose windows overlap, and a filter of what that makes."""
    net = NetworkBuilder()
    a = net.conv(net.input("x", (1, 4, size, size)), "a", 12, 3)
    window = {"kernel": (3, 3), "stride": (2, 2), "pads": (1, 1, 1, 1)}
    return net.build(net.conv(net.op("max_pool", (a,), "p", window), "y", 8, 3)), net.data


def rolling(
    make: Callable[[], tuple[Graph, Mapping[str, Array]]],
    arch: str = "simba",
    rows: int = 1,
    behind: tuple[int, ...] = (),
) -> Module:
    """Return a network as one group, in which some chains lag and all lines roll that can.

    Raises:
        InfeasibleError: They do not fit.
    """
    graph, data = make()
    group = Group(members=tuple(op.name for op in graph.ops), rows=rows)
    module = mapped(graph, data, arch, (group,))
    found = GroupSchedules(module, group_op(graph, group))
    names = frozenset(found._tiles.may_roll())
    schedule = found.with_order(StripeOrder(behind, rolls=names))
    assert any(tile.rolls for tile in schedule.graph.tiles)
    return replace(module, tile_schedule=join(module, [schedule], "static"))


def in_small_tiles() -> Module:
    """Return the tiles of a filter of 6 x 10, made 1 x 5 at a time, and a pool of 2 x 2."""
    net = NetworkBuilder()
    a = net.conv(net.input("x", (1, 8, 6, 10)), "a", 8, 1)
    graph = net.build(net.op("max_pool", (a,), "y", {"kernel": (2, 2), "stride": (2, 2)}))
    module = planned(graph, "simba", [Group(members=("a", "y"))])
    module = replace(module, constants=Constants(net.data))
    module = with_nests(module)
    (mapping,) = module.mappings
    homes = (Operand.W, "wb"), (Operand.I, "ib"), (Operand.O, "ab")
    nest = replace(
        mapping.nest,
        temporal=(Loop(Dim.P, 6), Loop(Dim.Q, 2), Loop(Dim.C, 2), Loop(Dim.K, 2), Loop(Dim.Q, 5)),
        spatial=(SpatialLoop(Dim.K, 4, "lane"), SpatialLoop(Dim.C, 4, "mac")),
        allocations=tuple(
            Allocation(operand, *at) for operand, level in homes for at in (("dram", 0), (level, 2))
        ),
    )
    module = replace(module, mappings=(replace(mapping, nest=nest),))
    return ScheduleTiles().run(module, Context())


def dense_block(size: int = 9) -> tuple[Graph, Mapping[str, Array]]:
    """Layers that read what all before them have made, joined; the last one joins them all."""
    net = NetworkBuilder()
    made = [net.conv(net.input("x", (1, 5, size, size)), "a", 11, 1)]
    for number in range(3):
        quant = net.types["a"].quant
        joined = made[0]
        if number:
            joined = net.op("concat", tuple(made), f"joined{number}", {"axis": 1}, quant)
        made.append(net.conv(net.conv(joined, f"b{number}", 8, 1), f"c{number}", 3, 3))
    return net.build(net.op("concat", tuple(made), "y", {"axis": 1}, quant)), net.data


def shortcut(size: int = 12) -> tuple[Graph, Mapping[str, Array]]:
    """A sum that goes into a narrow filter, and, beside what is made of that, into another sum."""
    net = NetworkBuilder()
    x = net.input("x", (1, 16, size, size))
    sums = net.op("add", (net.conv(x, "c", 16, 1), x), "sum", quant=per_tensor(0.1, 1))
    b = net.conv(net.conv(sums, "a", 8, 1), "b", 16, 3)
    return net.build(net.op("add", (b, sums), "y", quant=per_tensor(0.1, 1))), net.data


def branches(size: int = 12) -> tuple[Graph, Mapping[str, Array]]:
    """A sum that goes into two filters, one of which leaves out every second row."""
    net = NetworkBuilder()
    x = net.input("x", (1, 16, size, size))
    sums = net.op("add", (net.conv(x, "c", 16, 1), x), "sum", quant=per_tensor(0.1, 1))
    a, down = net.conv(sums, "a", 8, 1), net.conv(sums, "down", 16, 1, stride=2)
    b = net.conv(a, "b", 16, 3, stride=2)
    return net.build(net.op("add", (b, down), "y", quant=per_tensor(0.1, 1))), net.data


def softmax(net: NetworkBuilder, x: str, name: str, axis: int) -> str:
    """Add what a softmax of floats is split into, and its conversion to bytes."""
    attrs = {"axis": axis}
    highest = net.op("reduce_max", (x,), f"{name}_max", attrs)
    powers = net.op("exp", (net.op("sub", (x, highest), f"{name}_sub"),), f"{name}_exp")
    total = net.op("reduce_sum", (powers,), f"{name}_sum", attrs)
    shares = net.op("div", (powers, total), f"{name}_div")
    return net.op("quantize", (shares,), name, quant=per_tensor(0.005, -128))


def normalised(net: NetworkBuilder, x: str, name: str, axis: int) -> str:
    """Add what a normalisation of floats is split into, and its conversion to bytes."""
    attrs = {"axis": axis}
    centred = net.op("sub", (x, net.op("reduce_mean", (x,), f"{name}_mean", attrs)), f"{name}_sub")
    squares = net.op("mul", (centred, centred), f"{name}_mul")
    spread = net.op("reduce_mean", (squares,), f"{name}_spread", attrs)
    root = net.op("sqrt", (spread,), f"{name}_sqrt")
    return net.op(
        "quantize",
        (net.op("div", (centred, root), f"{name}_div"),),
        name,
        quant=per_tensor(0.03, 3),
    )


def perceptron(rows: int = 12) -> tuple[Graph, Mapping[str, Array]]:
    """A matrix normalised row by row, two products with a function between, and what came in."""
    net = NetworkBuilder()
    x = net.input("x", (rows, 16))
    flat = net.floats(x, "flat")
    up = net.dense(normalised(net, flat, "norm", 1), "up", 40)
    floats = net.op("erf", (net.floats(up, "floats"),), "erf")
    scaled = net.op(
        "mul",
        (up, net.op("quantize", (floats,), "bytes", quant=per_tensor(0.008))),
        "scaled",
        quant=per_tensor(0.05),
    )
    down = net.dense(scaled, "down", 16)
    return net.build(net.op("add", (down, x), "y", quant=per_tensor(0.1, 1))), net.data


def shares(rows: int = 12) -> tuple[Graph, Mapping[str, Array]]:
    """The softmax of several matrices, side by side, some columns of which are masked."""
    net = NetworkBuilder()
    x, mask = net.input("x", (1, 3, rows, 11)), net.input("mask", (1, 1, 1, 11))
    masked = net.op("add", (x, mask), "masked", quant=per_tensor(0.1))
    floats = net.floats(masked, "floats")
    return net.build(softmax(net, floats, "y", 3)), net.data


def attention(
    rows: int = 12, keys: int = 9, around: tuple[int, ...] = (1, 3)
) -> tuple[Graph, Mapping[str, Array]]:
    """Scores of queries and keys, some of which are masked, their softmax, and values."""
    net = NetworkBuilder()
    q, k = net.input("q", (*around, rows, 7)), net.input("k", (*around, keys, 7), 4)
    v, mask = net.input("v", (*around, 5, keys)), net.input("mask", (keys,))
    scores = net.op("dense", (q, k), "scores", quant=per_tensor(0.06, 2))
    masked = net.op("add", (scores, mask), "masked", quant=per_tensor(0.1))
    shares = softmax(net, net.floats(masked, "floats"), "shares", len(around) + 1)
    return net.build(net.op("dense", (shares, v), "y", quant=per_tensor(0.02, 1))), net.data
