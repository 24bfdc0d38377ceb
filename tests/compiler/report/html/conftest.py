"""Compilations to report on, made without ONNX."""

from dataclasses import dataclass, replace
from typing import Any

import pytest

from accnn.backend.load import find_source, load_architecture
from accnn.backend.lowering.lower import lower
from accnn.compiler.driver import constants_of
from accnn.compiler.frontend import Network
from accnn.compiler.options import CompileOptions
from accnn.compiler.pipelines import default_pipeline
from accnn.compiler.report.contents.findings import Findings
from accnn.compiler.report.contents.report import build_report
from accnn.compiler.report.html import html_report
from accnn.ir.module import Module
from accnn.ir.report import (
    FileIdentity,
    OutputCheck,
    PassRun,
    Report,
    Verification,
    VerificationStatus,
)
from accnn.ir.resources import Constants
from accnn.passes.manager import run_pipeline
from accnn.passes.scheduling.fusion import Fuse
from accnn.runtime_sim.result import SimulationResult
from accnn.runtime_sim.simulate import simulate
from tests.flow import random_inputs
from tests.networks import residual_network

VERIFIED = Verification(
    status=VerificationStatus.VERIFIED,
    against="onnxruntime 1.2.3",
    outputs=(OutputCheck(name="out", elements=40, mismatches=0, max_abs_diff=0.0, tolerance=0.0),),
)


@dataclass(frozen=True)
class Made:
    """A compilation with its report."""

    report: Report
    module: Module
    simulation: SimulationResult | None

    @property
    def page(self) -> str:
        return html_report(self.report, self.module, self.simulation)


def report_on(
    module: Module,
    simulation: SimulationResult | None = None,
    verification: Verification | None = None,
    **options: Any,
) -> Made:
    """Return a report on what was compiled."""
    found = Findings(
        network=Network(identity=FileIdentity("net.onnx", "00" * 32), model=None, imported=None),  # pyright: ignore
        source=find_source(module.arch.name if module.arch else "simba"),
        options=CompileOptions(**options),
        passes=(PassRun("read", 0.5), PassRun("lower", 1.25)),
        records=(),
        module=module,
        simulation=simulation,
        verification=verification or Verification(),
    )
    return Made(build_report(found), module, simulation)


def compiled(arch: str, **options: Any) -> Made:
    """Compile, run and report on a small network with a residual connection."""
    graph, data = residual_network()
    pipeline = default_pipeline(CompileOptions(mapper="output-stationary", **options))
    source = Module(graph=graph, arch=load_architecture(arch), constants=Constants(data))
    module = run_pipeline(pipeline, source).module
    lowered = lower(module)
    constants = module.constants.with_arrays(lowered.derived)
    module = replace(module, program=lowered.program, constants=constants)
    inputs = random_inputs(graph, seed=0)
    simulation = simulate(lowered.program, constants_of(module), inputs, trace=True)
    return report_on(module, simulation, VERIFIED)


@pytest.fixture(scope="session")
def static() -> Made:
    """One NPU, little room: tensors are streamed."""
    return compiled("simba", scratchpad=6000, fuse=Fuse.OFF)


@pytest.fixture(scope="session")
def flexer() -> Made:
    """Four NPUs, out of order."""
    return compiled("flexer-arch5", scratchpad=16384, tiles="flexer", fuse=Fuse.OFF)


@pytest.fixture(scope="session")
def across() -> Made:
    """Four NPUs, the tiles of all operators in one schedule."""
    return compiled("flexer-arch5", scratchpad=16384, tiles="static-across")
