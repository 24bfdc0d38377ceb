"""Compile a network: the whole way from an ONNX file to a program that is proven by running it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..backend.arch_tables import dump_architecture
from ..backend.load import ArchSource, find_source, parse_architecture
from ..backend.lowering.executable import check_executable
from ..backend.lowering.lower import lower
from ..ir.arch import Architecture
from ..ir.errors import OptionError
from ..ir.isa.program import SymbolKind
from ..ir.module import Module
from ..ir.report import Report, Verification, VerificationStatus
from ..ir.resources import Constants
from ..models.session import Model
from ..models.torch_export import TorchModule
from ..passes.base import Context, Notes
from ..passes.deadline import Deadline
from ..passes.instrument import Instrument, ReportProgress
from ..passes.manager import Outcome, run_pipeline
from ..passes.mapping.jobs import KnownNests
from ..passes.pipeline import Pipeline
from ..runtime_sim.result import SimulationResult
from ..runtime_sim.simulate import simulate
from ..runtime_sim.timing.events import TimingModel
from ..runtime_sim.timing.over_mesh import check_timed
from .frontend import Network, read_network
from .given import as_files
from .mapping.pool import WorkerPool
from .mapping.solve import CachedSolver
from .options import LOWER, CompileOptions, VerifyMode
from .pipelines import chosen_pipeline
from .report.contents.findings import Findings
from .report.contents.report import build_report
from .report.notebook import operator_frame, report_html
from .stopwatch import Observer, Stopwatch, unobserved
from .stores.inventory import limited
from .stores.mappings import MappingCache
from .stores.networks import QuantisedNetworks
from .stores.passes import PassMemory
from .stores.store import Store
from .verification.observe import observed
from .verification.translation import check_translation
from .verification.verdict import is_cut, verify_run, verify_run_in_sections
from .verification.verify import verification_inputs

Array = npt.NDArray[np.generic]


@dataclass(frozen=True, kw_only=True, repr=False)
class Result:
    """What a compilation made.

    Attributes:
        network: The network as it was compiled.
        arch: The accelerator.
        module: Every stage that was reached.
        report: All figures.
        options: What was chosen.
        simulation: What the simulator found, ``None`` where it did not run.
    """

    network: Network
    arch: Architecture
    module: Module
    report: Report
    options: CompileOptions
    simulation: SimulationResult | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        report = self.report
        cycles = report.totals.cycles_simulated or report.totals.cycles_model
        took = "" if cycles is None else f", {cycles:,} cycles"
        status = report.verification.status
        return f"<Result: {report.model.name} on {report.arch.name}, {status}{took}>"

    def _repr_html_(self) -> str:
        return report_html(self.report)

    def to_dataframe(self) -> Any:
        """Return the figures of all operators as a data frame, a row each, in execution order.

        Columns are the fields of :class:`accnn.ir.report.OperatorReport` that hold one value, in
        its units; ``R`` to ``G`` are the extents of its loops.

        Returns:
            A ``DataFrame`` of pandas, or of polars where pandas is not installed.

        Raises:
            OptionError: Neither is installed.
        """
        return operator_frame(self.report)


def compile(
    model: Path | str | Model | TorchModule,
    example_inputs: object = None,
    *,
    arch: Path | str | Architecture,
    options: CompileOptions | None = None,
    inputs: Mapping[str, npt.ArrayLike] | None = None,
    pipeline: Pipeline | str | None = None,
    observer: Observer = unobserved,
    instruments: Sequence[Instrument] = (),
) -> Result:
    """Compile an ONNX network for an architecture, simulate the program and verify its outputs.

    Args:
        model: The ``.onnx`` file, the ``onnx.ModelProto`` that it would hold, or a PyTorch module.
        example_inputs: Arguments of a PyTorch module: a tensor, or a tuple of them, of the shapes
            to compile for.
        arch: Name of the catalogue, path of a TOML file, or the machine itself.
        options: What to choose; defaults otherwise.
        inputs: Arrays to verify on, by the names of the network's inputs; instead of those that the
            options name.
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
    chosen = CompileOptions() if options is None else options
    if not isinstance(chosen, CompileOptions):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise OptionError(
            f"options are a {type(chosen).__name__}", hint="give accnn.CompileOptions(...)"
        )
    with as_files(model, inputs, example_inputs) as (path, sample):
        chosen = chosen if sample is None else replace(chosen, inputs=sample)
        with limited(chosen.cache):
            return _compile(path, arch, chosen, pipeline, observer, instruments)


def _source_of(arch: Path | str | Architecture) -> ArchSource:
    """Return the file of an architecture; of one that has none, what it would say."""
    if isinstance(arch, Architecture):
        return ArchSource(Path(f"{arch.name}.toml"), dump_architecture(arch))
    return find_source(str(arch))


def _compile(
    model: Path,
    arch: Path | str | Architecture,
    chosen: CompileOptions,
    pipeline: Pipeline | str | None,
    observer: Observer,
    instruments: Sequence[Instrument],
) -> Result:
    watch, deadline = Stopwatch(observer), Deadline.after(chosen.max_seconds)
    given = pipeline if isinstance(pipeline, Pipeline) else None
    if pipeline is not None:
        chosen = replace(chosen, pipeline=str(pipeline))
    passes = chosen_pipeline(chosen, given)
    source = _source_of(arch)
    machine = parse_architecture(source.text, file=source.path.name)
    if chosen.lowers:
        check_executable(machine)
    if chosen.timing is TimingModel.NETWORK:
        check_timed(machine)
    store = None if chosen.cache is None else Store(chosen.cache)
    network = read_network(model, machine, chosen, watch, QuantisedNetworks(store))
    inputs = verification_inputs(network.model, chosen.seed, chosen.inputs)
    module = Module(
        graph=network.imported.graph, arch=machine, constants=network.imported.constants
    )
    outcome = _run_passes(passes, module, chosen, store, deadline, watch, instruments)
    if not chosen.lowers:
        return _result(network, machine, source, chosen, watch, outcome, outcome.module)
    module = _lower(outcome.module, watch)
    if chosen.until == LOWER or chosen.verify is VerifyMode.OFF:
        return _result(network, machine, source, chosen, watch, outcome, module)
    simulation, verification = _prove(network, module, inputs, chosen, watch)
    return _result(
        network, machine, source, chosen, watch, outcome, module, simulation, verification
    )


def _run_passes(
    passes: Pipeline,
    module: Module,
    options: CompileOptions,
    store: Store | None,
    deadline: Deadline,
    watch: Stopwatch,
    instruments: Sequence[Instrument],
) -> Outcome:
    """Run passes; what they remember for each other ends with the last one.

    That is a tenth of all memory on ResNet-50, and lowering and simulation need some, too.
    """
    cache = None if options.cache is None else MappingCache(options.cache)
    watchers = (ReportProgress(lambda item, done, total: watch.progress(item.name, 0, 0)),)
    notes = Notes()
    with WorkerPool(options.processes) as pool:
        context = Context(
            seed=options.seed,
            progress=watch.progress,
            solve_jobs=CachedSolver(cache, options.processes, pool, notes.of(KnownNests)),
            helpers=pool.help,
            notes=notes,
            run_pass=PassMemory(store),
            deadline=deadline,
        )
        outcome = run_pipeline(passes, module, context, instruments=(*watchers, *instruments))
    for record in outcome.records:
        watch.add(record.name, record.seconds)
    return outcome


def _lower(module: Module, watch: Stopwatch) -> Module:
    """Return the module with its program, held against the tile schedule.

    Factors of the program join the constants.
    """
    with watch.step(LOWER):
        lowered = lower(module)
        lowered.program.verify()
        assert module.tile_schedule is not None
        check_translation(module.graph, module.tile_schedule, lowered.program)
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
        timing=options.timing,
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
        options=options,
        simulation=simulation,
    )


def constants_of(module: Module) -> Constants:
    """Return the constants that a module's program reads."""
    assert module.program is not None
    names = [item.name for item in module.program.symbols if item.kind is SymbolKind.CONSTANT]
    return module.constants.only(frozenset(names))
