"""Everything that the page shows, as values; the template only lays it out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ....ir.arch import Architecture
from ....ir.module import Module
from ....ir.report import OutputCheck, Report, VerificationStatus
from ....runtime_sim.result import SimulationResult
from ..binding import Binding, BusyShare, binding, predicted_shares, simulated_shares
from ..figures import UNKNOWN, amount, capacity, counted
from ..operator_table import labels
from ..table import accuracy_line, mapping_line, quantization_line, verification_line
from .charts.marks import Chart
from .charts.operators import operator_chart
from .charts.plan import plan_chart
from .charts.roofline import roofline_chart
from .charts.run import run_chart
from .charts.stacks import energy_chart, traffic_chart
from .headline import Figure, figures, missing
from .mesh_rows import MeshView, mesh_view
from .names import shown
from .network_graph import NetworkGraph, network_graph
from .operator_rows import OperatorRow, operator_row
from .plan_figures import TensorMove, plan_facts, plan_moves
from .provenance import Fact, command, facts, options
from .split import ShareBar, TrafficRow, energy_bars, off_chip_bars, traffic_rows
from .tile_rows import TileRow, tile_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedStep:
    """Something that took time [s], with its share of the longest [%]."""

    name: str
    seconds: float
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PageView:
    """The page; ``None`` and empty tuples are what is not there.

    Attributes:
        model: Name of the network's file.
        arch: Name of the architecture.
        arch_text: What the machine is, in a line.
        status: Of the verification; words of the style sheet.
        verdict: In a sentence.
        outputs: What was compared.
        missing: What this report has not, and why; one sentence each.
        notes: What the user should know.
        figures: Totals.
        steps: Passes with their seconds.
        operators: Cycles per operator.
        roofline: MACs per cycle over MACs per byte; ``None`` without a run.
        network: The network, coloured by cost.
        run: The whole run.
        rows: Table of operators.
        nests_text: Who found the loop nests, and what is proven of them.
        plan: Picture of the plan.
        plan_facts: The plan's figures.
        plan_moves: Spills and retrieves.
        tiles: Tile schedules.
        tiles_clock: Whose times the pictures of tile schedules show.
        undrawn: How many of them have no picture.
        energy: Split of the energy.
        energy_split: The same of each operator.
        traffic_split: Bytes of each operator by level.
        off_chip: Split of the off-chip bytes.
        traffic: Per level and operand.
        command: Makes this result again.
        options: What was chosen.
        facts: Versions and digests.
        has_trace: Whether ``trace.json`` lies beside the page.
        mesh: The run over the mesh; ``None`` where transfers were not timed over one.
    """

    model: str
    arch: str
    arch_text: str
    status: str
    verdict: str
    outputs: tuple[OutputCheck, ...]
    missing: tuple[str, ...]
    notes: tuple[str, ...]
    figures: tuple[Figure, ...]
    steps: tuple[TimedStep, ...]
    operators: Chart | None
    roofline: Chart | None
    network: NetworkGraph | None
    run: Chart | None
    rows: tuple[OperatorRow, ...]
    nests_text: str
    plan: Chart | None
    plan_facts: tuple[Fact, ...]
    plan_moves: tuple[TensorMove, ...]
    tiles: tuple[TileRow, ...]
    tiles_clock: str
    undrawn: int
    energy: tuple[ShareBar, ...]
    energy_split: Chart | None
    traffic_split: Chart | None
    off_chip: tuple[ShareBar, ...]
    traffic: tuple[TrafficRow, ...]
    command: str
    options: tuple[Fact, ...]
    facts: tuple[Fact, ...]
    has_trace: bool
    mesh: MeshView | None


def view_of(report: Report, module: Module, simulation: SimulationResult | None) -> PageView:
    """Return what the page shows.

    Args:
        report: All figures.
        module: The stages that were reached.
        simulation: The run, ``None`` where there was none.
    """
    shares = _shares(report, module, simulation)
    bound_by = [binding(item) for item in shares]
    called = labels(report.operators)
    named = [replace(item, name=called[item.name]) for item in report.operators]
    tiles, clock = tile_rows(module, simulation, called)
    has_trace = simulation is not None and simulation.timelines is not None
    has_cycles = any(item.cycles for item in report.operators)
    plan = module.graph_schedule
    return PageView(
        model=shown(report.model.name),
        arch=shown(report.arch.name),
        arch_text="" if module.arch is None else _machine(module.arch),
        status=_STATUS[report.verification.status],
        verdict=shown(_verdict(report), 400),
        outputs=report.verification.outputs,
        missing=missing(report, simulation),
        notes=_notes(report),
        figures=figures(report, module.arch),
        steps=_steps(report),
        operators=operator_chart(named, bound_by) if has_cycles else None,
        roofline=None
        if module.arch is None or simulation is None
        else roofline_chart(named, bound_by, module.arch),
        network=network_graph(module.graph, report.operators, called),
        run=run_chart(simulation, _by_program(simulation, report, bound_by), called)
        if simulation is not None and has_trace
        else None,
        nests_text=mapping_line(report.operators)
        if any(item.mapper for item in report.operators)
        else "",
        rows=_rows(report, called, module, shares, bound_by, tiles),
        plan=None if plan is None else plan_chart(plan, module.graph, called),
        plan_facts=plan_facts(report),
        plan_moves=plan_moves(report, called),
        tiles=tiles,
        tiles_clock=clock,
        undrawn=sum(row.chart is None for row in tiles),
        energy=energy_bars(report.totals),
        energy_split=energy_chart(named),
        traffic_split=traffic_chart(named),
        off_chip=() if simulation is None else off_chip_bars(simulation),
        traffic=traffic_rows(report.totals.traffic),
        command=command(report),
        options=options(report),
        facts=facts(report),
        has_trace=has_trace,
        mesh=None if report.mesh is None else mesh_view(report.mesh, called),
    )


_STATUS = {
    VerificationStatus.VERIFIED: "verified",
    VerificationStatus.FAILED: "failed",
    VerificationStatus.NOT_VERIFIED: "unverified",
}


def _verdict(report: Report) -> str:
    line = verification_line(report.verification)
    return line[0].upper() + line[1:]


def _machine(arch: Architecture) -> str:
    macs = arch.all_macs
    size = arch.scratchpad_level.capacity
    return (
        f"{counted(len(arch.npus), 'NPU')}, {macs:,} MACs per cycle in {arch.precision}, "
        f"{UNKNOWN if size is None else capacity(size)} scratchpad, "
        f"{counted(arch.dma.channels, 'DMA channel')}, {amount(arch.clock_hz, 'Hz')}"
    )


def _notes(report: Report) -> tuple[str, ...]:
    quantised = () if report.quantization is None else (quantization_line(report.quantization),)
    examples = () if report.accuracy is None else (accuracy_line(report.accuracy),)
    return tuple(shown(note, 400) for note in (*quantised, *examples, *report.notes))


def _steps(report: Report) -> tuple[TimedStep, ...]:
    longest = max((run.seconds for run in report.passes), default=0.0) or 1.0
    return tuple(
        TimedStep(name=run.name, seconds=run.seconds, share=100 * run.seconds / longest)
        for run in report.passes
    )


def _shares(
    report: Report, module: Module, simulation: SimulationResult | None
) -> list[tuple[BusyShare, ...]]:
    """Return how busy engines are in each operator: simulated, else predicted."""
    arch = module.arch
    if arch is None:
        return [() for _ in report.operators]
    found: Mapping[str, tuple[BusyShare, ...]] = {}
    if simulation is not None:
        found = {item.name: simulated_shares(item, arch) for item in simulation.operators}
    elif module.tile_schedule is not None:
        found = predicted_shares(module.tile_schedule, arch)
    return [found.get(item.name, ()) for item in report.operators]


def _by_program(
    simulation: SimulationResult, report: Report, bound_by: Sequence[Binding]
) -> list[Binding]:
    """Return what operators are bound by, in the order of the program."""
    known = {item.name: why for item, why in zip(report.operators, bound_by, strict=True)}
    return [known.get(item.name, Binding.UNKNOWN) for item in simulation.operators]


def _rows(
    report: Report,
    called: Mapping[str, str],
    module: Module,
    shares: Sequence[tuple[BusyShare, ...]],
    bound_by: Sequence[Binding],
    tiles: Sequence[TileRow],
) -> tuple[OperatorRow, ...]:
    most = max((item.cycles or 0 for item in report.operators), default=0)
    schedule = module.tile_schedule
    names = () if schedule is None else schedule.graph.operators
    charts = {
        name: row.chart.name
        for row, name in zip(tiles, names, strict=False)
        if row.chart is not None
    }
    return tuple(
        operator_row(
            module,
            item,
            number,
            label=called[item.name],
            most_cycles=most,
            why=bound_by[number],
            shares=shares[number],
            chart=charts.get(item.name, ""),
        )
        for number, item in enumerate(report.operators)
    )
