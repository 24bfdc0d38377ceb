"""Judge a simulated run against onnxruntime, and find the operator where a difference begins."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ...ir.errors import MismatchError
from ...ir.graph import Graph, Op
from ...ir.groups import further_results
from ...ir.module import Module
from ...ir.report import OutputCheck, Verification
from ...models.onnx_import.importer import ImportedNetwork
from ...passes.manager import run_pipeline
from ...passes.pipeline import Pipeline
from ...runtime_sim.reference.run import run, run_op
from ...runtime_sim.result import SimulationResult
from ..frontend import Network
from ..pipelines import REWRITES
from .carried import carried
from .observe import symbol_of
from .section_verdict import cuts, verify_sections
from .verify import (
    EQUAL,
    Tolerance,
    compare,
    first_wrong,
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
    it; where floats differ by more, twice as much as rounding alone carries them is allowed, too,
    of outputs as of single operators.

    Args:
        network: What was compiled.
        simulation: The run.
        inputs: What it ran on, by ONNX name.
        layers: A module whose program stores every intermediate tensor, and its run, to compare
            these, too.
    """
    expected = reference_outputs(network.model, inputs)
    found = {original: simulation.outputs[name] for original, name in network.imported.output_names}
    meant = _as_the_reference_runs_it(network.imported)

    def compared(allowed: Mapping[str, Tolerance]) -> tuple[OutputCheck, ...]:
        return tuple(
            compare(found[whole], expected[whole], whole, tolerance=allowed.get(name, EQUAL))
            for whole, name in network.imported.output_names
        )

    allowed = tolerances(meant.graph)
    checks = compared(allowed)
    if first_wrong(checks):
        checks = compared(_with_carried(network.imported, meant, inputs, allowed))
    if layers is None:
        return judged(checks)
    inner = _layers(network, *layers, inputs)
    return judged((*inner, *checks), first_difference=first_wrong(inner))


def _with_carried(
    imported: ImportedNetwork,
    meant: Module,
    inputs: Mapping[str, Array],
    allowed: Mapping[str, Tolerance],
) -> Mapping[str, Tolerance]:
    """Return what outputs may differ by that are rounded floats, with what rounding carries."""
    names = [name for _, name in imported.output_names if allowed.get(name, EQUAL).relative]
    given = {name: inputs[whole] for whole, name in imported.input_names}
    exact = run(meant.graph, meant.constants, given) if names else {}
    moved = carried(meant.graph, meant.graph.ops, exact, names)
    return {**allowed, **{name: _wider(allowed[name], far) for name, far in moved.items()}}


def _wider(allowed: Tolerance, moved: float) -> Tolerance:
    """Return a tolerance that allows for what rounding carries."""
    return replace(allowed, absolute=allowed.absolute + 2.0 * moved)


def is_cut(network: Network) -> bool:
    """Whether rounded floats become integers, or functions jump; see ``section_verdict.py``."""
    return bool(cuts(network, _as_the_reference_runs_it(network.imported).graph))


def verify_run_in_sections(
    network: Network,
    whole: Verification,
    simulation: SimulationResult,
    layers: tuple[Module, SimulationResult],
    inputs: Mapping[str, Array],
) -> Verification:
    """Judge a run section by section that differs from onnxruntime's run of the whole.

    Args:
        network: What was compiled; ``is_cut`` holds of it.
        whole: The verdict on the whole; what differs in an operator by itself remains.
        simulation: The run.
        layers: A module whose program stores every intermediate tensor, and its run.
        inputs: What it ran on, by ONNX name.
    """
    outputs = [original for original, _ in network.imported.output_names]
    inner = whole.outputs[: len(whole.outputs) - len(outputs)]
    graph, (_, shown) = _as_the_reference_runs_it(network.imported).graph, layers
    found = tuple(cut for cut in cuts(network, graph) if symbol_of(shown.program, cut.name))
    if not found or any(item.mismatches for item in inner):
        return whole
    tensors = {
        cut.name: _observed(shown, cut.name).reshape(graph.types[cut.name].shape) for cut in found
    }
    tensors |= {name: simulation.outputs[name] for _, name in network.imported.output_names}
    verdict = verify_sections(network, graph, found, tensors, inputs)
    if verdict.mismatches:
        return replace(whole, first_difference=first_wrong(verdict.outputs))
    return replace(verdict, outputs=(*inner, *verdict.outputs), apart=whole.mismatches)


def _as_the_reference_runs_it(imported: ImportedNetwork) -> Module:
    """Return the graph that tolerances follow from, whatever passes the program went through."""
    module = Module(graph=imported.graph, constants=imported.constants)
    return run_pipeline(Pipeline(REWRITES), module).module


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
        ops = tuple(map(graph.producer.__getitem__, members))
        for op in ops:
            tensors[op.name] = run_op(op, graph.types, tensors)
        group = tolerances(graph, ops=ops) if len(ops) > 1 else {}
        made: dict[str, Array] = {}
        for result in (*further_results(graph, members), name):
            made[result] = _observed(simulation, result)
            allowed = group.get(result, own_tolerance(graph.producer[result]))
            checks.append(_compared(graph, ops, tensors, result, made[result], allowed))
        tensors |= made
    return tuple(checks)


def _compared(
    graph: Graph,
    ops: Sequence[Op],
    tensors: Mapping[str, Array],
    name: str,
    found: Array,
    allowed: Tolerance,
) -> OutputCheck:
    """Compare a result with what it must be; floats may differ by what rounding carries to it.

    Args:
        graph: The network.
        ops: What was executed together.
        tensors: What the reference makes of what these were given.
        name: Of the result.
        found: What the program made.
        allowed: By how much it may differ in any case.
    """
    check = compare(found, tensors[name], name, tolerance=allowed)
    if not (check.mismatches and allowed.relative):
        return check
    moved = carried(graph, ops, tensors, [name])[name]
    return compare(found, tensors[name], name, tolerance=_wider(allowed, moved))


def _observed(simulation: SimulationResult, name: str) -> Array:
    symbol = symbol_of(simulation.program, name)
    if symbol is None:
        raise MismatchError(f"%{name} does not go off chip and cannot be compared")
    return simulation.tensor(symbol)
