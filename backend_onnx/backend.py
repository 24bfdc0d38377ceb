"""The interface that ONNX asks of a backend, on top of the compiler and the simulator."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto
from onnx.backend.base import Backend, BackendRep

from ..compiler.execute import QUICK, CompiledModel, compile_model
from ..compiler.options import CompileOptions
from ..ir.errors import OptionError

DEVICE = "CPU"
"""The simulator runs on it, whatever it simulates."""


class AccnnRep(BackendRep):
    """A compiled model that is ready to run.

    Attributes:
        compiled: The model and its program.
    """

    def __init__(self, compiled: CompiledModel) -> None:
        self.compiled = compiled

    def run(self, inputs: Any, **kwargs: Any) -> tuple[NDArray[Any], ...]:
        """Simulate the program.

        Args:
            inputs: Arrays in the order of the model's inputs.
            kwargs: None is known.

        Returns:
            The outputs, in the order of the model's.

        Raises:
            OptionError: The number of inputs is not the model's, or an option is unknown.
        """
        _refuse(kwargs)
        arrays: Sequence[NDArray[Any]] = [np.asarray(item) for item in inputs]
        names = self.compiled.inputs
        if len(arrays) != len(names):
            raise OptionError(
                f"{len(arrays)} inputs given, the model reads {len(names)}",
                hint=f"inputs: {', '.join(names)}",
            )
        found = self.compiled.run(dict(zip(names, arrays, strict=True)))
        return tuple(found.values())


class AccnnBackend(Backend):
    """Compiles models for an accelerator of the catalogue."""

    @classmethod
    def prepare(
        cls,
        model: ModelProto,
        device: str = DEVICE,
        *,
        arch: str = "edge-fp32",
        options: CompileOptions = QUICK,
        **kwargs: Any,
    ) -> AccnnRep:
        """Compile a model.

        Args:
            model: With static input shapes.
            device: ``CPU``, where the simulator runs.
            arch: Name of the catalogue, or path of a TOML file.
            options: What the compiler chooses; by default what takes no time.
            kwargs: None is known.

        Raises:
            InputError: The model or the machine cannot be used.
            OptionError: The device or an option is unknown.
        """
        _refuse(kwargs)
        if not cls.supports_device(device):
            raise OptionError(f"no device {device!r}", hint=f"known: {DEVICE}")
        return AccnnRep(compile_model(model, arch, options))

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Return whether the simulator runs on a device, as ``CPU`` or ``CPU:0``."""
        return device.partition(":")[0] == DEVICE


def _refuse(unknown: dict[str, Any]) -> None:
    if unknown:
        raise OptionError(f"unknown options: {', '.join(sorted(unknown))}")
