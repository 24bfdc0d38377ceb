"""Judge a simulated run against onnxruntime, and find the operator where a difference begins."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from ..ir.errors import MismatchError
from ..ir.graph import Graph
from ..ir.module import Module
from ..ir.report import OutputCheck, Verification
from ..models.onnx_import.importer import ImportedNetwork
from ..passes.manager import run_pipeline
from ..passes.pipeline import Pipeline
from ..runtime_sim.reference.run import run_op
from ..runtime_sim.result import SimulationResult
from .frontend import Network
from .observe import symbol_of
from .pipelines import REWRITES
from .verify import (
    EQUAL,
    Tolerance,
    compare,
    judged,
    own_tolerance,
    reference_outputs,
    tolerances,
)

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
    that its numbers. Each operator, or fused group, is judged by itself, on the operands that the
    program computed: what was rounded before it excuses nothing, and a fault shows at one operator.
    What outputs may differ by follows from the imported network, not from what a pipeline made of
    it.

    Args:
        network: What was compiled.
        simulation: The run.
        inputs: What it ran on, by ONNX name.
        layers: A module whose program stores every intermediate tensor, and its run, to compare
            these, too.
    """
    expected = reference_outputs(network.model, inputs)
    found = {original: simulation.outputs[name] for original, name in network.imported.output_names}
    allowed = tolerances(_as_the_reference_runs_it(network.imported))
    checks = tuple(
        compare(found[original], expected[original], original, tolerance=allowed.get(name, EQUAL))
        for original, name in network.imported.output_names
    )
    if layers is None:
        return judged(checks)
    inner = _layers(network, *layers, inputs)
    first = next((item.name for item in inner if item.mismatches), None)
    return judged((*inner, *checks), first_difference=first)


def _as_the_reference_runs_it(imported: ImportedNetwork) -> Graph:
    """Return the graph that tolerances follow from, whatever passes the program went through."""
    module = Module(graph=imported.graph, constants=imported.constants)
    return run_pipeline(Pipeline(REWRITES), module).module.graph


def _layers(
    network: Network,
    module: Module,
    simulation: SimulationResult,
    inputs: Mapping[str, Array],
) -> tuple[OutputCheck, ...]:
    """Compare every operator's result with its meaning on the operands that the program made."""
    graph = module.graph
    tensors = dict(module.constants)
    tensors |= {name: inputs[original] for original, name in network.imported.input_names}
    checks: list[OutputCheck] = []
    plan = module.graph_schedule
    for name in simulation.program.operators:
        members = (name,) if plan is None else plan.members(name)
        relative = absolute = 0.0
        for op in map(graph.producer.__getitem__, members):
            tensors[op.name] = run_op(op, graph.types, tensors)
            relative += own_tolerance(op).relative
            absolute += own_tolerance(op).absolute
        expected, tensors[name] = tensors[name], _observed(simulation, name)
        allowed = Tolerance(relative, absolute)
        checks.append(compare(tensors[name], expected, name, tolerance=allowed))
    return tuple(checks)


def _observed(simulation: SimulationResult, name: str) -> Array:
    symbol = symbol_of(simulation.program, name)
    if symbol is None:
        raise MismatchError(f"%{name} does not go off chip and cannot be compared")
    return simulation.tensor(symbol)
