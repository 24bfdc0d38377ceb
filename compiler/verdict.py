"""Judge a simulated run against onnxruntime, and find the operator where a difference begins."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from ..ir.errors import MismatchError
from ..ir.module import Module
from ..ir.report import OutputCheck, Verification
from ..runtime_sim.reference.run import run as run_reference
from ..runtime_sim.result import SimulationResult
from .frontend import Network
from .observe import symbol_of
from .verify import EQUAL, compare, judged, reference_outputs, tolerances

Array = npt.NDArray[np.generic]


def verify_run(
    network: Network,
    simulation: SimulationResult,
    inputs: Mapping[str, Array],
    *,
    layers: tuple[Module, SimulationResult] | None = None,
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
        layers: A module whose program stores every intermediate tensor, and its run, to compare
            these, too.
    """
    expected = reference_outputs(network.model, inputs)
    found = {original: simulation.outputs[name] for original, name in network.imported.output_names}
    allowed = tolerances(network.imported.graph)
    checks = tuple(
        compare(found[original], expected[original], original, tolerance=allowed.get(name, EQUAL))
        for original, name in network.imported.output_names
    )
    if layers is None:
        return judged(checks)
    inner = _layers(network, *layers, inputs)
    first = next((item.name for item in inner if item.mismatches), None)
    return judged((*inner, *checks), first_difference=first)


def _layers(
    network: Network,
    module: Module,
    simulation: SimulationResult,
    inputs: Mapping[str, Array],
) -> tuple[OutputCheck, ...]:
    """Compare every operator's result, in execution order."""
    graph = module.graph
    given = {name: inputs[original] for original, name in network.imported.input_names}
    expected = run_reference(graph, module.constants, given)
    allowed = tolerances(graph)
    return tuple(
        compare(_observed(simulation, name), expected[name], name, tolerance=allowed[name])
        for name in simulation.program.operators
    )


def _observed(simulation: SimulationResult, name: str) -> Array:
    symbol = symbol_of(simulation.program, name)
    if symbol is None:
        raise MismatchError(f"%{name} does not go off chip and cannot be compared")
    return simulation.tensor(symbol)
