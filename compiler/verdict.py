"""Judge a simulated run against onnxruntime, and find the operator where a difference begins."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from ..ir.errors import MismatchError
from ..ir.report import OutputCheck, Verification
from ..runtime_sim.reference.run import run as run_reference
from ..runtime_sim.result import SimulationResult
from .frontend import Network
from .verify import compare, float_tolerance, judged, reference_outputs

Array = npt.NDArray[np.generic]


def verify_run(
    network: Network,
    simulation: SimulationResult,
    inputs: Mapping[str, Array],
    *,
    layers: SimulationResult | None = None,
) -> Verification:
    """Compare a run's outputs, or every tensor, with onnxruntime.

    Outputs are compared with onnxruntime on the very model that was compiled. Intermediate
    tensors are compared with the NumPy meaning of the operators, which itself is held to
    onnxruntime: asking onnxruntime for intermediate tensors would change how it fuses, and with
    that its numbers.

    Args:
        network: What was compiled.
        simulation: The run.
        inputs: What it ran on, by ONNX name.
        layers: A run that stores every intermediate tensor, to compare these, too.
    """
    expected = reference_outputs(network.model, inputs)
    found = {original: simulation.outputs[name] for original, name in network.imported.output_names}
    tolerance = float_tolerance(network.imported.graph)
    checks = compare(found, {name: expected[name] for name in found}, tolerance=tolerance)
    if layers is None:
        return judged(checks)
    inner = _layers(network, layers, inputs, tolerance)
    first = next((item.name for item in inner if item.mismatches), None)
    return judged((*inner, *checks), first_difference=first)


def _layers(
    network: Network,
    simulation: SimulationResult,
    inputs: Mapping[str, Array],
    tolerance: float,
) -> tuple[OutputCheck, ...]:
    """Compare every operator's result, in execution order."""
    graph = network.imported.graph
    given = {name: inputs[original] for original, name in network.imported.input_names}
    expected = run_reference(graph, network.imported.constants, given)
    missing = [op.name for op in graph.ops if op.name not in simulation.program.symbol]
    if missing:
        raise MismatchError(f"%{missing[0]} does not go off chip and cannot be compared")
    return tuple(
        check
        for name in simulation.program.operators
        for check in compare(
            {name: simulation.tensor(name)}, {name: expected[name]}, tolerance=tolerance
        )
    )
