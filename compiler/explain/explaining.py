"""Find out why an operator costs what it costs, and try what would help."""

import math
from dataclasses import replace

from ...ir.arch import Architecture
from ...ir.errors import AccnnError, OptionError
from ...ir.mapping import LoopNest
from ...ir.module import Module
from ...ir.ops import workload
from ...ir.proof import gap_of
from ...ir.workload import Operand
from ...passes.analysis.compulsory import compulsory_network_bytes
from ...passes.analysis.cost import evaluate
from ...passes.scheduling.cosma.traffic.tiled import Terms, TiledTraffic
from ...passes.scheduling.fusion import Fuse
from ...passes.scheduling.fusion.borders import Border, borders
from ..driver import Result
from ..options import CompileOptions
from ..report.binding import binding, simulated_shares
from ..stopwatch import Observer, unobserved
from .alone import AloneRun, OperatorCost, run_alone
from .changes import MachineChange, machine_changes
from .explanation import Explanation, FanoutUse, MemoryUse, NestUse, PortWait, WhatIf
from .names import NamedOperator, find_operator


def explain(result: Result, operator: str, *, observer: Observer = unobserved) -> Explanation:
    """Explain the cost of an operator, with real what-ifs.

    The operator is compiled and run by itself, then again for every machine that has one number
    doubled: each memory's capacity and bandwidths, each fan-out, the lanes of the vector unit.

    Args:
        result: A compilation that was not stopped before its tile schedule.
        operator: An operator of the graph, or an ONNX node.
        observer: Called about progress.

    Raises:
        OptionError: There is no such operator (the hint has the nearest), or no schedule.
        AccnnError: The operator cannot be compiled by itself.
    """
    module, arch = result.module, result.arch
    if module.tile_schedule is None:
        raise OptionError("there is no tile schedule to explain", hint="compile without --until")
    step = find_operator(module, operator, result.network.nodes)
    options = _for_one(result.options, module)
    run = run_alone(module, step.members, arch, options)
    changes = machine_changes(arch)
    tried: list[WhatIf] = []
    for number, change in enumerate(changes):
        observer("explain", number, len(changes))
        tried.append(_what_if(module, step, change, options))
    return _explanation(result, step, run, _ordered(tried, run.cost))


def _for_one(options: CompileOptions, module: Module) -> CompileOptions:
    """Return options for an operator by itself: the same bytes of the scratchpad, to the end."""
    plan = module.graph_schedule
    assert plan is not None
    budget = None if options.scratchpad is None else plan.budget
    return replace(options, scratchpad=budget, until=None)


def _what_if(
    module: Module, step: NamedOperator, change: MachineChange, options: CompileOptions
) -> WhatIf:
    budget = options.scratchpad
    if isinstance(budget, int) and change.what == f"{change.arch.scratchpad}.capacity":
        options = replace(options, scratchpad=budget * 2)
    try:
        cost, reason = run_alone(module, step.members, change.arch, options).cost, ""
    except AccnnError as error:
        cost, reason = None, error.message
    return WhatIf(
        what=change.what, before=change.before, after=change.after, cost=cost, reason=reason
    )


def _ordered(tried: list[WhatIf], now: OperatorCost) -> tuple[WhatIf, ...]:
    """Return what-ifs, those first that save most; equal ones as the machine has them."""

    def rank(item: WhatIf) -> tuple[float, float, float]:
        cost = item.cost
        if cost is None:
            return (math.inf, math.inf, math.inf)
        return (cost.cycles - now.cycles, cost.offchip_bytes, cost.energy_pj)

    return tuple(sorted(tried, key=rank))


def _explanation(
    result: Result, step: NamedOperator, run: AloneRun, what_ifs: tuple[WhatIf, ...]
) -> Explanation:
    arch, graph = result.arch, run.module.graph
    loads = [load for op in graph.ops if (load := workload(op, graph.types)) is not None]
    macs = sum(load.macs for load in loads)
    moved = compulsory_network_bytes(graph)
    total = run.simulation.total
    shares = simulated_shares(total, arch)
    return Explanation(
        operator=step.name,
        kinds=tuple(op.kind for op in graph.ops),
        nodes=step.nodes,
        folded=step.folded,
        arch=arch.name,
        in_network=_in_network(result, step.name),
        alone=run.cost,
        bound_by=binding(shares),
        busy=shares,
        macs=macs,
        macs_cycles=math.ceil(macs / arch.all_macs),
        compulsory_bytes=moved.total,
        compulsory_cycles=moved.cycles(arch),
        nest=_nest_use(run.module, arch),
        waits=tuple(
            PortWait(item.port, item.cycles)
            for item in sorted(total.stalls, key=lambda item: (-item.cycles, item.port))
        ),
        what_ifs=what_ifs,
        borders=_borders(result, step.name),
    )


def _borders(result: Result, name: str) -> tuple[Border, ...]:
    module, options = result.module, result.options
    plan = module.graph_schedule
    has_chosen = options.scheduler == "cosma" and options.pipeline is None
    if plan is None or not has_chosen or options.fuse is not Fuse.GROUPS:
        return ()
    terms = Terms(module.graph, result.arch, objective=options.objective, seed=options.seed)
    traffic = TiledTraffic(terms)
    return borders(module.graph, result.arch, plan, plan.step_of[name], traffic)


def _in_network(result: Result, name: str) -> OperatorCost | None:
    if result.simulation is None:
        return None
    account = next(item for item in result.simulation.operators if item.name == name)
    return OperatorCost(account.cycles, account.energy.total, account.off_chip_bytes)


def _nest_use(module: Module, arch: Architecture) -> NestUse | None:
    """Return what bounds the nest of the operator with most MACs."""
    if not module.mappings:
        return None
    mapping = max(module.mappings, key=lambda item: item.nest.workload.macs)
    single, held = arch.for_npu(arch.npus[0]), _held(module, mapping.operator)
    return NestUse(
        operator=mapping.operator,
        slowest=evaluate(mapping.nest, single, placement=held).bottleneck,
        memories=_memories(mapping.nest, single),
        fanouts=_fanouts(mapping.nest, single),
        gap=gap_of(mapping.objective, mapping.bound),
        scope=mapping.scope,
    )


def _held(module: Module, name: str) -> frozenset[Operand]:
    """Return the operands that lie whole in the scratchpad; none where a group hands them on."""
    plan, op = module.graph_schedule, module.graph.producer[name]
    assert plan is not None
    if name not in plan.step_of:
        return frozenset()
    tensors = {Operand.W: op.operands[1], Operand.I: op.operands[0], Operand.O: name}
    step = plan.step_of[name]
    return frozenset(item for item, of in tensors.items() if plan.resident(of, step) is not None)


def _memories(nest: LoopNest, arch: Architecture) -> tuple[MemoryUse, ...]:
    taken = {
        level.name: sum(size for _, size in nest.bytes_at(arch, level.name))
        for level in arch.levels
    }
    return tuple(
        MemoryUse(level.name, taken[level.name], level.usable)
        for level in arch.levels
        if level.usable is not None and taken[level.name]
    )


def _fanouts(nest: LoopNest, arch: Architecture) -> tuple[FanoutUse, ...]:
    used = {
        fanout.name: math.prod(loop.extent for loop in nest.spatial if loop.fanout == fanout.name)
        for fanout in arch.fanouts
    }
    return tuple(FanoutUse(item.name, used[item.name], item.size) for item in arch.fanouts)
