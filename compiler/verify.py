"""Compare what the simulator computed with what onnxruntime computes on the same inputs."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnxruntime

from ..ir.errors import OptionError
from ..ir.graph import Graph
from ..ir.report import OutputCheck, Verification, VerificationStatus
from ..models.calibration import InputSpec, input_specs, read_samples
from ..models.session import Model, make_session, run
from ..models.zoo.images import pink_noise

Array = npt.NDArray[np.generic]

FLOAT_TOLERANCE = 4e-6
"""Allowed difference of one float operator, relative to the largest magnitude of its result."""

_VERIFICATION = 3  # stream of random numbers; calibration uses others


def verification_inputs(model: Model, seed: int, path: Path | None) -> dict[str, Array]:
    """Return one sample of inputs: from a file, or seeded pink noise.

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
        return dict(sample)
    return {
        spec.name: _made_up(spec, (seed, _VERIFICATION, number))
        for number, spec in enumerate(specs)
    }


def _made_up(spec: InputSpec, seed: tuple[int, ...]) -> Array:
    if spec.is_float:
        return pink_noise(spec.shape, seed).astype(spec.dtype)
    bounds = np.iinfo(spec.dtype)
    low, high = max(bounds.min, -128), min(bounds.max, 255)
    return np.random.default_rng(seed).integers(low, high + 1, spec.shape).astype(spec.dtype)


def reference_outputs(model: Model, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """Return onnxruntime's outputs."""
    return run(make_session(model), inputs)


def float_tolerance(graph: Graph) -> float:
    """Return the allowed difference of a network's results, relative to their magnitude.

    Zero for integer networks, which must be equal. Every operator of a float network on the
    longest path may add ``FLOAT_TOLERANCE``.
    """
    if all(graph.types[op.name].dtype.is_integer for op in graph.ops if op.inputs) or any(
        op.kind == "quantize" for op in graph.ops
    ):
        return 0.0
    depth: dict[str, int] = {}
    for op in graph.ops:
        depth[op.name] = 1 + max((depth.get(name, 0) for name in op.inputs), default=0)
    return FLOAT_TOLERANCE * max(depth.values())


def against() -> str:
    """Return the name and version of the reference."""
    return f"onnxruntime {onnxruntime.__version__}"


def compare(
    found: Mapping[str, Array], expected: Mapping[str, Array], *, tolerance: float = 0.0
) -> tuple[OutputCheck, ...]:
    """Compare tensors by name, in the order of ``expected``.

    Args:
        found: What was computed.
        expected: What is right.
        tolerance: Largest difference allowed, relative to the largest magnitude of a tensor; 0
            asks for equality.
    """
    return tuple(_check(name, found[name], array, tolerance) for name, array in expected.items())


def _check(name: str, found: Array, expected: Array, tolerance: float) -> OutputCheck:
    if found.shape != expected.shape:
        found = found.reshape(expected.shape)
    left, right = found.astype(np.float64), expected.astype(np.float64)
    distance = np.abs(left - right)
    distance[(left == right) | (np.isnan(left) & np.isnan(right))] = 0.0
    distance = np.nan_to_num(distance, nan=np.finfo(np.float64).max)
    allowed = tolerance * float(np.max(np.abs(right), initial=0.0))
    return OutputCheck(
        name=name,
        elements=int(expected.size),
        mismatches=int(np.count_nonzero(distance > allowed)),
        max_abs_diff=float(np.max(distance, initial=0.0)),
        tolerance=allowed,
    )


def judged(checks: tuple[OutputCheck, ...], *, first_difference: str | None = None) -> Verification:
    """Return the verdict over compared tensors."""
    failed = any(item.mismatches for item in checks)
    return Verification(
        status=VerificationStatus.FAILED if failed else VerificationStatus.VERIFIED,
        against=against(),
        outputs=checks,
        first_difference=first_difference,
    )
