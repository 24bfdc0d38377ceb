"""What the stages of a compilation found, from which its report is built."""

from dataclasses import dataclass

from ....backend.load import ArchSource
from ....ir.module import Module
from ....ir.report import PassRun, Verification
from ....passes.instrument import PassRecord
from ....runtime_sim.result import SimulationResult
from ...frontend import Network
from ...options import CompileOptions


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
