"""What a CUDA kernel computes where a C compiler builds it, and what its workload says."""

import ctypes
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from accnn.ir.workload import Workload

Array = NDArray[np.int8] | NDArray[np.int16] | NDArray[np.int32] | NDArray[np.float32]
COMPILER = shutil.which("gcc") or shutil.which("cc")
"""Builds kernels as C; ``None`` where there is none."""
CUDA = shutil.which("nvcc")
"""Builds them as CUDA; ``None`` where there is none."""
_TYPES = {8: (np.int8, np.int32), 16: (np.int16, np.int32), 32: (np.float32, np.float32)}


def wide(bits: int = 32, **fields: int | tuple[int, int]) -> Workload:
    """Return a workload of one width, as kernels need it."""
    widths = {"weight_bits": bits, "input_bits": bits, "output_bits": bits, "psum_bits": 32}
    return Workload(**widths, **fields)  # pyright: ignore[reportArgumentType]


def is_right(text: str, work: Workload, folder: Path) -> bool:
    """Whether every element of what a kernel computes is what its workload says.

    Args:
        text: Of the kernel.
        work: What it computes.
        folder: For files.

    Raises:
        FileNotFoundError: There is no compiler for C.
        subprocess.CalledProcessError: It does not take the text.
    """
    weights, inputs = _tensors(work)
    outputs = np.full((work.N, work.G, work.K, work.P, work.Q), 99, _TYPES[work.weight_bits][1])
    arrays = [array.ctypes.data_as(ctypes.c_void_p) for array in (weights, inputs, outputs)]
    _built(text, folder).layer(*arrays)
    return bool(np.array_equal(outputs, _reference(work, weights, inputs)))


def _built(text: str, folder: Path) -> ctypes.CDLL:
    source, library = folder / "kernel.c", folder / "kernel.so"
    source.write_text(text, encoding="utf-8")
    if COMPILER is None:
        raise FileNotFoundError("there is no compiler for C")
    line = [COMPILER, "-O2", "-Wall", "-Werror", "-shared", "-fPIC", str(source)]
    subprocess.run([*line, "-o", str(library)], check=True)
    return ctypes.CDLL(os.fspath(library))


def _tensors(work: Workload) -> tuple[Array, Array]:
    """Return weights and inputs: small integers, so that sums of any order are equal."""
    rng = np.random.default_rng(0)
    kind = _TYPES[work.weight_bits][0]
    height = (work.P - 1) * work.stride[0] + (work.R - 1) * work.dilation[0] + 1
    width = (work.Q - 1) * work.stride[1] + (work.S - 1) * work.dilation[1] + 1
    weights = rng.integers(-7, 8, (work.G, work.K, work.C, work.R, work.S)).astype(kind)
    inputs = rng.integers(-7, 8, (work.N, work.G, work.C, height, width)).astype(kind)
    return weights, inputs


def _reference(work: Workload, weights: Array, inputs: Array) -> NDArray[np.float64]:
    """Return the outputs by their definition, tap by tap; exact below two to the 53."""
    found = np.zeros((work.N, work.G, work.K, work.P, work.Q))
    for r in range(work.R):
        for s in range(work.S):
            top, left = r * work.dilation[0], s * work.dilation[1]
            rows = slice(top, top + (work.P - 1) * work.stride[0] + 1, work.stride[0])
            columns = slice(left, left + (work.Q - 1) * work.stride[1] + 1, work.stride[1])
            window = inputs[..., rows, columns].astype(np.float64)
            taps = weights[..., r, s].astype(np.float64)
            found += np.einsum("gkc,ngcpq->ngkpq", taps, window, optimize=True)
    return found
