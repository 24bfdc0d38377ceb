"""What groups bring to attention: a quantised transformer block with and without them.

    python -m benchmarks.fusion_block
    python -m benchmarks.fusion_block --docs

The block is attention and perceptron, each after a normalisation. It is compiled by
``output-stationary`` with a scratchpad that does not hold its scores, run, and compared with
onnxruntime layer by layer. The table is printed; with ``--docs`` it is written to
``docs/fusion.md``, too. The exit code is 1 if a program was not verified.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from accnn.compiler.options import CompileOptions, VerifyMode
from accnn.passes.scheduling.fusion import Fuse
from benchmarks.fusion import ARCHS, DOCS
from benchmarks.fusion_small import cell, tabulate, two_programs

MARKS = "benchmarks.fusion_block"
SIZES = ((48, 16384), (128, 24576))
"""Tokens, each with the scratchpad [byte]."""

WIDTH, HEADS, HIDDEN = 16, 2, 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A block on a machine.

    Attributes:
        tokens: How many there are.
        scratchpad: Its size [byte].
        arch: Name of the machine.
        moved: Off-chip bytes without groups, and with them, simulated [byte].
        cycles: The same of cycles [cycle].
        is_verified: Whether both programs compute what onnxruntime does.
    """

    tokens: int
    scratchpad: int
    arch: str
    moved: tuple[int, int]
    cycles: tuple[int, int]
    is_verified: bool


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure all blocks; return the exit code."""
    cases = [(*size, arch) for size in SIZES for arch in ARCHS]
    return tabulate(
        arguments, __doc__, lambda: [measured(*case) for case in cases], markdown, DOCS, MARKS
    )


def measured(tokens: int, scratchpad: int, arch: str) -> Row:
    """Compile and run a block without groups, and with them.

    Args:
        tokens: How many there are.
        scratchpad: Its size [byte].
        arch: Name of the machine.
    """
    found = two_programs(block(tokens), arch, lambda fuse: options(scratchpad, fuse))
    return Row(
        tokens=tokens,
        scratchpad=scratchpad,
        arch=arch,
        moved=(found.off.offchip_bytes or 0, found.groups.offchip_bytes or 0),
        cycles=(found.off.cycles_simulated or 0, found.groups.cycles_simulated or 0),
        is_verified=found.is_verified,
    )


def options(scratchpad: int, fuse: Fuse) -> CompileOptions:
    """Return how blocks are compiled.

    Args:
        scratchpad: Its size [byte].
        fuse: What may be fused.
    """
    return CompileOptions(
        cache=None,
        mapper="output-stationary",
        fuse=fuse,
        scratchpad=scratchpad,
        verify=VerifyMode.LAYERS,
    )


def markdown(rows: Sequence[Row]) -> str:
    """Return the table.

    Args:
        rows: What was measured.
    """
    return "".join(
        (
            "| tokens | scratchpad | machine | bytes off | groups | cycles off | groups "
            "| verified |\n",
            "|--:|--:|---|--:|--:|--:|--:|---|\n",
            *map(_line, rows),
        )
    )


def _line(row: Row) -> str:
    figures = (f"{number:,}" for number in (*row.moved, *row.cycles))
    size = f"{row.scratchpad // 1024} KiB"
    cells = (f"{row.tokens}", size, row.arch, *figures, cell(row.is_verified))
    return f"| {' | '.join(cells)} |\n"


def _weights() -> dict[str, npt.NDArray[np.float32]]:
    """Return the constants of a block, by name, from a fixed seed."""
    rng = np.random.default_rng(0)
    shapes = {"qkv": (WIDTH, 3 * WIDTH), "out": (WIDTH, WIDTH), "up": (WIDTH, HIDDEN)}
    shapes["down"] = (HIDDEN, WIDTH)
    found = {name: 0.2 * rng.normal(size=shape) for name, shape in shapes.items()}
    found |= {"gain": rng.normal(size=WIDTH), "shift": rng.normal(size=WIDTH)}
    found["scale"] = np.array((WIDTH // HEADS) ** -0.5)
    return {name: np.asarray(array, np.float32) for name, array in found.items()}


def block(tokens: int) -> ModelProto:
    """Return attention and perceptron, each after a normalisation, as exporters write them.

    Args:
        tokens: How many rows of ``WIDTH`` channels come in.
    """
    constants = [numpy_helper.from_array(a, name) for name, a in _constants(tokens)]
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, tokens, WIDTH]) for name in "xy"
    ]
    graph = helper.make_graph(_nodes(), "block", ends[:1], ends[1:], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def _constants(tokens: int) -> Iterator[tuple[str, npt.NDArray[np.generic]]]:
    yield from _weights().items()
    yield "split", np.array([1, tokens, 3, HEADS, WIDTH // HEADS], np.int64)
    yield "merged", np.array([1, tokens, WIDTH], np.int64)
    yield from ((f"{n}", np.array(n, np.int64)) for n in range(3))


def _nodes() -> list[NodeProto]:
    node = helper.make_node
    return [
        node("LayerNormalization", ["x", "gain", "shift"], ["n"], axis=-1),
        node("MatMul", ["n", "qkv"], ["a"]),
        node("Reshape", ["a", "split"], ["b"]),
        node("Transpose", ["b"], ["c"], perm=[2, 0, 3, 1, 4]),
        *(node("Gather", ["c", f"{n}"], [name], axis=0) for n, name in enumerate("qkv")),
        node("Transpose", ["k"], ["kt"], perm=[0, 1, 3, 2]),
        node("MatMul", ["q", "kt"], ["d"]),
        node("Mul", ["d", "scale"], ["e"]),
        node("Softmax", ["e"], ["p"], axis=-1),
        node("MatMul", ["p", "v"], ["f"]),
        node("Transpose", ["f"], ["g"], perm=[0, 2, 1, 3]),
        node("Reshape", ["g", "merged"], ["h"]),
        node("MatMul", ["h", "out"], ["i"]),
        node("Add", ["x", "i"], ["j"]),
        node("LayerNormalization", ["j", "gain", "shift"], ["m"], axis=-1),
        node("MatMul", ["m", "up"], ["s"]),
        node("Gelu", ["s"], ["t"]),
        node("MatMul", ["t", "down"], ["u"]),
        node("Add", ["j", "u"], ["y"]),
    ]


if __name__ == "__main__":
    sys.exit(main())
