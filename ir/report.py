"""The report of one compilation: every figure that is printed or written, by model or simulator.

``report.json`` is this value; ``docs/report.md`` explains it by task. Names of fields are stable:
within one ``SCHEMA_VERSION`` fields are added, never renamed or removed. What belongs to a stage
that did not run is ``None`` or empty. Sizes are ints, energies and seconds floats; seconds are the
only figures that differ between two runs.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from typing import cast

from .codec.json_codec import dump_json, parse_json, parse_key
from .errors import ParseError, VerifyError
from .graph_schedule import Residence, SolveStatus, Stream, Transfer
from .mesh_report import MeshReport
from .proof import Scope, gap_of, verify_proof
from .workload import Operand, Workload

SCHEMA_VERSION = 2
"""Version of the names and meanings of the report's fields."""


class VerificationStatus(StrEnum):
    """What the comparison with the reference says."""

    VERIFIED = "verified"
    FAILED = "failed"
    NOT_VERIFIED = "not verified"


@dataclass(frozen=True, slots=True)
class FileIdentity:
    """A file that went in.

    Attributes:
        name: File name without its folder.
        sha256: Hexadecimal digest of its bytes.
    """

    name: str
    sha256: str


@dataclass(frozen=True, slots=True)
class PassRun:
    """One pass that ran, and how long it took [s]."""

    name: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class OperandTraffic:
    """Bytes that one operand moves at one memory level, all instances together."""

    level: str
    operand: Operand
    read_bytes: int
    written_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EnergyPart:
    """Where a part of the energy goes.

    Attributes:
        part: A memory level by name, ``mac``, ``network`` (between memory levels) or ``vector``.
        pj: The energy [pJ].
    """

    part: str
    pj: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Dims:
    """Extents of a workload's loops: filter, outputs, channels, batch, groups."""

    R: int = 1
    S: int = 1
    P: int = 1
    Q: int = 1
    C: int = 1
    K: int = 1
    N: int = 1
    G: int = 1

    @classmethod
    def of(cls, workload: Workload) -> "Dims":
        """Return the extents of a workload."""
        return cls(**{dim.value: extent for dim, extent in workload.dims.items()})


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Figures of the whole network.

    Attributes:
        macs: Multiply-accumulates, without padding.
        cycles_model: Predicted makespan of the tile schedule [cycle].
        cycles_simulated: Counted by the simulator.
        cycles_lower_bound: No schedule on this machine is faster.
        energy_pj: Counted by the simulator, else predicted [pJ].
        offchip_bytes: Moved to and from off-chip memory, simulated, else predicted.
        offchip_bytes_compulsory: Inputs, constants and outputs, each moved once.
        traffic: Per memory level and operand.
        energy: The parts of ``energy_pj``, memory levels from the outermost one on.
    """

    macs: int
    cycles_model: int | None = None
    cycles_simulated: int | None = None
    cycles_lower_bound: int | None = None
    energy_pj: float | None = None
    offchip_bytes: int | None = None
    offchip_bytes_compulsory: int | None = None
    traffic: tuple[OperandTraffic, ...] = ()
    energy: tuple[EnergyPart, ...] = ()


NOTICEABLE = 0.01
"""Differences of model and simulation up to this share need no reason."""


class Cause(StrEnum):
    """Why the run of an operator in its network takes another time than the model says."""

    PORT = "port"
    OVERLAP = "overlap"
    MOVES = "moves"
    NETWORK = "network"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason.

    Attributes:
        cause: Instructions waited for a port; operators before or after worked at the same time;
            the plan moved whole tensors at its step; its transfers crossed the mesh, where the run
            was timed over one; or nobody knows.
        cycles: For how long: waiting summed over instructions, or of its time [cycle].
        port: Which port; ``None`` for other causes.
    """

    cause: Cause
    cycles: int
    port: str | None = None

    def __str__(self) -> str:
        return self.port or self.cause.value


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorReport:
    """Figures of one operator.

    Attributes:
        name: Its name in the graph.
        kind: Its kind.
        dims: Extents of its workload; ``None`` where it does not run on the MAC array.
        mapper: Who found its loop nest.
        status: What the mapper has proven of the nests of ``scope``.
        objective: The cost model's value of what the mapper minimises, of this nest: [cycle], [pJ]
            or [pJ * cycle]; of one NPU's share of the work where several divide it.
        bound: Proven lower bound of ``objective``; ``None`` where nothing is proven.
        scope: The nests that ``bound`` holds for.
        gap: ``objective / bound - 1``; 0 is proven optimal in its scope, less is better than all
            of a scope that the nest is not in.
        estimate: What the cost model and the tiles' own cost come to, by which the nest was chosen;
            nothing is proven of it [cycle].
        solve_seconds: Of the mapper [s]; 0 where a result was reused.
        cycles: Predicted duration of its tiles by themselves.
        cycles_lower_bound: Roofline: MACs over the array, compulsory bytes over the bandwidth.
        cycles_predicted: The same from the first cycle in which an engine works for it.
        cycles_simulated: From the first cycle in which an engine works for it to the last, in the
            run of the whole network.
        difference: ``cycles_simulated / cycles_predicted - 1``.
        reasons: Why that is not zero, where it is more than ``NOTICEABLE``; the most cycles first.
        energy_pj: Energy [pJ].
        offchip_bytes: To and from off-chip memory, simulated [byte].
        utilization: MACs over (cycles x MACs per cycle), 0 .. 1.
        traffic: Per memory level and operand.
        energy: The parts of ``energy_pj``, memory levels from the outermost one on.
        members: Operators that run together here, in order; empty for one alone.
        nodes: ONNX nodes that it comes from, in order.
        nest: Text of the loop nest.
        note: What else there is to know of the mapping, e.g. who stepped in after a failure.
    """

    name: str
    kind: str
    dims: Dims | None = None
    mapper: str | None = None
    status: SolveStatus | None = None
    objective: float | None = None
    bound: float | None = None
    scope: Scope | None = None
    gap: float | None = None
    estimate: float | None = None
    solve_seconds: float | None = None
    cycles: int | None = None
    cycles_lower_bound: int | None = None
    cycles_predicted: int | None = None
    cycles_simulated: int | None = None
    difference: float | None = None
    reasons: tuple[Reason, ...] = ()
    energy_pj: float | None = None
    offchip_bytes: int | None = None
    utilization: float | None = None
    traffic: tuple[OperandTraffic, ...] = ()
    energy: tuple[EnergyPart, ...] = ()
    members: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    nest: str | None = None
    note: str | None = None

    def verify(self) -> None:
        """Check that bound, scope, gap and status belong together.

        Raises:
            VerifyError: Names the operator.
        """
        is_optimal = self.status is SolveStatus.OPTIMAL
        verify_proof(self.name, self.objective, self.bound, self.scope, is_optimal=is_optimal)
        gap = None if self.objective is None else gap_of(self.objective, self.bound)
        if self.gap != gap:
            raise VerifyError(f"{self.name}: gap {self.gap}, but objective and bound give {gap}")


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphScheduleReport:
    """Order of the operators, and the plan of the scratchpad.

    Attributes:
        budget_bytes: Size of the scratchpad that the plan may use.
        status: What is proven of the plans of ``scope``.
        objective_bytes: Off-chip bytes of the plan.
        bound_bytes: Proven lower bound of ``objective_bytes``; 0 where nothing is proven.
        scope: The plans that ``bound_bytes`` holds for.
        constant_bytes: Part of ``objective_bytes`` that is constants; 0 where the plan leaves
            constants to the tiles.
        solve_seconds: Of the scheduler [s].
        order: Operators in execution order; step ``t`` executes ``order[t]``.
        residences: Which tensor is where over which steps, inclusive.
        spills: Tensors moved off chip although they are needed later.
        retrieves: Tensors brought back.
        streams: Tensors moved in tiles by the operator that reads or writes them.
    """

    budget_bytes: int
    status: SolveStatus
    objective_bytes: int
    bound_bytes: int
    scope: Scope | None = None
    constant_bytes: int = 0
    solve_seconds: float | None = None
    order: tuple[str, ...] = ()
    residences: tuple[Residence, ...] = ()
    spills: tuple[Transfer, ...] = ()
    retrieves: tuple[Transfer, ...] = ()
    streams: tuple[Stream, ...] = ()

    @property
    def gap(self) -> float | None:
        """See :func:`~accnn.ir.proof.gap_of`."""
        return gap_of(self.objective_bytes, self.bound_bytes)

    def verify(self) -> None:
        """Check that bound, scope and status belong together.

        Raises:
            VerifyError: They do not.
        """
        verify_proof(
            "graph_schedule",
            self.objective_bytes,
            self.bound_bytes or None,
            self.scope,
            is_optimal=self.status is SolveStatus.OPTIMAL and self.objective_bytes > 0,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TileScheduleReport:
    """Figures of the tiles of one operator, by themselves.

    Attributes:
        name: Operator that it belongs to.
        scheduler: Who made it.
        operations: Tile operations.
        cycles: Predicted makespan.
        cycles_lower_bound: No schedule of ``scope`` is faster; 0 where nothing is proven.
        scope: The schedules that ``cycles_lower_bound`` holds for.
        offchip_bytes: Moved to and from off-chip memory.
    """

    name: str
    scheduler: str
    operations: int
    cycles: int
    cycles_lower_bound: int
    scope: Scope | None = None
    offchip_bytes: int | None = None

    def verify(self) -> None:
        """Check that bound and scope belong together.

        Raises:
            VerifyError: They do not.
        """
        bound = self.cycles_lower_bound or None
        verify_proof(self.name, self.cycles, bound, self.scope, is_optimal=False)


@dataclass(frozen=True, slots=True)
class LayerNoise:
    """How far a tensor of a quantised network is from that of the float network.

    Attributes:
        name: The tensor, as the ONNX file calls it.
        snr_db: Signal-to-noise ratio [dB].
    """

    name: str
    snr_db: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """What a network makes of the user's examples.

    Attributes:
        data: The file.
        samples: How many examples it holds.
        top1_agreement: Share of them whose most likely class is that of the float network; ``None``
            where the network was not quantised here.
        top5_agreement: Share of them whose five most likely classes hold that of the float network.
        top1: Share of them whose most likely class is the label; ``None`` without labels.
        top5: Share of them whose five most likely classes hold the label.
        float_top1: ``top1`` of the float network.
        float_top5: ``top5`` of the float network.
    """

    data: str
    samples: int
    top1_agreement: float | None = None
    top5_agreement: float | None = None
    top1: float | None = None
    top5: float | None = None
    float_top1: float | None = None
    float_top5: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantizationReport:
    """How a float model became an integer one.

    Attributes:
        calibration: What the ranges come from: a file, or a seeded synthetic set.
        calibrated: Whether the user gave the calibration data; accuracy is unknown otherwise.
        snr_db: Signal-to-noise ratio against the float model [dB].
        method: How ranges follow from the data: ``minmax``, ``percentile`` or ``entropy``.
        layers: The ratio of the tensors inside, the lowest first.
    """

    calibration: str
    calibrated: bool
    snr_db: float | None = None
    method: str = "minmax"
    layers: tuple[LayerNoise, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputCheck:
    """Comparison of one tensor with the reference.

    Attributes:
        name: The tensor.
        elements: How many were compared.
        mismatches: How many lie outside the tolerance.
        max_abs_diff: Largest absolute difference.
        tolerance: What is allowed; 0 is bit-equal.
        remark: Why no element could be compared, all of which then count as mismatches; ``None``
            where they were.
    """

    name: str
    elements: int
    mismatches: int
    max_abs_diff: float
    tolerance: float
    remark: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """Comparison of the simulated outputs with the reference.

    Attributes:
        status: What it says.
        against: The reference and its version; ``None`` where nothing was compared.
        outputs: One entry per compared tensor: the outputs, or every tensor with
            ``--verify=layers``.
        first_difference: First operator, in execution order, whose result differs.
        sections: Parts of the network that were compared one by one, each on what the program made
            of those before; 1 where the whole was.
        apart: Elements of the outputs outside of the tolerance where the whole is run at once.
    """

    status: VerificationStatus = VerificationStatus.NOT_VERIFIED
    against: str | None = None
    outputs: tuple[OutputCheck, ...] = ()
    first_difference: str | None = None
    sections: int = 1
    apart: int = 0

    @property
    def elements(self) -> int:
        """Elements that were compared."""
        return sum(output.elements for output in self.outputs)

    @property
    def mismatches(self) -> int:
        """Elements outside the tolerance."""
        return sum(output.mismatches for output in self.outputs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything that one compilation tells.

    Attributes:
        schema_version: Of names and meanings; see ``SCHEMA_VERSION``.
        version: Of accnn.
        model: The ONNX file.
        arch: The architecture file.
        options: What the user could choose, and what was chosen.
        seed: Of everything random.
        totals: Of the whole network.
        passes: What ran, in order.
        operators: In execution order.
        graph_schedule: Plan of the scratchpad.
        tile_schedules: In execution order.
        quantization: Where a float model was quantised.
        accuracy: What the network makes of the user's examples, where they were given.
        verification: Comparison with the reference.
        notes: What the user should know, one sentence each.
        mesh: What the mesh was used for, where transfers were timed over it.
    """

    schema_version: int = SCHEMA_VERSION
    version: str
    model: FileIdentity
    arch: FileIdentity
    options: Mapping[str, bool | int | float | str | None]
    seed: int
    totals: Totals
    passes: tuple[PassRun, ...] = ()
    operators: tuple[OperatorReport, ...] = ()
    graph_schedule: GraphScheduleReport | None = None
    tile_schedules: tuple[TileScheduleReport, ...] = ()
    quantization: QuantizationReport | None = None
    accuracy: Accuracy | None = None
    verification: Verification = Verification()
    notes: tuple[str, ...] = ()
    mesh: MeshReport | None = None

    def verify(self) -> None:
        """Check that figures are finite and that what is claimed follows from them.

        Raises:
            VerifyError: Names the field.
        """
        for path, number in _floats(self, "report"):
            if not math.isfinite(number):
                raise VerifyError(f"{path} is {number}; leave out what is unknown")
        for operator in self.operators:
            operator.verify()
        if self.graph_schedule is not None:
            self.graph_schedule.verify()
        for schedule in self.tile_schedules:
            schedule.verify()
        self._verify_verification()

    def _verify_verification(self) -> None:
        found = self.verification
        differs = found.mismatches > 0
        if found.status is VerificationStatus.VERIFIED and (differs or not found.outputs):
            raise VerifyError("verified, but not every element is equal, or none was compared")
        if found.status is VerificationStatus.NOT_VERIFIED and found.outputs:
            raise VerifyError("not verified, but outputs were compared")


def to_json(report: Report) -> str:
    """Return the text of ``report.json``; equal reports give equal text."""
    report.verify()
    return dump_json(report)


def from_json(text: str) -> Report:
    """Return the report that :func:`to_json` wrote.

    Raises:
        ParseError: It is not a report, or one of another schema version.
        VerifyError: Its figures contradict each other.
    """
    version = parse_key(text, "schema_version")
    if version != SCHEMA_VERSION:
        raise ParseError(f"report has schema version {version}, this accnn reads {SCHEMA_VERSION}")
    report = parse_json(text, Report)
    report.verify()
    return report


def _floats(value: object, path: str) -> Iterator[tuple[str, float]]:
    if isinstance(value, float):
        yield path, value
    elif isinstance(value, tuple):
        for index, item in enumerate(cast("tuple[object, ...]", value)):
            yield from _floats(item, f"{path}[{index}]")
    elif isinstance(value, Mapping):
        for key, item in cast("Mapping[str, object]", value).items():
            yield from _floats(item, f"{path}.{key}")
    elif is_dataclass(value):
        for field in fields(value):
            yield from _floats(getattr(value, field.name), f"{path}.{field.name}")
