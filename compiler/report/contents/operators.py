"""The rows of the report: one per operator."""

from collections.abc import Mapping

from ....ir.graph import Op
from ....ir.graph_schedule import Group, SolveStatus
from ....ir.module import Mapping as OperatorMapping
from ....ir.module import Module
from ....ir.ops import workload
from ....ir.proof import gap_of
from ....ir.report import Dims, EnergyPart, OperandTraffic, OperatorReport
from ....ir.text.printing.nest import print_nest
from ....ir.workload import Workload
from ....passes.analysis.compulsory import needed_macs
from ....passes.base import require_arch
from ....passes.mapping.mapper import MappingStatus
from ....runtime_sim.result import OperatorAccount
from ...onnx_nodes import nodes_of
from .differences import Differences
from .findings import Findings
from .lower_bounds import (
    compulsory_group_bytes,
    compulsory_operator_bytes,
    roofline,
)


def operator_reports(found: Findings, seconds: Mapping[str, float]) -> tuple[OperatorReport, ...]:
    """Return the operators in execution order.

    Args:
        found: What stages found.
        seconds: What mapping each operator took [s].
    """
    module = found.module
    order = (
        module.graph_schedule.order
        if module.graph_schedule
        else tuple(op.name for op in module.graph.ops)
    )
    mappings = {item.operator: item for item in module.mappings}
    alone = () if module.tile_schedule is None else module.tile_schedule.alone
    cycles = {item.operator: item.cycles for item in alone}
    simulation = found.simulation
    differences = Differences(
        module,
        () if simulation is None else simulation.operators,
        None if simulation is None else simulation.mesh,
    )
    plan = module.graph_schedule
    groups: Mapping[str, Group] = {} if plan is None else plan.groups_by_name
    needed = needed_macs(module.graph)
    return tuple(
        _group(
            module,
            groups[name],
            mappings,
            seconds,
            cycles.get(name),
            differences,
            sum(needed[member] for member in groups[name].members),
        )
        if name in groups
        else _operator(
            module,
            module.graph.producer[name],
            mappings.get(name),
            seconds.get(name),
            cycles.get(name),
            differences,
        )
        for name in order
    )


def _group(
    module: Module,
    group: Group,
    mappings: Mapping[str, OperatorMapping],
    seconds: Mapping[str, float],
    cycles: int | None,
    differences: Differences,
    macs: int,
) -> OperatorReport:
    """Return the row of a fused group, whose members have no figures of their own."""
    account = differences.account(group.name)
    arch, graph = require_arch(module), module.graph
    ops = [graph.producer[name] for name in group.members]
    nests = [mappings[name] for name in group.members if name in mappings]
    bound = roofline(arch, macs, compulsory_group_bytes(module, group))
    rows = f" in stripes of {group.rows} rows" if group.rows else ""
    return OperatorReport(
        name=group.name,
        kind="+".join(dict.fromkeys(op.kind for op in ops)),
        mapper=nests[0].mapper if nests else None,
        solve_seconds=sum(seconds.get(item.operator, 0.0) for item in nests) if nests else None,
        cycles=cycles,
        cycles_lower_bound=bound,
        cycles_predicted=differences.predicted.get(group.name),
        cycles_simulated=None if account is None else account.cycles,
        difference=differences.difference(group.name),
        reasons=differences.reasons(group.name),
        energy_pj=None if account is None else account.energy.total,
        offchip_bytes=None if account is None else account.off_chip_bytes,
        utilization=macs / (cycles * arch.all_macs) if macs and cycles else None,
        traffic=() if account is None else traffic_of(account),
        energy=() if account is None else energy_of(account),
        members=group.members,
        nodes=nodes_of(op.loc for op in ops),
        nest="\n".join(f"{item.operator}\n{print_nest(item.nest)}" for item in nests) or None,
        note=f"fused{rows}: {', '.join(group.members)}",
    )


def _operator(
    module: Module,
    op: Op,
    mapping: OperatorMapping | None,
    seconds: float | None,
    cycles: int | None,
    differences: Differences,
) -> OperatorReport:
    account = differences.account(op.name)
    arch, graph = require_arch(module), module.graph
    load = workload(op, graph.types)
    return OperatorReport(
        name=op.name,
        kind=op.kind,
        dims=None if load is None else Dims.of(load),
        mapper=None if mapping is None else mapping.mapper,
        status=None if mapping is None else _status(mapping),
        objective=None if mapping is None else mapping.objective,
        bound=None if mapping is None else mapping.bound,
        scope=None if mapping is None else mapping.scope,
        gap=None if mapping is None else gap_of(mapping.objective, mapping.bound),
        estimate=None if mapping is None else mapping.estimate,
        solve_seconds=None if mapping is None else seconds or 0.0,
        cycles=cycles,
        cycles_lower_bound=_operator_bound(module, op, load),
        cycles_predicted=differences.predicted.get(op.name),
        cycles_simulated=None if account is None else account.cycles,
        difference=differences.difference(op.name),
        reasons=differences.reasons(op.name),
        energy_pj=None if account is None else account.energy.total,
        offchip_bytes=None if account is None else account.off_chip_bytes,
        utilization=None if load is None or not cycles else load.macs / (cycles * arch.all_macs),
        traffic=() if account is None else traffic_of(account),
        energy=() if account is None else energy_of(account),
        nodes=nodes_of((op.loc,)),
        nest=None if mapping is None else print_nest(mapping.nest),
        note=None if mapping is None else mapping.note or None,
    )


def _operator_bound(module: Module, op: Op, load: Workload | None) -> int | None:
    """Return the roofline of an operator with what is resident left out of its traffic."""
    if load is None or module.graph_schedule is None:
        return None
    return roofline(require_arch(module), load.macs, compulsory_operator_bytes(module, op.name))


_STATUS: Mapping[str, SolveStatus] = {
    MappingStatus.OPTIMAL: SolveStatus.OPTIMAL,
    MappingStatus.BOUNDED: SolveStatus.FEASIBLE,
    MappingStatus.FALLBACK: SolveStatus.FALLBACK,
}


def _status(mapping: OperatorMapping) -> SolveStatus:
    return _STATUS.get(mapping.status, SolveStatus.HEURISTIC)


def traffic_of(account: OperatorAccount) -> tuple[OperandTraffic, ...]:
    """Return what moved at each level."""
    return tuple(
        OperandTraffic(
            level=item.level,
            operand=item.operand,
            read_bytes=item.read,
            written_bytes=item.written,
        )
        for item in account.traffic
    )


def energy_of(account: OperatorAccount) -> tuple[EnergyPart, ...]:
    """Return where energy went."""
    energy = account.energy
    others = (("mac", energy.compute), ("network", energy.network), ("vector", energy.vector))
    return (
        *(EnergyPart(part=item.level, pj=item.pj) for item in energy.levels),
        *(EnergyPart(part=part, pj=pj) for part, pj in others),
    )
