"""Build the report of one compilation from what its stages found."""

from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.metadata import version

from ....ir.arch import Architecture
from ....ir.graph import Graph
from ....ir.graph_schedule import GraphSchedule
from ....ir.module import Module
from ....ir.ops import workload
from ....ir.report import FileIdentity, GraphScheduleReport, Report, TileScheduleReport, Totals
from ....ir.tiles.schedule import TileSchedule
from ....ir.workload import Operand
from ....passes.analysis.accumulator_range import accumulator_bounds
from ....passes.analysis.compulsory import compulsory_network_bytes, needed_macs
from ....passes.base import CUT_SHORT, SECONDS_OF, require_arch
from ....passes.instrument import PassRecord
from ....passes.mapping.mapper import MappingStatus
from .findings import Findings
from .lower_bounds import roofline
from .operators import energy_of, operator_reports, traffic_of


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
        operators=operator_reports(found, seconds),
        graph_schedule=_graph_schedule(found),
        tile_schedules=_tile_schedules(found.module.tile_schedule),
        quantization=found.network.quantization,
        accuracy=found.network.accuracy,
        verification=found.verification,
        notes=(
            *found.network.notes,
            *fallback_note(found.module),
            *_accumulator_note(found.module),
            *cut_note(found.records),
            *tiles_note(found.options.tiles, require_arch(found.module)),
        ),
        mesh=None if found.simulation is None else found.simulation.mesh,
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


def cut_note(records: Sequence[PassRecord]) -> tuple[str, ...]:
    """Return a note if passes ended their searches because time was up.

    Args:
        records: Of the passes, in order.
    """
    cut = [item.name for item in records if CUT_SHORT in dict(item.counters)]
    if not cut:
        return ()
    return (
        f"time was up (--max-seconds) in {', '.join(cut)}: these took what they had found by then, "
        "which another run may not",
    )


def _accumulator_note(module: Module) -> tuple[str, ...]:
    """Return a note if the accumulators are not proven to be wide enough for every input."""
    width = require_arch(module).accumulator_bits
    bounds = accumulator_bounds(module.graph, module.constants)
    wide = [bound for bound in bounds if bound.bits > width]
    if not wide:
        return ()
    worst = max(wide, key=lambda bound: bound.bits)
    return (
        f"{len(wide)} of {len(bounds)} operators could need more than {width}-bit accumulators for "
        f"some input (%{worst.operator}: {worst.bits}); the simulator traps overflow",
    )


def tiles_note(tiles: str, arch: Architecture) -> tuple[str, ...]:
    """Return a note if tiles cannot be ordered as was asked for.

    Args:
        tiles: Who should order them.
        arch: The machine.
    """
    if not tiles.startswith("flexer") or Operand.W in arch.scratchpad_level.holds:
        return ()
    return (
        f"--tiles {tiles} kept the order of the loop nests: it can change it only where weights "
        f"lie in the scratchpad, and on {arch.name} they go around it",
    )


def _totals(found: Findings) -> Totals:
    module, simulation = found.module, found.simulation
    arch, graph = require_arch(module), module.graph
    loads = {op.name: workload(op, graph.types) for op in graph.ops}
    macs = sum(item.macs for item in loads.values() if item is not None)
    compulsory = compulsory_network_bytes(graph)
    schedule = module.tile_schedule
    return Totals(
        macs=macs,
        cycles_model=None if schedule is None else schedule.cycles,
        cycles_simulated=None if simulation is None else simulation.cycles,
        cycles_lower_bound=roofline(arch, sum(needed_macs(graph).values()), compulsory),
        energy_pj=None if simulation is None else simulation.energy_pj,
        offchip_bytes=_off_chip_bytes(found),
        offchip_bytes_compulsory=compulsory.total,
        traffic=() if simulation is None else traffic_of(simulation.total),
        energy=() if simulation is None else energy_of(simulation.total),
    )


def _off_chip_bytes(found: Findings) -> int | None:
    if found.simulation is not None:
        return found.simulation.total.off_chip_bytes
    schedule = found.module.tile_schedule
    return None if schedule is None else schedule.transferred_bytes


def _solve_seconds(records: tuple[PassRecord, ...]) -> Mapping[str, float]:
    return {
        name.removeprefix(SECONDS_OF): float(value)
        for record in records
        for name, value in record.counters
        if name.startswith(SECONDS_OF)
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
        scope=plan.scope,
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


def _tile_schedules(schedule: TileSchedule | None) -> tuple[TileScheduleReport, ...]:
    """Return what the tiles of each operator are by themselves."""
    if schedule is None:
        return ()
    operations = Counter(op.operator for op in schedule.graph.ops)
    return tuple(
        TileScheduleReport(
            name=item.operator,
            scheduler=item.scheduler,
            operations=operations[item.operator],
            cycles=item.cycles,
            cycles_lower_bound=item.cycles_lower_bound,
            scope=item.scope,
            offchip_bytes=schedule.bytes_of(schedule.by_step.get(step, ())),
        )
        for step, item in enumerate(schedule.alone)
    )
