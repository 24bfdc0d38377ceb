"""The verdict on one case: compile it, simulate the program, compare with what is expected."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from ...ir.errors import InfeasibleError, InputError
from ...models.onnx_cases import Content, NodeCase
from ...models.quantize import is_quantized
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A case and its verdict.

    Attributes:
        case: Its name.
        operator: The operator under test.
        tier: Its tier, if any.
        plain: Whether all tensors are float32, bool, or common integers.
        expanded: Whether the model is the operator's definition by other operators.
        status: The verdict.
        reason: Why it did not pass; empty otherwise.
    """

    case: str
    operator: str
    tier: int | None
    plain: bool
    expanded: bool
    status: Status
    reason: str = ""


def judge(case: NodeCase, machines: Machines) -> Outcome:
    """Return what becomes of a case.

    A refusal of the model or the machine is ``unsupported``. Wrong outputs are ``failed``, and so
    is any other exception: whatever a case brings to light, the others are still judged.
    """
    try:
        status, reason = _verdict(case, machines)
    except (InputError, InfeasibleError) as error:
        status, reason = Status.UNSUPPORTED, error.message
    except Exception as error:
        status, reason = Status.FAILED, f"{type(error).__name__}: {error}"
    return outcome(case, status, reason)


def outcome(case: NodeCase, status: Status, reason: str) -> Outcome:
    """Return a case with its verdict.

    Args:
        case: The case.
        status: The verdict.
        reason: Why; its first line is kept.
    """
    return Outcome(
        case=case.name,
        operator=case.operator,
        tier=tier_of(case.operator, case.domain),
        plain=case.plain,
        expanded=case.expanded,
        status=status,
        reason=_FILE.sub("", reason.partition("\n")[0]),
    )


def _verdict(case: NodeCase, machines: Machines) -> tuple[Status, str]:
    arch = machines.integer if is_quantized(case.model) else machines.float
    first = case.arrays(case.data_sets[0])
    shapes = {name: array.shape for name, array in first.items() if 0 not in array.shape}
    compiled = compile_model(case.model, arch, replace(QUICK, shapes=shapes), name=case.name)
    for data in case.data_sets:
        found = compiled.run(case.arrays(data))
        for difference in _differences(found, data.outputs, case):
            return Status.FAILED, difference
    return (Status.HOST if _uses_host(compiled) else Status.ACCELERATOR), ""


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
