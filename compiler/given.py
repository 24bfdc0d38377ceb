"""Values that a caller has at hand, as the files that a compilation reads.

Files are what is checked: their size, their names, and that they hold plain numbers.
"""

import os
import tempfile
import zipfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..ir.errors import ModelError, OptionError
from ..models.session import Model, save_model
from ..models.torch_export import TorchModule, export_torch, is_torch_module

_UNNAMED = "network"


@contextmanager
def as_files(
    model: Path | str | Model | TorchModule,
    inputs: Mapping[str, npt.ArrayLike] | None,
    example_inputs: object = None,
) -> Generator[tuple[Path, Path | None]]:
    """Open the file of a model, and that of its inputs if there are any.

    What is no file yet is written to one, which is gone at the end.

    Args:
        model: The model, or its file.
        inputs: Arrays by name.
        example_inputs: Arguments of a PyTorch module; ``None`` for other models.

    Raises:
        ModelError: The model is larger than a file may be, or PyTorch cannot export it.
        OptionError: An input is no array of numbers, the model is nothing that can be read, it is a
            PyTorch module that lacks example inputs, or another model that has them.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = _file_of(model, example_inputs, Path(folder))
        sample = None if inputs is None else _saved(inputs, Path(folder))
        try:
            yield path, sample
        except OptionError as error:
            if sample is None or str(sample) not in error.message:
                raise
            message = error.message.replace(f"{sample}", "inputs")
            raise OptionError(message, hint=error.hint) from error


def _file_of(model: Path | str | Model | TorchModule, example_inputs: object, folder: Path) -> Path:
    if is_torch_module(model):
        return _exported(model, example_inputs, folder)
    if example_inputs is not None:
        raise OptionError("only a PyTorch module takes example_inputs")
    if isinstance(model, Model):
        return _written(model, folder)
    if isinstance(model, str | os.PathLike):
        return Path(model)
    raise OptionError(
        f"cannot compile a {type(model).__name__}",
        hint="give a file, an onnx.ModelProto, or a PyTorch module with example_inputs",
    )


def _exported(module: TorchModule, example_inputs: object, folder: Path) -> Path:
    if example_inputs is None:
        raise OptionError(
            "a PyTorch module needs example_inputs",
            hint="accnn.compile(module, (x,), arch=...) with a tensor of the shape to compile for",
        )
    path = folder / f"{type(module).__name__}.onnx"
    export_torch(module, example_inputs, path)
    return path


def _written(model: Model, folder: Path) -> Path:
    letters = (letter if letter.isalnum() else "_" for letter in model.graph.name)
    path = folder / f"{''.join(letters)[:64] or _UNNAMED}.onnx"
    try:
        save_model(model, path)
    except ValueError as error:
        raise ModelError(
            f"the model cannot be written: {error}",
            hint="save it with external data, and give the path of the file",
        ) from error
    return path


def _saved(inputs: Mapping[str, npt.ArrayLike], folder: Path) -> Path:
    if not isinstance(inputs, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise OptionError(
            f"inputs are a {type(inputs).__name__}", hint='give arrays by name: {"x": array}'
        )
    path, arrays = folder / "inputs.npz", {name: np.asarray(item) for name, item in inputs.items()}
    for name, array in arrays.items():
        if array.dtype.kind not in "biuf":
            raise OptionError(f"input {name!r} has elements {array.dtype}, not plain numbers")
    with zipfile.ZipFile(path, "w") as archive:  # numpy.savez has names that arrays may not have
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, array, allow_pickle=False)
    return path
