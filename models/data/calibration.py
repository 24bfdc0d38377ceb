"""Calibration data, read from files; ``synthetic.py`` makes up what is not given.

A data set is a ``.npz`` file (one array per model input, by name), a ``.npy`` file (for models of
one input), or a folder of such files, read in the order of their names. An array holds one or more
samples: its leading dimension is a multiple of the input's.
"""

import zipfile
import zlib
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, helper

from ...ir.errors import OptionError

Array = NDArray[Any]
Sample = Mapping[str, Array]
_SUFFIXES = (".npz", ".npy")


@dataclass(frozen=True, slots=True, kw_only=True)
class InputSpec:
    """What a model wants to read.

    Attributes:
        name: Name of the input.
        shape: Its static shape.
        dtype: Its NumPy type.
        below: For indices, the extent of what they index; 0 for other values.
    """

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    below: int = 0

    @property
    def is_float(self) -> bool:
        """Return whether the input takes real numbers."""
        return np.issubdtype(self.dtype, np.floating)


def input_specs(model: ModelProto) -> tuple[InputSpec, ...]:
    """Return the inputs of ``model``, weights apart.

    Raises:
        OptionError: A dimension is not fixed.
    """
    weights = {w.name for w in model.graph.initializer}
    bounds = index_bounds(model)
    return tuple(
        _spec(i.name, i.type.tensor_type, bounds.get(i.name, 0))
        for i in model.graph.input
        if i.name not in weights
    )


def _spec(name: str, tensor: Any, below: int) -> InputSpec:
    shape = tuple(int(d.dim_value) for d in tensor.shape.dim)
    if not tensor.HasField("shape") or min(shape, default=1) < 1:
        raise OptionError(
            f"input {name!r} has no static shape: {_dims_text(tensor)}",
            hint=f"fix it, e.g. --shape {name}=1,3,224,224",
        )
    dtype = helper.tensor_dtype_to_np_dtype(tensor.elem_type)
    return InputSpec(name=name, shape=shape, dtype=dtype, below=below)


def _dims_text(tensor: Any) -> str:
    dims = (d.dim_param or str(d.dim_value) or "?" for d in tensor.shape.dim)
    return f"[{', '.join(dims)}]"


def read_samples(path: Path, specs: tuple[InputSpec, ...]) -> Iterator[Sample]:
    """Yield the samples of a data set, one file in memory at a time.

    Raises:
        OptionError: Nothing is there, a file is damaged or holds pickled objects, or an array's
            name, shape or dtype is not the model's.
    """
    return chain.from_iterable(_samples_of(file, specs) for file in data_files(path))


def data_files(path: Path) -> list[Path]:
    """Return the files of a data set, in the order in which they are read.

    Raises:
        OptionError: There is none.
    """
    if not path.exists():
        raise OptionError(f"{path} does not exist")
    files = sorted(p for p in path.iterdir() if p.suffix in _SUFFIXES) if path.is_dir() else [path]
    if not files:
        raise OptionError(f"folder {path} holds no .npz or .npy file")
    if files[0].suffix not in _SUFFIXES or not files[0].is_file():
        raise OptionError(f"{path} is neither .npz nor .npy nor a folder")
    return files


def _samples_of(file: Path, specs: tuple[InputSpec, ...]) -> Iterator[Sample]:
    arrays = _load(file, specs)
    _check_names(file, arrays, specs)
    counts = {spec.name: _count(file, spec, arrays[spec.name]) for spec in specs}
    if len(set(counts.values())) > 1:
        text = ", ".join(f"{name!r} {count}" for name, count in counts.items())
        raise OptionError(f"{file}: the inputs have different numbers of samples: {text}")
    for sample in range(next(iter(counts.values()), 0)):
        yield {s.name: _slice(arrays[s.name], s.shape, sample) for s in specs}


def arrays_in(file: Path) -> frozenset[str]:
    """Return the names of the arrays of a file; none where it is an ``.npy``.

    Raises:
        OptionError: The file is damaged, or holds pickled objects.
    """
    with _readable(file) as content:
        return frozenset() if isinstance(content, np.ndarray) else frozenset(content.files)


def _load(file: Path, specs: tuple[InputSpec, ...]) -> dict[str, Array]:
    with _readable(file) as content:
        if not isinstance(content, np.ndarray):
            return {name: content[name] for name in content.files}
    if len(specs) != 1:
        raise OptionError(f"{file}: the model has {len(specs)} inputs; use .npz files")
    return {specs[0].name: cast(Array, content)}


@contextmanager
def _readable(file: Path) -> Generator[Any]:
    """Open a file of arrays; what is read of it inside may be damaged, too.

    Raises:
        OptionError: It cannot be read.
    """
    try:
        with file.open("rb") as stream:
            yield np.load(stream, allow_pickle=False)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise OptionError(
            f"{file} is not readable as NumPy data: {error}",
            hint="arrays of plain numbers, saved with numpy.savez; pickled objects are refused",
        ) from error


def _check_names(file: Path, arrays: Mapping[str, Array], specs: tuple[InputSpec, ...]) -> None:
    wanted = [spec.name for spec in specs]
    if sorted(arrays) != sorted(wanted):
        raise OptionError(
            f"{file} holds the arrays {_listed(sorted(arrays))}, "
            f"but the model's inputs are {_listed(wanted)}"
        )


def _listed(names: list[str]) -> str:
    return ", ".join(repr(name) for name in names) or "none"


def _count(file: Path, spec: InputSpec, array: Array) -> int:
    """Return how many samples ``array`` holds for an input."""
    if array.dtype != spec.dtype:
        raise OptionError(
            f"{file}: {spec.name!r} is {array.dtype}, the model reads {spec.dtype}",
            hint=f'convert the array with .astype("{spec.dtype}")',
        )
    if array.shape == spec.shape:
        return 1
    fits = array.ndim == len(spec.shape) > 0 and array.shape[1:] == spec.shape[1:]
    if not fits or array.shape[0] % spec.shape[0] or array.shape[0] == 0:
        raise OptionError(
            f"{file}: {spec.name!r} has the shape {list(array.shape)}, the model reads "
            f"{list(spec.shape)}",
            hint="the leading dimension may be a multiple of the model's",
        )
    return array.shape[0] // spec.shape[0]


def _slice(array: Array, shape: tuple[int, ...], sample: int) -> Array:
    return array[sample * shape[0] : (sample + 1) * shape[0]] if shape else array


_MOVES = frozenset({"Cast", "Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"})


def index_bounds(model: ModelProto) -> dict[str, int]:
    """Return the extent of what each input indexes, the least of several; other inputs are absent.

    An input is an index where it is gathered with, at once or after moves and casts, from a
    constant of the model.
    """
    sources = {n.output[0]: n.input[0] for n in model.graph.node if n.op_type in _MOVES}
    bounds: dict[str, int] = {}
    for name, extent in _gathered(model):
        while name in sources:
            name = sources[name]
        bounds[name] = min(extent, bounds.get(name, extent))
    return bounds


def _gathered(model: ModelProto) -> Iterator[tuple[str, int]]:
    """Yield the indices of every gather from a constant, with the extent of the axis."""
    shapes = {tensor.name: tuple(tensor.dims) for tensor in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "Gather" and node.input[0] in shapes:
            yield node.input[1], shapes[node.input[0]][_axis(node)]


def _axis(node: NodeProto) -> int:
    return next((int(item.i) for item in node.attribute if item.name == "axis"), 0)
