"""Compare what the simulator computed with what onnxruntime computes on the same inputs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnxruntime

from ...ir.errors import OptionError
from ...ir.graph import Graph, Op
from ...ir.operators.spec import Family, Rounding
from ...ir.ops import spec_of
from ...ir.report import OutputCheck, Verification, VerificationStatus
from ...models.apart import result_of
from ...models.data.calibration import input_specs, read_samples
from ...models.data.synthetic import made_up
from ...models.session import Model, as_written, make_session, run

Array = npt.NDArray[np.generic]

FLOAT_TOLERANCE = 4e-6
"""Allowed difference of one float operator, relative to the largest magnitude of its result."""

FOUR_STEPS = 2.0**-21
"""What float32 may round of a number, relative to it: four steps. Where functions are the small
difference of numbers near one, it is part of their results."""

_VERIFICATION = 3  # stream of random numbers; calibration uses others


def verification_inputs(model: Model, seed: int, path: Path | None) -> dict[str, Array]:
    """Return one sample of inputs: from a file, or made up.

    Args:
        model: Whose inputs they are.
        seed: Of the noise.
        path: File with the inputs; ``None`` makes noise.

    Raises:
        OptionError: The file does not suit the model.
    """
    specs = input_specs(model)
    if path is not None:
        if not path.exists():
            raise OptionError(f"inputs {path}: no such file")
        sample = next(iter(read_samples(path, specs)), None)
        if sample is None:
            raise OptionError(f"{path} holds no sample")
        _check_numbers(path, model, sample)
        return dict(sample)
    return {
        spec.name: made_up(spec, (seed, _VERIFICATION, number)) for number, spec in enumerate(specs)
    }


def _check_numbers(path: Path, model: Model, sample: Mapping[str, Array]) -> None:
    """Refuse NaN where the network makes integers of it: no integer stands for it.

    Raises:
        OptionError: Names the file and the input.
    """
    quantised = {node.input[0] for node in model.graph.node if node.op_type == "QuantizeLinear"}
    for name in sorted(quantised & sample.keys()):
        if np.isnan(sample[name]).any():
            raise OptionError(
                f"{path.name}: {name!r} holds NaN, and the network is quantised",
                hint="integers know no NaN: replace it, or compile for a machine of fp32",
            )


def reference_outputs(
    model: Model, inputs: Mapping[str, Array], names: Sequence[str] | None = None
) -> dict[str, Array]:
    """Return onnxruntime's outputs, computed in a child process.

    Args:
        model: What runs.
        inputs: By name.
        names: Of the outputs; all that the model declares, if absent.

    Raises:
        ModelError: onnxruntime refuses the model, or crashes on it.
    """
    declared = [output.name for output in model.graph.output]
    wanted = declared if names is None else list(names)
    return result_of(
        lambda: run(make_session(as_written(model)), inputs, wanted), "run the network"
    )


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far a tensor may be from the reference.

    Attributes:
        relative: Relative to the largest magnitude of the tensor.
        absolute: In the tensor's own unit.
    """

    relative: float = 0.0
    absolute: float = 0.0


EQUAL = Tolerance()
"""Nothing but the very same values."""


def own_tolerance(op: Op) -> Tolerance:
    """Return what is allowed for an operator's result, given the very same operands."""
    rounds = spec_of(op).rounding is Rounding.ROUNDS and not op.result.type.dtype.is_integer
    return Tolerance(FLOAT_TOLERANCE, _cancelled(op)) if rounds else EQUAL


def _cancelled(op: Op) -> float:
    """Return what cancels at most where a result is the difference of numbers near one."""
    return FOUR_STEPS if spec_of(op).cancels else 0.0


def tolerances(
    graph: Graph, *, ops: Sequence[Op] | None = None, given: frozenset[str] = frozenset()
) -> dict[str, Tolerance]:
    """Return what is allowed for every result.

    Nothing for integers, and for floats that are integers made float: these must be equal. Every
    operator that rounds, on the longest path of floats, may add ``FLOAT_TOLERANCE``. Where a
    rounded float becomes an integer, it may fall to the other side of a tie: one step is allowed
    there, and where that integer is made float or only moved. Where a function is the small
    difference of numbers near one, what these are rounded by is allowed as well.

    Args:
        graph: The network.
        ops: Only these operators of it, in their order; what they are given is exact.
        given: Results that what reads them takes from the program itself, so that they add nothing.
    """
    rounded: dict[str, int] = {}
    found: dict[str, Tolerance] = {}
    for op in graph.ops if ops is None else ops:
        read = [name for name in op.inputs if name not in given]
        before = max((rounded.get(name, 0) for name in read), default=0)
        is_integer = op.result.type.dtype.is_integer
        spec = spec_of(op)
        rounded[op.name] = 0 if is_integer else before + (spec.rounding is Rounding.ROUNDS)
        steps = max((found[name].absolute for name in read if name in found), default=0.0)
        if spec.family is Family.QUANTIZE:
            steps = float(before > 0)
        elif spec.family is Family.DEQUANTIZE:
            quant = graph.types[op.operands[0]].quant
            steps *= max(quant.scale) if quant is not None else 1.0
        elif spec.rounding is not Rounding.MOVES:
            steps = 0.0
        rounds = rounded[op.name] or int(steps > 0 and not is_integer)
        found[op.name] = Tolerance(FLOAT_TOLERANCE * rounds, steps + _cancelled(op))
    return found


def against() -> str:
    """Return the name and version of the reference."""
    return f"onnxruntime {onnxruntime.__version__}"


def compare(
    found: Array, expected: Array, name: str, *, tolerance: Tolerance = EQUAL
) -> OutputCheck:
    """Compare a tensor with what is right; one of another shape differs in every element.

    Args:
        found: What was computed.
        expected: What is right.
        name: Of the tensor.
        tolerance: How far it may be off.
    """
    if found.shape != expected.shape:
        return _of_another_shape(found, expected, name)
    left, right = np.atleast_1d(found.astype(np.float64), expected.astype(np.float64))
    with np.errstate(invalid="ignore"):  # infinity less infinity; they are equal, see below
        distance = np.abs(left - right)
    distance[(left == right) | (np.isnan(left) & np.isnan(right))] = 0.0
    distance = np.nan_to_num(distance, nan=np.finfo(np.float64).max)
    largest = float(np.max(np.abs(right), initial=0.0, where=np.isfinite(right)))
    allowed = tolerance.relative * largest + tolerance.absolute
    return OutputCheck(
        name=name,
        elements=int(expected.size),
        mismatches=int(np.count_nonzero(distance > allowed)),
        max_abs_diff=float(np.max(distance, initial=0.0)),
        tolerance=allowed,
    )


def _of_another_shape(found: Array, expected: Array, name: str) -> OutputCheck:
    elements = max(found.size, expected.size, 1)
    return OutputCheck(
        name=name,
        elements=elements,
        mismatches=elements,
        max_abs_diff=float(np.finfo(np.float64).max),
        tolerance=0.0,
        remark=f"{name} has shape {found.shape}, the reference {expected.shape}",
    )


def first_wrong(checks: Iterable[OutputCheck]) -> str | None:
    """Return the first tensor that differs, ``None`` where none does."""
    return next((item.name for item in checks if item.mismatches), None)


def judged(checks: tuple[OutputCheck, ...], *, first_difference: str | None = None) -> Verification:
    """Return the verdict over compared tensors."""
    failed = any(item.mismatches for item in checks)
    return Verification(
        status=VerificationStatus.FAILED if failed else VerificationStatus.VERIFIED,
        against=against(),
        outputs=checks,
        first_difference=first_difference,
    )
