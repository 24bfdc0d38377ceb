"""An operator by itself: cut out of its network, compiled and run as a network of its own.

Its operands come from off-chip memory and its result goes there. The same passes compile it as
compiled the network, but for those that rewrite the graph, which was rewritten already.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...backend.lowering.lower import lower
from ...ir.arch import Architecture
from ...ir.graph import Graph, Value
from ...ir.module import Module, Stage
from ...ir.resources import numpy_dtype
from ...passes.base import Context
from ...passes.manager import run_pipeline
from ...passes.pipeline import Pipeline
from ...runtime_sim.result import SimulationResult
from ...runtime_sim.simulate import simulate
from ..driver import constants_of
from ..mapping.solve import CachedSolver
from ..options import CompileOptions
from ..pipelines import chosen_pipeline
from ..stores.mappings import MappingCache
from ..stores.passes import PassMemory
from ..stores.store import Store

_REWRITTEN = frozenset({Stage.GRAPH})


@dataclass(frozen=True, slots=True)
class OperatorCost:
    """What the run of an operator takes: time [cycle], energy [pJ], bytes to and from off-chip."""

    cycles: int
    energy_pj: float
    offchip_bytes: int


@dataclass(frozen=True, slots=True)
class AloneRun:
    """An operator that was compiled and run by itself."""

    module: Module
    simulation: SimulationResult

    @property
    def cost(self) -> OperatorCost:
        """What it took."""
        found = self.simulation
        return OperatorCost(found.cycles, found.energy_pj, found.total.off_chip_bytes)


def cut_out(graph: Graph, members: Sequence[str]) -> Graph:
    """Return some operators of a graph as a graph of their own.

    Args:
        graph: The network.
        members: Names of the operators.
    """
    ops = tuple(op for op in graph.ops if op.name in members)
    made = {value.name for op in ops for value in op.results}
    read = dict.fromkeys(name for op in ops for name in op.inputs if name not in made)
    kept = {reader.name for reader in ops}
    outside = {
        name
        for name in made
        if name in graph.outputs or any(op.name not in kept for op in graph.consumers[name])
    }
    values = [Value(name, graph.types[name]) for name in read]
    return Graph(
        name=ops[-1].name,
        inputs=tuple(value for value in values if not graph.is_constant(value.name)),
        constants=tuple(value for value in values if graph.is_constant(value.name)),
        ops=ops,
        outputs=tuple(value.name for op in ops for value in op.results if value.name in outside),
    )


def run_alone(
    module: Module, members: Sequence[str], arch: Architecture, options: CompileOptions
) -> AloneRun:
    """Compile some operators by themselves and run them.

    Args:
        module: The network that they are part of.
        members: Their names.
        arch: The machine.
        options: Those of the network.

    Raises:
        AccnnError: They cannot be compiled for the machine.
    """
    graph = cut_out(module.graph, members)
    constants = module.constants.only(graph.constant_names)
    store = None if options.cache is None else Store(options.cache)
    context = Context(
        seed=options.seed,
        solve_jobs=CachedSolver(
            None if options.cache is None else MappingCache(options.cache), options.processes
        ),
        run_pass=PassMemory(store),
    )
    begun = Module(graph=graph, arch=arch, constants=constants)
    compiled = run_pipeline(_after_rewrites(options), begun, context).module
    lowered = lower(compiled)
    whole = replace(
        compiled,
        program=lowered.program,
        constants=compiled.constants.with_arrays(lowered.derived),
    )
    inputs = {
        value.name: np.zeros(value.type.shape, numpy_dtype(value.type.dtype))
        for value in graph.inputs
    }
    found = simulate(lowered.program, constants_of(whole), inputs, detect_races=False)
    return AloneRun(whole, found)


def _after_rewrites(options: CompileOptions) -> Pipeline:
    passes = chosen_pipeline(options).passes
    return Pipeline(tuple(item for item in passes if item.gives != _REWRITTEN))
