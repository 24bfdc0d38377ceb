"""The figures at the head of the page, and what the page lacks."""

from dataclasses import dataclass

from ....ir.arch import Architecture
from ....ir.report import Report, Totals
from ....runtime_sim.result import SimulationResult
from ..figures import UNKNOWN, amount, cycles_text, joule
from ..off_chip import planned_scope


@dataclass(frozen=True, slots=True)
class Figure:
    """A total: what it is, how much, and how to take it."""

    name: str
    value: str
    remark: str = ""


def figures(report: Report, arch: Architecture | None) -> tuple[Figure, ...]:
    """Return the totals."""
    totals = report.totals
    seconds = sum(run.seconds for run in report.passes)
    return (
        *_cycles(totals, arch),
        Figure("energy", amount(joule(totals.energy_pj), "J"), _per_mac(totals)),
        *_off_chip(report),
        Figure("MACs", amount(totals.macs)),
        Figure("compile time", f"{seconds:.1f} s", "the passes below"),
    )


def _cycles(totals: Totals, arch: Architecture | None) -> tuple[Figure, ...]:
    simulated, model, bound = (
        totals.cycles_simulated,
        totals.cycles_model,
        totals.cycles_lower_bound,
    )
    cycles = model if simulated is None else simulated
    return (
        Figure("cycles, simulated", cycles_text(simulated), _duration(simulated, arch)),
        Figure("cycles, model", cycles_text(model), _times(model, simulated, "the simulated ones")),
        Figure(
            "cycles, lower bound", cycles_text(bound), _times(cycles, bound, "that", _who(totals))
        ),
        Figure("utilisation", *_utilization(totals, cycles, arch)),
    )


def _who(totals: Totals) -> str:
    return "model" if totals.cycles_simulated is None else "simulated"


def _duration(cycles: int | None, arch: Architecture | None) -> str:
    if cycles is None or arch is None:
        return ""
    return f"{amount(cycles / arch.clock_hz, 's')} at {amount(arch.clock_hz, 'Hz')}"


def _utilization(totals: Totals, cycles: int | None, arch: Architecture | None) -> tuple[str, str]:
    if not cycles or arch is None:
        return UNKNOWN, ""
    peak = arch.all_macs
    return f"{totals.macs / (cycles * peak):.1%}", f"of {peak:,} MACs per cycle"


def _per_mac(totals: Totals) -> str:
    if totals.energy_pj is None or not totals.macs:
        return ""
    return f"{totals.energy_pj / totals.macs:.2f} pJ per MAC"


def _off_chip(report: Report) -> tuple[Figure, ...]:
    totals, plan = report.totals, report.graph_schedule
    moved, least = totals.offchip_bytes, totals.offchip_bytes_compulsory
    who = "scheduled" if totals.cycles_simulated is None else "simulated"
    planned = (
        ()
        if plan is None
        else (Figure("off-chip, planned", amount(plan.objective_bytes, "B"), planned_scope(plan)),)
    )
    return (
        Figure(f"off-chip, {who}", amount(moved, "B"), _times(moved, least, "the compulsory ones")),
        *planned,
        Figure("off-chip, compulsory", amount(least, "B"), "inputs, constants, outputs once each"),
    )


def _times(value: int | None, of: int | None, what: str, who: str = "") -> str:
    if value is None or not of:
        return ""
    return f"{f'{who}: ' if who else ''}{value / of:.2f} times {what}"


def missing(report: Report, simulation: SimulationResult | None) -> tuple[str, ...]:
    """Return what a partial report has not, and why, one sentence each."""
    until = report.options.get("until")
    stopped = f"the compilation stopped after {until}" if until else ""
    off = "--verify=off" if report.options.get("verify") == "off" else ""
    why = stopped or off or "these stages did not run"
    found: list[str] = []
    if report.graph_schedule is None:
        found.append(f"No plan of the scratchpad: {why}.")
    if not any(item.nest for item in report.operators):
        found.append(f"No loop nests: {why}.")
    if not report.tile_schedules:
        found.append(f"No tile schedules: {why}.")
    if simulation is None:
        found.append(
            f"No simulation: {why}. Cycles of operators are predictions where they are given; "
            "energy, traffic and the run are missing."
        )
    return tuple(found)
