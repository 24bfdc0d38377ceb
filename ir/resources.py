"""Constants of a network: arrays that lie beside the graph, by name."""

import hashlib
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from .errors import InputError, VerifyError
from .graph import Graph
from .types import DType

Array: TypeAlias = npt.NDArray[Any]

_DTYPES: Mapping[np.dtype[np.generic], DType] = {
    np.dtype(np.float32): DType.F32,
    np.dtype(np.float64): DType.F64,
    np.dtype(np.int8): DType.S8,
    np.dtype(np.uint8): DType.U8,
    np.dtype(np.int16): DType.S16,
    np.dtype(np.uint16): DType.U16,
    np.dtype(np.int32): DType.S32,
    np.dtype(np.uint32): DType.U32,
    np.dtype(np.int64): DType.S64,
    np.dtype(np.uint64): DType.U64,
    np.dtype(np.bool_): DType.BOOL,
}
_NUMPY = {dtype: kind for kind, dtype in _DTYPES.items()}


def numpy_dtype(dtype: DType) -> np.dtype[np.generic]:
    """Return NumPy's type for an element type."""
    return _NUMPY[dtype]


def dtype_of(dtype: npt.DTypeLike) -> DType:
    """Return the element type for one of NumPy's types.

    Raises:
        VerifyError: There is no such element type.
    """
    found = _DTYPES.get(np.dtype(dtype))
    if found is None:
        raise VerifyError(f"no element type for arrays of {np.dtype(dtype)}")
    return found


class Constants(Mapping[str, Array]):
    """Frozen mapping from names to read-only arrays, equal by content.

    Arrays keep the order in which they were given; equality and ``sha256`` ignore it.
    """

    def __init__(self, arrays: Mapping[str, Array] | None = None) -> None:
        """Take over arrays; one that somebody else could write to is copied.

        Raises:
            VerifyError: An array has a type that no tensor can have.
        """
        self._arrays = {name: _frozen(array) for name, array in (arrays or {}).items()}

    def __getitem__(self, name: str) -> Array:
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constants) and self.sha256 == other.sha256

    def __hash__(self) -> int:
        return hash(self.sha256)

    def __repr__(self) -> str:
        return f"Constants({len(self)} arrays, {self.nbytes} bytes)"

    @property
    def nbytes(self) -> int:
        """Size of all arrays [byte]."""
        return sum(array.nbytes for array in self._arrays.values())

    @cached_property
    def sha256(self) -> str:
        """Digest of names, types, shapes and content, independent of order."""
        digest = hashlib.sha256()
        for name in sorted(self._arrays):
            array = self._arrays[name]
            digest.update(f"{len(name)}:{name} {dtype_of(array.dtype)} {array.shape}\n".encode())
            digest.update(array.data if array.size else b"")
        return digest.hexdigest()

    def only(self, names: frozenset[str]) -> "Constants":
        """Return the constants whose names are given."""
        return Constants({name: array for name, array in self.items() if name in names})

    def with_arrays(self, arrays: Mapping[str, Array]) -> "Constants":
        """Return these constants with some added or replaced."""
        return Constants({**self._arrays, **arrays})

    def verify(self, graph: Graph) -> None:
        """Check that each constant of a graph has an array of its type and shape.

        Raises:
            VerifyError: Names the constant.
        """
        for value in graph.constants:
            array = self._arrays.get(value.name)
            if array is None:
                raise VerifyError(f"constant %{value.name} has no data")
            found = (dtype_of(array.dtype), array.shape)
            if found != (value.type.dtype, value.type.shape):
                raise VerifyError(
                    f"constant %{value.name} is {value.type}, its data are {found[0]} {found[1]}"
                )

    def to_bytes(self) -> bytes:
        """Return the constants in the safetensors format, the same bytes for equal content."""
        return save_tensors({name: np.asarray(self._arrays[name]) for name in sorted(self)})

    @staticmethod
    def from_bytes(blob: bytes) -> "Constants":
        """Read what ``to_bytes`` wrote.

        Raises:
            InputError: The bytes are not safetensors.
        """
        try:
            return Constants(load_tensors(blob))
        except (SafetensorError, KeyError) as error:
            raise InputError(f"constants are not a safetensors file: {error}") from error

    def save(self, path: Path) -> None:
        """Write a safetensors file."""
        path.write_bytes(self.to_bytes())

    @staticmethod
    def load(path: Path) -> "Constants":
        """Read a safetensors file.

        Raises:
            InputError: The file cannot be read or is not safetensors.
        """
        try:
            blob = path.read_bytes()
        except OSError as error:
            raise InputError(f"{path}: cannot read constants: {error.strerror}") from error
        return Constants.from_bytes(blob)


def _frozen(array: Array) -> Array:
    dtype_of(array.dtype)
    owned = array.base is None and not array.flags.writeable and array.flags.c_contiguous
    if owned:
        return array
    copy = np.array(array, order="C", copy=True)
    copy.flags.writeable = False
    return copy
