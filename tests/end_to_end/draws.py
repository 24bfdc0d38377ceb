"""Random compilations: network, machine, scratchpad and options, each drawn by one number."""

import json
import math
import random
import shlex
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path

import onnx
from onnx import ModelProto

from accnn.backend.arch_tables import dump_architecture
from accnn.backend.load import ArchSource, load_architecture
from accnn.backend.lowering.executable import check_executable
from accnn.backend.lowering.lower import lower
from accnn.compiler.driver import run_program
from accnn.compiler.frontend import read_network
from accnn.compiler.options import CompileOptions, VerifyMode
from accnn.compiler.pipelines import GRAPH_SCHEDULERS, TILE_SCHEDULERS, default_pipeline
from accnn.compiler.report.contents.findings import Findings
from accnn.compiler.report.contents.report import build_report
from accnn.compiler.stopwatch import Stopwatch, unobserved
from accnn.compiler.verification.observe import observed
from accnn.compiler.verification.verdict import is_cut, verify_run, verify_run_in_sections
from accnn.compiler.verification.verify import verification_inputs
from accnn.ir.arch import Architecture, Precision
from accnn.ir.errors import InfeasibleError, VerifyError
from accnn.ir.module import Module
from accnn.ir.report import Report, Verification, VerificationStatus
from accnn.passes.base import Context, Pass
from accnn.passes.manager import run_pipeline
from accnn.passes.mapping.jobs import Answer, MapJob, Progress, solve_in_turn
from accnn.passes.mapping.problem import SEARCHED
from accnn.passes.mapping.registry import MAPPERS
from accnn.passes.pipeline import Pipeline
from accnn.passes.scheduling.flexer.schedule_flexer import ScheduleFlexer
from accnn.runtime_sim.result import SimulationResult

from .random_arch import OWN_NAME, random_architecture
from .random_onnx import random_network
from .reduce import reduced
from .steps import any_network

ARCHS = ("simba", "simba-8x8", "edge-1m", "flexer-arch1", "flexer-arch5", "edge-fp32", "edge-fp32")
QUICK_MAPPER = "output-stationary"
OTHER_MAPPERS = tuple(sorted(set(MAPPERS) - {QUICK_MAPPER, "exhaustive"}))
"""All others, but the exhaustive one, which refuses workloads of more than a few loops."""
QUICK = 0.85
"""Share of draws with the mapper that takes no time."""
EVALUATIONS = 300
"""Mappings that searches look at."""
NAMED = ("mr", "mh", "mp")


class Verdict(StrEnum):
    """How a compilation ended."""

    RIGHT = "right"
    INFEASIBLE = "infeasible"
    WRONG = "wrong"
    ERROR = "error"
    SLOW = "slow"


@dataclass(frozen=True, slots=True)
class Outcome:
    """A verdict and what there is to say about it."""

    verdict: Verdict
    message: str = ""

    @property
    def is_failure(self) -> bool:
        """Whether there is something to mend."""
        return self.verdict in (Verdict.WRONG, Verdict.ERROR, Verdict.SLOW)


@dataclass(frozen=True)
class Draw:
    """One random compilation.

    Attributes:
        seed: Of a series of draws.
        number: Within the series.
        steps: How many steps its network has at most.
        own: Share of draws with a machine of their own, not one of the catalogue.
        any: Share of draws with a network of any operators, not of those that most have.
        mappers: Which of them some networks are mapped with; most have the greedy one.
    """

    seed: int
    number: int
    steps: int = 6
    own: float = 0.5
    any: float = 0.5
    mappers: tuple[str, ...] = OTHER_MAPPERS

    @cached_property
    def model(self) -> ModelProto:
        """The network."""
        choose = self._stream("network").choice
        if self._stream("operators").random() >= self.any:
            return random_network(choose, steps=self.steps)
        in_bytes = self.arch.precision is not Precision.FP32
        return any_network(choose, steps=self.steps, in_bytes=in_bytes)

    @cached_property
    def arch(self) -> Architecture:
        """The machine."""
        draw = self._stream("machine")
        if draw.random() < self.own:
            return random_architecture(draw, draw.choice(tuple(Precision)))
        return load_architecture(self._stream("options").choice(ARCHS))

    def _stream(self, what: str) -> random.Random:
        return random.Random(f"{self.seed}/{self.number}/{what}")

    @cached_property
    def options(self) -> CompileOptions:
        """Options of the compilation, without its cache."""
        draw = self._stream("options")
        draw.choice(ARCHS)  # the machine, where it is one of these
        largest = _largest(self.model) * (4 if self.arch.precision is Precision.FP32 else 1)
        quick = draw.random() < QUICK
        keep = self.is_own and self._stream("scratchpad").random() < 0.5
        return CompileOptions(
            mapper=QUICK_MAPPER if quick else draw.choice(self.mappers),
            objective=draw.choice(SEARCHED),
            scheduler=draw.choice(sorted(GRAPH_SCHEDULERS)),
            tiles=draw.choice(sorted(TILE_SCHEDULERS)),
            scratchpad=None if keep else _scratchpad(draw, largest),
            seed=draw.randrange(100),
            samples=1,
            verify=draw.choice([VerifyMode.OUTPUTS, VerifyMode.OUTPUTS, VerifyMode.LAYERS]),
            races=True,
            cache=None,
            processes=1,
        )

    @property
    def is_own(self) -> bool:
        """Whether the machine is in no catalogue."""
        return self.arch.name == OWN_NAME

    def run(self) -> Outcome:
        """Compile, simulate and compare."""
        return outcome_of(self.model, self.arch, self.options)

    def reduced(self, outcome: Outcome) -> ModelProto:
        """Return the smallest network found that ends in the same way.

        Args:
            outcome: How this one ended.
        """

        def fails(model: ModelProto) -> bool:
            return is_same(outcome, outcome_of(model, self.arch, self.options))

        return reduced(self.model, fails)

    @property
    def command(self) -> str:
        """The command that repeats it on ``network.onnx``."""
        chosen, arch = self.options, "machine.toml" if self.is_own else self.arch.name
        words = ["acc-compile", "network.onnx", "--arch", arch, "--mapper", chosen.mapper]
        words += ["--objective", chosen.objective, "--scheduler", chosen.scheduler]
        words += ["--tiles", chosen.tiles, "--seed", str(chosen.seed)]
        words += ["--verify", chosen.verify, "--races", "--no-cache"]
        if chosen.scratchpad is not None:
            words += ["--scratchpad", str(chosen.scratchpad)]
        return shlex.join(words)

    def write(self, folder: Path, outcome: Outcome, smaller: ModelProto | None = None) -> Path:
        """Write what it takes to repeat it into a folder of its own and return that.

        Args:
            folder: For all failures.
            outcome: What happened.
            smaller: A smaller network that ends in the same way.
        """
        target = folder / f"{self.seed}-{self.number}"
        target.mkdir(parents=True, exist_ok=True)
        onnx.save(self.model, target / "network.onnx")
        if smaller is not None:
            onnx.save(smaller, target / "reduced.onnx")
        (target / "machine.toml").write_text(dump_architecture(self.arch))
        (target / "command").write_text(self.command + "\n")
        (target / "outcome").write_text(f"{outcome.verdict}\n{outcome.message}\n")
        options = {key: value for key, value in self.options.flat().items() if value is not None}
        (target / "options.json").write_text(
            json.dumps({"arch": self.arch.name, **options}, indent=2)
        )
        return target


def outcome_of(model: ModelProto, arch: Architecture, options: CompileOptions) -> Outcome:
    """Compile a network, simulate its program and compare.

    Args:
        model: The network.
        arch: The machine.
        options: Of the compilation.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "random.onnx"
        onnx.save(model, path)
        try:
            found = verified(path, arch, options)
        except InfeasibleError as error:
            return Outcome(Verdict.INFEASIBLE, error.message)
        except Exception:
            return Outcome(Verdict.ERROR, traceback.format_exc())
    if found.status is VerificationStatus.VERIFIED:
        return Outcome(Verdict.RIGHT)
    wrong = [f"{item.name}: {item.mismatches}" for item in found.outputs if item.mismatches]
    return Outcome(Verdict.WRONG, f"{found.status}: {', '.join(wrong)}")


def is_same(one: Outcome, other: Outcome) -> bool:
    """Whether two compilations failed in the same way: wrong, or with errors of one class."""

    def error(outcome: Outcome) -> str:
        lines = outcome.message.strip().splitlines() or [""]
        return lines[-1].partition(":")[0] if outcome.verdict is Verdict.ERROR else ""

    return one.verdict is other.verdict and error(one) == error(other)


def verified(path: Path, machine: Architecture, options: CompileOptions) -> Verification:
    """Compile a model as the compiler does, but with small budgets, run it and compare."""
    watch = Stopwatch(unobserved)
    check_executable(machine)
    network = read_network(path, machine, options, watch)
    source = Module(
        graph=network.imported.graph, arch=machine, constants=network.imported.constants
    )
    passes = tuple(_brief(item) for item in default_pipeline(options).passes)
    context = Context(seed=options.seed, solve_jobs=_solve_briefly)
    outcome = run_pipeline(Pipeline(passes), source, context)
    module = outcome.module
    inputs = verification_inputs(network.model, options.seed, None)

    def run(shown: Module) -> tuple[Module, SimulationResult]:
        lowered = lower(shown)
        lowered.program.verify()
        constants = shown.constants.with_arrays(lowered.derived)
        ready = replace(shown, program=lowered.program, constants=constants)
        return ready, run_program(ready, inputs, network.imported.input_names, options)

    layers = run(observed(module)) if options.verify is VerifyMode.LAYERS else None
    lowered, simulation = run(module)
    verdict = verify_run(network, simulation, inputs, layers=layers)
    if verdict.status is VerificationStatus.FAILED and is_cut(network):
        shown = layers or run(observed(module))
        verdict = verify_run_in_sections(network, verdict, simulation, shown, inputs)
    report = build_report(
        Findings(
            network=network,
            source=ArchSource(Path(f"{machine.name}.toml"), dump_architecture(machine)),
            options=options,
            passes=watch.runs,
            records=outcome.records,
            module=lowered,
            simulation=simulation,
            verification=verdict,
        )
    )
    report.verify()
    check_bounds(report)
    return report.verification


def check_bounds(report: Report) -> None:
    """Check that nothing takes less than its lower bound.

    Args:
        report: Of a compilation.

    Raises:
        VerifyError: Names what lies below its bound.
    """
    for what, counted, bound in _bounded(report):
        if bound is not None and counted is not None and counted < bound:
            raise VerifyError(f"{counted} {what}, but the lower bound is {bound}")


def _bounded(report: Report) -> Iterator[tuple[str, int | None, int | None]]:
    """Yield figures of a report with their lower bounds."""
    totals = report.totals
    yield "cycles", totals.cycles_simulated, totals.cycles_lower_bound
    yield "off-chip bytes", totals.offchip_bytes, totals.offchip_bytes_compulsory
    for item in (*report.operators, *report.tile_schedules):
        yield f"cycles of {item.name}", item.cycles, item.cycles_lower_bound


def _brief(item: Pass) -> Pass:
    """Return a pass that takes little time: Flexer maps thousands of tiles."""
    if not isinstance(item, ScheduleFlexer):
        return item
    return replace(item, steps=500, mapper=QUICK_MAPPER)


def _solve_briefly(jobs: Sequence[MapJob], progress: Progress) -> tuple[Answer, ...]:
    brief = [replace(job, problem=replace(job.problem, evaluations=EVALUATIONS)) for job in jobs]
    return solve_in_turn(brief, progress)


def _largest(model: ModelProto) -> int:
    """Return the elements of the largest activation."""
    graph = model.graph
    shapes = (
        [dim.dim_value for dim in item.type.tensor_type.shape.dim]
        for item in (*graph.input, *graph.value_info, *graph.output)
    )
    return max(math.prod(shape) for shape in shapes)


def _scratchpad(draw: random.Random, largest: int) -> int | str | None:
    """Return from a small part of the largest activation up to several of them [byte]."""
    kind = draw.random()
    if kind < 0.1:
        return None
    if kind < 0.2:
        return draw.choice(NAMED)
    low, high = math.log(max(128, largest / 10)), math.log(max(1024, 6 * largest))
    return round(math.exp(draw.uniform(low, high)))
