"""The whole flow on a graph with data: no ONNX, no files."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from accnn.backend.load import load_architecture
from accnn.backend.lowering.lower import lower
from accnn.compiler.driver import constants_of
from accnn.compiler.options import CompileOptions
from accnn.compiler.pipelines import default_pipeline
from accnn.compiler.verification.observe import observed, symbol_of
from accnn.ir.arch import Architecture
from accnn.ir.graph import Graph
from accnn.ir.isa.program import Program
from accnn.ir.module import Module
from accnn.ir.resources import Constants
from accnn.passes.manager import run_pipeline
from accnn.passes.mapping.problem import Objective
from accnn.passes.scheduling.cosma.traffic import streaming
from accnn.runtime_sim.reference.run import run as run_reference
from accnn.runtime_sim.result import SimulationResult
from accnn.runtime_sim.simulate import simulate
from tests.inputs import Array, random_inputs


@dataclass(frozen=True)
class Compiled:
    """A network with its program, inputs, and the right value of every tensor."""

    module: Module
    inputs: Mapping[str, Array]
    expected: Mapping[str, Array]

    @property
    def program(self) -> Program:
        assert self.module.program is not None
        return self.module.program

    @property
    def constants(self) -> Constants:
        return constants_of(self.module)

    def run(self, program: Program | None = None, **options: Any) -> SimulationResult:
        """Simulate the program, or a mutant of it."""
        return simulate(program or self.program, self.constants, self.inputs, **options)

    def wrong(self, result: SimulationResult) -> list[str]:
        """Return the operators whose result differs from NumPy's, in execution order."""
        shown = {name: symbol_of(self.program, name) for name in self.program.operators}
        return [
            name
            for name, symbol in shown.items()
            if symbol is not None
            and not np.array_equal(result.tensor(symbol), self.expected[name], equal_nan=True)
        ]


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """All that decides on what :func:`compile_graph` returns."""

    text: str
    content: tuple[tuple[str, str, bytes], ...]
    arch: Architecture
    seed: int
    all_off_chip: bool
    comfortable: int | None
    graph: Graph = field(compare=False)
    options: CompileOptions = field(compare=False)
    data: Mapping[str, Array] = field(compare=False)


def compile_graph(
    graph: Graph,
    data: Mapping[str, Array],
    arch: str,
    *,
    budget: int | None = None,
    seed: int = 0,
    all_off_chip: bool = True,
    tiles: str = "static",
    scheduler: str = "in-order",
    mapper: str = "output-stationary",
    objective: Objective = Objective.LATENCY,
    comfortable: int | None = None,
) -> Compiled:
    """Compile a network and compute what its tensors must be.

    Args:
        graph: The network.
        data: Its constants.
        arch: Name of the catalogue.
        budget: Scratchpad bytes to use.
        seed: Of the inputs.
        all_off_chip: Whether every result is stored, so that it can be compared.
        tiles: Who orders tiles.
        scheduler: Who plans the scratchpad.
        mapper: Who finds loop nests; the greedy one is fast, and what it finds is like any other.
        objective: What nests and groups are chosen for.
        comfortable: What plans leave for tiles at least [byte]; as the scratchpad's size says by
            default. As much as in a large one keeps tensors from staying, and groups from being.

    Returns:
        The same for the same arguments: tests leave it as it is.
    """
    options = CompileOptions(
        scratchpad=budget, tiles=tiles, scheduler=scheduler, mapper=mapper, objective=objective
    )
    content = ((name, array.dtype.str, array.tobytes()) for name, array in sorted(data.items()))
    asked = _Asked(
        text=repr((graph, options)),
        content=tuple(content),
        arch=load_architecture(arch),
        options=options,
        seed=seed,
        all_off_chip=all_off_chip,
        comfortable=comfortable,
        graph=graph,
        data=data,
    )
    return _compile(asked)


@lru_cache(maxsize=32)
def _compile(asked: _Asked) -> Compiled:
    source = Module(graph=asked.graph, arch=asked.arch, constants=Constants(asked.data))
    with pytest.MonkeyPatch.context() as patch:
        if asked.comfortable is not None:
            patch.setattr(streaming, "comfortable", lambda _: asked.comfortable)
        module = run_pipeline(default_pipeline(asked.options), source).module
    if asked.all_off_chip:
        module = observed(module)
    lowered = lower(module)
    lowered.program.verify()
    constants = module.constants.with_arrays(lowered.derived)
    module = replace(module, program=lowered.program, constants=constants)
    inputs = random_inputs(asked.graph, asked.seed)
    expected = run_reference(asked.graph, source.constants, inputs)
    if not module.graph.types.keys() <= expected.keys():  # passes have added operators
        expected = {**run_reference(module.graph, module.constants, inputs), **expected}
    return Compiled(module, inputs, expected)
