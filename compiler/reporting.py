"""Build the report of one compilation from what its stages found."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version

from ..backend.load import ArchSource
from ..ir.arch import Architecture
from ..ir.graph import Graph, Op
from ..ir.graph_schedule import GraphSchedule, SolveStatus
from ..ir.module import Mapping as OperatorMapping
from ..ir.module import Module
from ..ir.op_views import window_of
from ..ir.ops import workload
from ..ir.report import (
    Dims,
    FileIdentity,
    GraphScheduleReport,
    OperatorReport,
    PassRun,
    Report,
    TileScheduleReport,
    Totals,
    Traffic,
    Verification,
)
from ..ir.text.print_nest import print_nest
from ..ir.tile_schedule import TileSchedule
from ..ir.workload import Operand, Workload
from ..passes.analysis.accumulator_range import accumulator_bounds
from ..passes.analysis.bounds import Padding, compulsory_bytes
from ..passes.instrument import PassRecord
from ..passes.mapping.base import MappingStatus
from ..runtime_sim.result import OperatorAccount, SimulationResult
from .frontend import Network
from .options import CompileOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What the report is built from.

    Attributes:
        network: What was compiled.
        source: The architecture file.
        options: What the user chose.
        passes: Steps with their seconds.
        records: What passes counted.
        module: Every stage that was reached.
        simulation: The run, ``None`` where there was none.
        verification: The verdict.
    """

    network: Network
    source: ArchSource
    options: CompileOptions
    passes: tuple[PassRun, ...]
    records: tuple[PassRecord, ...]
    module: Module
    simulation: SimulationResult | None
    verification: Verification


def build_report(found: Findings) -> Report:
    """Return the report."""
    seconds = _solve_seconds(found.records)
    return Report(
        version=version("accnn"),
        model=found.network.identity,
        arch=FileIdentity(found.source.path.name, found.source.sha256),
        options=found.options.flat(),
        seed=found.options.seed,
        totals=_totals(found),
        passes=found.passes,
        operators=_operators(found, seconds),
        graph_schedule=_graph_schedule(found),
        tile_schedules=tuple(_tile_schedule(item) for item in found.module.tile_schedules),
        quantization=found.network.quantization,
        verification=found.verification,
        notes=(
            *found.network.notes,
            *fallback_note(found.module),
            *_accumulator_note(found.module),
        ),
    )


def fallback_note(module: Module) -> tuple[str, ...]:
    """Return a note if mappers failed and simpler ones stepped in."""
    failed = [item for item in module.mappings if item.status == MappingStatus.FALLBACK]
    if not failed:
        return ()
    first = failed[0]
    return (
        f"{len(failed)} of {len(module.mappings)} operators have the loop nest of a fallback "
        f"(%{first.operator}: {first.note or first.mapper})",
    )


def _accumulator_note(module: Module) -> tuple[str, ...]:
    """Return a note if the accumulators are not proven to be wide enough for every input."""
    width = _arch(module).accumulator_bits
    bounds = accumulator_bounds(module.graph, module.constants)
    wide = [bound for bound in bounds if bound.bits > width]
    if not wide:
        return ()
    worst = max(wide, key=lambda bound: bound.bits)
    return (
        f"{len(wide)} of {len(bounds)} operators could need more than {width}-bit accumulators for "
        f"some input (%{worst.operator}: {worst.bits}); the simulator traps overflow",
    )


def _arch(module: Module) -> Architecture:
    assert module.arch is not None
    return module.arch


def peak_macs(arch: Architecture) -> int:
    """Return the MACs per cycle of all NPUs."""
    return sum(arch.npu_macs(npu) for npu in arch.npus)


def roofline(arch: Architecture, macs: int, off_chip_bytes: int) -> int:
    """Return the cycles that no schedule beats: MACs over the array, bytes over the bandwidth."""
    bandwidth = arch.off_chip.read_bandwidth
    transfer = 0 if bandwidth is None else math.ceil(off_chip_bytes / bandwidth)
    return max(math.ceil(macs / peak_macs(arch)), transfer)


def compulsory_network_bytes(graph: Graph) -> int:
    """Return the bytes of inputs, constants and outputs, each moved once, unread ones left out.

    What the windows of a first convolution step over is not counted.
    """
    total = sum(graph.types[name].bytes for name in graph.outputs if name in graph.producer)
    for value in (*graph.inputs, *graph.constants):
        read = sum(_read_bytes(graph, op, value.name) for op in graph.consumers[value.name])
        total += min(value.type.bytes, read)
    return total


def _read_bytes(graph: Graph, op: Op, name: str) -> int:
    """Return the bytes of a tensor that an operator reads at least."""
    load, padding = workload(op, graph.types), _padding(graph, op)
    if load is None or padding is None or name != op.operands[0]:
        return graph.types[name].bytes
    return padding.elements_read(load) * graph.types[name].dtype.bytes


def _totals(found: Findings) -> Totals:
    module, simulation = found.module, found.simulation
    arch, graph = _arch(module), module.graph
    loads = {op.name: _workload(graph, op, arch) for op in graph.ops}
    macs = sum(item.macs for item in loads.values() if item is not None)
    compulsory = compulsory_network_bytes(graph)
    schedules = module.tile_schedules
    return Totals(
        macs=macs,
        cycles_model=sum(item.cycles for item in schedules) if schedules else None,
        cycles_simulated=None if simulation is None else simulation.cycles,
        cycles_lower_bound=roofline(arch, macs, compulsory),
        energy_pj=None if simulation is None else simulation.energy_pj,
        offchip_bytes=_off_chip_bytes(found),
        offchip_bytes_compulsory=compulsory,
        traffic=() if simulation is None else _traffic(simulation.total),
    )


def _off_chip_bytes(found: Findings) -> int | None:
    if found.simulation is not None:
        return found.simulation.total.off_chip_bytes
    plan = found.module.graph_schedule
    if plan is None or not found.module.tile_schedules:
        return None
    schedules = found.module.tile_schedules
    tiles = sum(item.transferred_bytes for item in schedules)
    if any(len(item.graph.operators) > 1 for item in schedules):
        return tiles  # whole tensors move in events, too
    whole = (*plan.loads, *plan.spills, *plan.retrieves, *plan.stores)
    return tiles + sum(item.bytes for item in whole)


def _traffic(account: OperatorAccount) -> tuple[Traffic, ...]:
    return tuple(
        Traffic(
            level=item.level,
            operand=item.operand,
            read_bytes=item.read,
            written_bytes=item.written,
        )
        for item in account.traffic
    )


def _workload(graph: Graph, op: Op, arch: Architecture) -> Workload | None:
    del arch
    return workload(op, graph.types)


def _operators(found: Findings, seconds: Mapping[str, float]) -> tuple[OperatorReport, ...]:
    module = found.module
    order = (
        module.graph_schedule.order
        if module.graph_schedule
        else tuple(op.name for op in module.graph.ops)
    )
    mappings = {item.operator: item for item in module.mappings}
    schedules = {name: item for item in module.tile_schedules for name in item.graph.operators}
    accounts = (
        {} if found.simulation is None else {item.name: item for item in found.simulation.operators}
    )
    return tuple(
        _operator(
            module,
            module.graph.producer[name],
            mappings.get(name),
            seconds.get(name),
            schedules.get(name),
            accounts.get(name),
        )
        for name in order
    )


def _operator(
    module: Module,
    op: Op,
    mapping: OperatorMapping | None,
    seconds: float | None,
    schedule: TileSchedule | None,
    account: OperatorAccount | None,
) -> OperatorReport:
    arch, graph = _arch(module), module.graph
    load = _workload(graph, op, arch)
    cycles = None if schedule is None else schedule.cycles
    if account is not None:
        cycles = account.cycles
    return OperatorReport(
        name=op.name,
        kind=op.kind,
        dims=None if load is None else Dims.of(load),
        mapper=None if mapping is None else mapping.mapper,
        status=None if mapping is None else _status(mapping),
        bound=None if mapping is None else mapping.bound,
        gap=None if mapping is None else _gap(mapping),
        solve_seconds=None if mapping is None else seconds or 0.0,
        cycles=cycles,
        cycles_lower_bound=_operator_bound(module, op, load),
        energy_pj=None if account is None else account.energy.total,
        utilization=None if load is None or not cycles else load.macs / (cycles * peak_macs(arch)),
        traffic=() if account is None else _traffic(account),
        nest=None if mapping is None else print_nest(mapping.nest),
        note=None if mapping is None else mapping.note or None,
    )


def _operator_bound(module: Module, op: Op, load: Workload | None) -> int | None:
    """Return the roofline of an operator with what is resident left out of its traffic."""
    if load is None or module.graph_schedule is None:
        return None
    return roofline(_arch(module), load.macs, compulsory_operator_bytes(module, op.name))


def compulsory_operator_bytes(module: Module, name: str) -> int:
    """Return the bytes that an operator of the MAC array moves at least, given the plan [byte]."""
    plan, op = module.graph_schedule, module.graph.producer[name]
    load = workload(op, module.graph.types)
    assert plan is not None
    assert load is not None
    step = plan.step_of[name]
    names = {Operand.I: op.operands[0], Operand.O: name}
    resident = frozenset(
        operand for operand, tensor in names.items() if plan.resident(tensor, step) is not None
    )
    return compulsory_bytes(load, resident, padding=_padding(module.graph, op))


def _padding(graph: Graph, op: Op) -> Padding | None:
    if op.kind != "conv2d":
        return None
    top, left, _, _ = window_of(op, (1, 1)).pads
    rows, columns = graph.types[op.operands[0]].shape[2:]
    return Padding(rows=rows, columns=columns, top=top, left=left)


_STATUS: Mapping[str, SolveStatus] = {
    MappingStatus.OPTIMAL: SolveStatus.OPTIMAL,
    MappingStatus.BOUNDED: SolveStatus.FEASIBLE,
    MappingStatus.FALLBACK: SolveStatus.FALLBACK,
}


def _status(mapping: OperatorMapping) -> SolveStatus:
    return _STATUS.get(mapping.status, SolveStatus.HEURISTIC)


def _gap(mapping: OperatorMapping) -> float | None:
    if mapping.bound is None or mapping.objective <= 0:
        return None
    return max(0.0, (mapping.objective - mapping.bound) / mapping.objective)


def _solve_seconds(records: tuple[PassRecord, ...]) -> Mapping[str, float]:
    prefix = "seconds of "
    return {
        name.removeprefix(prefix): float(value)
        for record in records
        for name, value in record.counters
        if name.startswith(prefix)
    }


def _graph_schedule(found: Findings) -> GraphScheduleReport | None:
    plan = found.module.graph_schedule
    if plan is None:
        return None
    seconds = [run.seconds for run in found.passes if run.name.startswith("schedule-")]
    return GraphScheduleReport(
        budget_bytes=plan.budget,
        status=plan.status,
        objective_bytes=plan.objective,
        bound_bytes=plan.bound,
        constant_bytes=_planned_constant_bytes(found.module.graph, plan),
        solve_seconds=seconds[0] if seconds else None,
        order=plan.order,
        residences=plan.residences,
        spills=plan.spills,
        retrieves=plan.retrieves,
        streams=plan.streams,
    )


def _planned_constant_bytes(graph: Graph, plan: GraphSchedule) -> int:
    """Return the bytes of constants in a plan's objective, moved whole or counted beside it."""
    moved = (*plan.loads, *plan.spills, *plan.retrieves, *plan.stores, *plan.streams)
    activations = sum(item.bytes for item in moved if not graph.is_constant(item.tensor))
    return max(0, plan.objective - activations)


def _tile_schedule(schedule: TileSchedule) -> TileScheduleReport:
    return TileScheduleReport(
        name=" ".join(schedule.graph.operators),
        scheduler=schedule.scheduler,
        operations=len(schedule.graph.ops),
        cycles=schedule.cycles,
        cycles_lower_bound=schedule.cycles_lower_bound,
        offchip_bytes=schedule.transferred_bytes,
    )
