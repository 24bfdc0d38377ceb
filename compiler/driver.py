"""Compile a network: the whole way from an ONNX file to a program that is proven by running it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..backend.load import ArchSource, find_source, parse_architecture
from ..backend.lowering.executable import check_executable
from ..backend.lowering.lower import lower
from ..ir.arch import Architecture
from ..ir.isa.program import SymbolKind
from ..ir.module import Module
from ..ir.report import Report, Verification, VerificationStatus
from ..ir.resources import Constants
from ..passes.base import Context
from ..passes.instrument import Instrument, ReportProgress
from ..passes.manager import Outcome, run_pipeline
from ..passes.pipeline import Pipeline
from ..runtime_sim.result import SimulationResult
from ..runtime_sim.simulate import simulate
from .frontend import Network, read_network
from .mapping.solve import CachedSolver
from .options import LOWER, CompileOptions, VerifyMode
from .pipelines import chosen_pipeline
from .report.contents.findings import Findings
from .report.contents.report import build_report
from .stopwatch import Observer, Stopwatch, unobserved
from .stores.mappings import MappingCache
from .stores.networks import QuantisedNetworks
from .stores.passes import PassMemory
from .stores.store import Store
from .verification.observe import observed
from .verification.verdict import is_cut, verify_run, verify_run_in_sections
from .verification.verify import verification_inputs

Array = npt.NDArray[np.generic]


@dataclass(frozen=True, kw_only=True)
class Result:
    """What a compilation made.

    Attributes:
        network: The network as it was compiled.
        arch: The accelerator.
        module: Every stage that was reached.
        report: All figures.
        simulation: What the simulator found, ``None`` where it did not run.
    """

    network: Network
    arch: Architecture
    module: Module
    report: Report
    simulation: SimulationResult | None = field(default=None, compare=False)


def compile(
    model: Path | str,
    *,
    arch: Path | str,
    options: CompileOptions | None = None,
    pipeline: Pipeline | str | None = None,
    observer: Observer = unobserved,
    instruments: Sequence[Instrument] = (),
) -> Result:
    """Compile an ONNX network for an architecture, simulate the program and verify its outputs.

    Args:
        model: The ``.onnx`` file.
        arch: Name of the catalogue, or path of a TOML file.
        options: What to choose; defaults otherwise.
        pipeline: The passes between import and lowering, as text or as values (which need not be
            registered); else what the options choose.
        observer: Called about progress.
        instruments: Watch the passes.

    Returns:
        The stages, the simulation and the report. Where outputs differ the report says
        ``failed``; nothing is raised for it.

    Raises:
        AccnnError: The root of all errors; ``InputError`` for what the user can mend.
    """
    chosen = options or CompileOptions()
    watch = Stopwatch(observer)
    given = pipeline if isinstance(pipeline, Pipeline) else None
    if pipeline is not None:
        chosen = replace(chosen, pipeline=str(pipeline))
    passes = chosen_pipeline(chosen, given)
    source = find_source(str(arch))
    machine = parse_architecture(source.text, file=source.path.name)
    if chosen.lowers:
        check_executable(machine)
    store = None if chosen.cache is None else Store(chosen.cache)
    network = read_network(Path(model), machine, chosen, watch, QuantisedNetworks(store))
    inputs = verification_inputs(network.model, chosen.seed, chosen.inputs)
    module = Module(
        graph=network.imported.graph, arch=machine, constants=network.imported.constants
    )
    cache = None if chosen.cache is None else MappingCache(chosen.cache)
    context = Context(
        seed=chosen.seed,
        progress=watch.progress,
        solve_jobs=CachedSolver(cache, chosen.processes),
        run_pass=PassMemory(store),
    )
    watchers = (ReportProgress(lambda item, done, total: watch.progress(item.name, 0, 0)),)
    outcome = run_pipeline(passes, module, context, instruments=(*watchers, *instruments))
    for record in outcome.records:
        watch.add(record.name, record.seconds)
    if not chosen.lowers:
        return _result(network, machine, source, chosen, watch, outcome, outcome.module)
    module = _lower(outcome.module, watch)
    if chosen.until == LOWER or chosen.verify is VerifyMode.OFF:
        return _result(network, machine, source, chosen, watch, outcome, module)
    simulation, verification = _prove(network, module, inputs, chosen, watch)
    return _result(
        network, machine, source, chosen, watch, outcome, module, simulation, verification
    )


def _lower(module: Module, watch: Stopwatch) -> Module:
    """Return the module with its program; factors of the program join the constants."""
    with watch.step(LOWER):
        lowered = lower(module)
        lowered.program.verify()
    constants = module.constants.with_arrays(lowered.derived)
    return replace(module, program=lowered.program, constants=constants)


def _prove(
    network: Network,
    module: Module,
    inputs: Mapping[str, Array],
    options: CompileOptions,
    watch: Stopwatch,
) -> tuple[SimulationResult, Verification]:
    """Run the program and judge its outputs."""
    names = network.imported.input_names
    with watch.step("simulate"):
        simulation = run_program(module, inputs, names, options)
    layers = None
    if options.verify is VerifyMode.LAYERS:
        layers = _run_layers(network, module, inputs, options, watch)
    with watch.step("verify"):
        verification = verify_run(network, simulation, inputs, layers=layers)
    if verification.status is VerificationStatus.FAILED and is_cut(network):
        layers = layers or _run_layers(network, module, inputs, options, watch)
        with watch.step("verify sections"):
            verification = verify_run_in_sections(network, verification, simulation, layers, inputs)
    return simulation, verification


def _run_layers(
    network: Network,
    module: Module,
    inputs: Mapping[str, Array],
    options: CompileOptions,
    watch: Stopwatch,
) -> tuple[Module, SimulationResult]:
    """Return a module whose program stores every tensor off chip, and its run."""
    shown = _lower(replace(observed(module), program=None), watch)
    with watch.step("simulate layers"):
        return shown, run_program(shown, inputs, network.imported.input_names, options)


def run_program(
    module: Module,
    inputs: Mapping[str, Array],
    names: Sequence[tuple[str, str]],
    options: CompileOptions,
) -> SimulationResult:
    """Simulate a module's program on inputs given under their ONNX names.

    Args:
        module: With a program and all its constants.
        inputs: Arrays by ONNX name.
        names: ONNX name and graph name of each input.
        options: Whether to look for races.
    """
    assert module.program is not None
    return simulate(
        module.program,
        constants_of(module),
        {name: inputs[original] for original, name in names},
        detect_races=options.races,
        trace=True,
    )


def _result(
    network: Network,
    arch: Architecture,
    source: ArchSource,
    options: CompileOptions,
    watch: Stopwatch,
    outcome: Outcome,
    module: Module,
    simulation: SimulationResult | None = None,
    verification: Verification | None = None,
) -> Result:
    findings = Findings(
        network=network,
        source=source,
        options=options,
        passes=watch.runs,
        records=outcome.records,
        module=module,
        simulation=simulation,
        verification=verification or Verification(),
    )
    return Result(
        network=network,
        arch=arch,
        module=module,
        report=build_report(findings),
        simulation=simulation,
    )


def constants_of(module: Module) -> Constants:
    """Return the constants that a module's program reads."""
    assert module.program is not None
    names = [item.name for item in module.program.symbols if item.kind is SymbolKind.CONSTANT]
    return module.constants.only(frozenset(names))
