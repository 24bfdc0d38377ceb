"""The verdict on one case: compile it, simulate the program, compare with what is expected."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from ...ir.errors import ComputedOperandError, InfeasibleError, InputError
from ...models.onnx_cases import Content, NodeCase
from ...models.onnx_import.loading.constants import as_rows
from ...models.quantisation.quantize import is_quantized
from ..execute import QUICK, CompiledModel, compile_model
from .tiers import tier_of

Array = npt.NDArray[np.generic]

_FILE = re.compile(r"^\S+\.onnx: ")
"""Where the model lay while it was compiled; it is another place in every run."""

_HOST = "host"
"""Name of the unit that runs what the accelerator cannot."""


class Status(StrEnum):
    """What became of a case."""

    ACCELERATOR = "passed on accelerator"
    HOST = "passed with host op"
    UNSUPPORTED = "unsupported"
    FAILED = "failed"

    @property
    def passed(self) -> bool:
        """Return whether the outputs are right."""
        return self in (Status.ACCELERATOR, Status.HOST)


@dataclass(frozen=True, slots=True, kw_only=True)
class Machines:
    """For what to compile.

    Attributes:
        float: Architecture of float models.
        integer: Architecture of quantised models.
    """

    float: str = "edge-fp32"
    integer: str = "edge-1m"


@dataclass(frozen=True, slots=True)
class Help:
    """What a case was helped with, of what a user may do as well.

    Attributes:
        bound: Inputs that were compiled in as constants, because an operator needs them so.
        in_float32: Whether other floats than float32 were computed in it.
        evaluated: Whether nothing was left that depends on an input.
    """

    bound: tuple[str, ...] = ()
    in_float32: bool = False
    evaluated: bool = False

    def joined(self, other: "Help") -> "Help":
        """Return what either says."""
        return Help(
            tuple(dict.fromkeys((*self.bound, *other.bound))),
            self.in_float32 or other.in_float32,
            self.evaluated or other.evaluated,
        )


_NO_HELP = Help()


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseOutcome:
    """A case and its verdict.

    Attributes:
        case: Its name.
        operator: The operator under test.
        tier: Its tier, if any.
        plain: Whether all tensors are float32, bool, or common integers.
        expanded: Whether the model is the operator's definition by other operators.
        status: The verdict.
        reason: Why it did not pass; empty otherwise.
        help: What the case was helped with so that it could be compiled.
    """

    case: str
    operator: str
    tier: int | None
    plain: bool
    expanded: bool
    status: Status
    reason: str = ""
    help: Help = _NO_HELP


def judge(case: NodeCase, machines: Machines) -> CaseOutcome:
    """Return what becomes of a case.

    A refusal of the model or the machine is ``unsupported``. Wrong outputs are ``failed``, and so
    is any other exception: whatever a case brings to light, the others are still judged.
    """
    try:
        found = _verdict(case, machines)
    except (InputError, InfeasibleError) as error:
        found = _Verdict(Status.UNSUPPORTED, error.message)
    except Exception as error:
        found = _Verdict(Status.FAILED, f"{type(error).__name__}: {error}")
    return outcome(case, found.status, found.reason, found.help)


def outcome(case: NodeCase, status: Status, reason: str, help: Help = _NO_HELP) -> CaseOutcome:
    """Return a case with its verdict.

    Args:
        case: The case.
        status: The verdict.
        reason: Why; its first line is kept.
        help: What the case was helped with.
    """
    return CaseOutcome(
        case=case.name,
        operator=case.operator,
        tier=tier_of(case.operator, case.domain),
        plain=case.plain,
        expanded=case.expanded,
        status=status,
        reason=_FILE.sub("", reason.partition("\n")[0]),
        help=help,
    )


@dataclass(frozen=True, slots=True)
class _Verdict:
    """What became of a case, why it did not pass, and what it was helped with."""

    status: Status
    reason: str = ""
    help: Help = _NO_HELP


def _verdict(case: NodeCase, machines: Machines) -> _Verdict:
    arch = machines.integer if is_quantized(case.model) else machines.float
    status, help = Status.ACCELERATOR, _NO_HELP
    for data in case.data_sets:
        arrays = case.arrays(data)
        compiled = _compiled(case, arch, arrays)
        help = help.joined(_help(compiled))
        for difference in _differences(compiled.run(arrays), data.outputs, case):
            return _Verdict(Status.FAILED, difference)
        status = Status.HOST if _uses_host(compiled) else status
    return _Verdict(status, help=help)


def _compiled(case: NodeCase, arch: str, arrays: Mapping[str, Array]) -> CompiledModel:
    """Return the compiled case; inputs that an operator needs as constants are bound.

    So are those without elements, which have but one value.
    """
    constants = {name: as_rows(array) for name, array in arrays.items() if not array.size}
    while True:
        shapes = {name: array.shape for name, array in arrays.items() if name not in constants}
        options = replace(QUICK, shapes=shapes, constants=constants)
        try:
            return compile_model(case.model, arch, options)
        except ComputedOperandError as error:
            missing = [name for name in error.inputs if name not in constants]
            if not missing:
                raise
            constants |= {name: as_rows(arrays[name]) for name in missing}


def _help(compiled: CompiledModel) -> Help:
    result = compiled.result
    graph = result.module.graph
    inputs = {value.name for value in graph.inputs}
    return Help(
        bound=tuple(compiled.options.constants),
        in_float32=bool(result.network.types),
        evaluated=not any(inputs.intersection(op.inputs) for op in graph.ops),
    )


def _differences(
    found: Mapping[str, Array], expected: tuple[Content, ...], case: NodeCase
) -> Iterator[str]:
    """Yield how outputs differ from the expected ones."""
    for (name, ours), wanted in zip(found.items(), expected, strict=True):
        if not isinstance(wanted, np.ndarray):
            yield f"output {name!r} is a tensor, a sequence is expected"
        elif (ours.shape, ours.dtype) != (wanted.shape, wanted.dtype):
            yield (
                f"output {name!r} is {ours.dtype}{list(ours.shape)}, "
                f"expected {wanted.dtype}{list(wanted.shape)}"
            )
        elif wrong := _wrong_elements(ours, wanted, case):
            yield f"output {name!r}: {wrong} of {wanted.size} elements are wrong"


def _wrong_elements(ours: Array, wanted: Array, case: NodeCase) -> int:
    with np.errstate(invalid="ignore", over="ignore"):
        right = np.isclose(ours, wanted, rtol=case.rtol, atol=case.atol, equal_nan=True)
    return int(np.count_nonzero(~right))


def _uses_host(compiled: CompiledModel) -> bool:
    """Return whether the program has instructions for the host; no machine has that unit yet."""
    program = compiled.result.module.program
    assert program is not None
    return any(str(queue.unit) == _HOST for queue in program.queues)
