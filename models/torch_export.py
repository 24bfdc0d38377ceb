"""PyTorch modules as ONNX files, where PyTorch is installed.

Who has a module has imported PyTorch: it is looked up among the imported modules, never imported
here. The door to torch.
"""

import sys
from pathlib import Path
from typing import Any, Protocol, TypeGuard

from ..ir.errors import ModelError

_OPSET = 18
"""The oldest that both exporters of PyTorch write without converting."""


class TorchModule(Protocol):
    """What is asked of a ``torch.nn.Module``."""

    training: bool

    def train(self, mode: bool = True) -> Any:
        """Set whether layers such as dropout behave as in training."""
        ...


def is_torch_module(model: object) -> TypeGuard[TorchModule]:
    """Whether a model is a PyTorch module; PyTorch is not imported to find out."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def export_torch(module: TorchModule, example_inputs: object, path: Path) -> None:
    """Write a PyTorch module as an ONNX file, with its weights.

    The module is exported as in inference, and left as it was.

    Args:
        module: The module.
        example_inputs: Its arguments, as a tuple or list; a single one may stand alone. Their
            shapes are those of the network.
        path: The file to write.

    Raises:
        ModelError: PyTorch cannot export it; the message is PyTorch's.
    """
    several = isinstance(example_inputs, tuple | list)
    arguments: Any = tuple(example_inputs) if several else (example_inputs,)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    export: Any = sys.modules["torch"].onnx.export
    was_training = module.training
    module.train(False)
    try:
        export(
            module,
            arguments,
            str(path),
            opset_version=_OPSET,
            external_data=False,
            verbose=False,
        )
    except Exception as error:  # PyTorch raises whatever its layers raise
        raise ModelError(
            f"torch.onnx.export cannot write {type(module).__name__}: {error}",
            hint="export it to a file yourself, and give the path of that",
        ) from error
    finally:
        module.train(was_training)
