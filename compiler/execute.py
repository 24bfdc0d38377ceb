"""Compile a model in memory for a machine, and run its program on given inputs."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..models.session import Model
from .driver import Result, compile, run_program
from .options import CompileOptions, VerifyMode

Array = npt.NDArray[np.generic]

QUICK = CompileOptions(
    mapper="output-stationary", scheduler="in-order", verify=VerifyMode.OFF, cache=None, processes=1
)
"""Schedulers that take no time; what a program computes does not depend on them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledModel:
    """A model with its program.

    Attributes:
        result: What the compilation made.
        options: Its options.
    """

    result: Result
    options: CompileOptions

    @property
    def inputs(self) -> tuple[str, ...]:
        """Return the names of what the model reads, in order."""
        return tuple(original for original, _ in self.result.network.imported.input_names)

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Simulate the program and return its outputs in order, by ONNX name and of ONNX's types.

        Raises:
            SimulationError: The program does what the machine forbids.
        """
        network = self.result.network
        imported, types = network.imported, network.types
        given = {
            name: array.astype(np.float32) if name in types else array
            for name, array in inputs.items()
        }
        found = run_program(self.result.module, given, imported.input_names, self.options)
        made = {name: found.outputs[value] for name, value in imported.output_names}
        made |= dict(imported.empty_outputs)
        with np.errstate(over="ignore"):
            return {
                output.name: made[output.name].astype(types.get(output.name), copy=False)
                if output.name in types
                else made[output.name]
                for output in network.model.graph.output
            }


def compile_model(model: Model, arch: str, options: CompileOptions = QUICK) -> CompiledModel:
    """Return a model compiled for an architecture; nothing is compared with a reference.

    Args:
        model: The ONNX model.
        arch: Name of the catalogue, or path of a TOML file.
        options: What to choose.

    Raises:
        AccnnError: The root of all errors; ``InputError`` for what the machine cannot do.
    """
    chosen = replace(options, verify=VerifyMode.OFF)
    return CompiledModel(result=compile(model, arch=arch, options=chosen), options=chosen)
