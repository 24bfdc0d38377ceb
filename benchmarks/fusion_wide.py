"""What groups bring to filters of wide images, by what nests and groups are chosen for.

    python -m benchmarks.fusion_wide
    python -m benchmarks.fusion_wide --docs

The network is four filters of 3x3 one after the other, on an image of 64 rows: a whole one, and a
vertical strip, a quarter of it with the columns that four filters read beside. It is compiled for
simba, run, and compared with onnxruntime. Four strips, each with what it reads beside, would take
four times what one does. The table is printed; with ``--docs`` it is written to
``docs/fusion.md``, too. The exit code is 1 if a program was not verified.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from accnn.compiler.options import CompileOptions
from accnn.ir.report import Totals
from accnn.passes.mapping.problem import Objective
from benchmarks.fusion import DOCS
from benchmarks.fusion_small import cell, tabulate, two_programs

MARKS = "benchmarks.fusion_wide"
COLUMNS = (264, 72)
"""Of a whole image, and of a strip: 66 columns and three on either side."""

OBJECTIVES = (Objective.LATENCY, Objective.EDP, Objective.ENERGY)
FILTERS, CHANNELS, ROWS = 4, 32, 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """An image, compiled with groups and without.

    Attributes:
        columns: Its width.
        objective: What nests and groups are chosen for.
        off: Without groups: off-chip bytes, cycles, energy [byte, cycle, pJ].
        groups: The same with groups.
        is_verified: Whether both programs compute what onnxruntime does.
    """

    columns: int
    objective: Objective
    off: tuple[int, int, float]
    groups: tuple[int, int, float]
    is_verified: bool


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure all images; return the exit code."""
    cases = [(columns, objective) for columns in COLUMNS for objective in OBJECTIVES]
    return tabulate(
        arguments, __doc__, lambda: [measured(*case) for case in cases], markdown, DOCS, MARKS
    )


def measured(columns: int, objective: Objective) -> Row:
    """Compile and run the filters without groups, and with them.

    Args:
        columns: Of the image.
        objective: What nests and groups are chosen for.
    """
    found = two_programs(
        filters(columns),
        "simba",
        lambda fuse: CompileOptions(cache=None, fuse=fuse, objective=objective),
    )
    return Row(
        columns=columns,
        objective=objective,
        off=_figures(found.off),
        groups=_figures(found.groups),
        is_verified=found.is_verified,
    )


def _figures(totals: Totals) -> tuple[int, int, float]:
    return totals.offchip_bytes or 0, totals.cycles_simulated or 0, totals.energy_pj or 0.0


def filters(columns: int) -> ModelProto:
    """Return the network with drawn weights.

    Args:
        columns: Of the image.
    """
    generator, channels = np.random.default_rng(0), (3, *[CHANNELS] * (FILTERS - 1), 3)
    nodes: list[NodeProto] = []
    weights: dict[str, np.ndarray] = {}
    for number in range(FILTERS):
        C, K = channels[number], channels[number + 1]
        drawn = generator.normal(size=(K, C, 3, 3)) / np.sqrt(9 * C)
        weights[f"w{number}"] = drawn.astype(np.float32)
        read, made = f"x{number}", f"x{number + 1}"
        inner = made if number == FILTERS - 1 else f"c{number}"
        nodes.append(helper.make_node("Conv", [read, f"w{number}"], [inner], pads=[1] * 4))
        if inner != made:
            nodes.append(helper.make_node("Relu", [inner], [made]))
    shape = (1, 3, ROWS, columns)
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name in ("x0", f"x{FILTERS}")
    ]
    constants = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    graph = helper.make_graph(nodes, "filters", ends[:1], ends[1:], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def markdown(rows: Sequence[Row]) -> str:
    """Return the table.

    Args:
        rows: What was measured.
    """
    return "".join(
        (
            "| columns | objective | bytes off | groups | cycles off | groups | uJ off | groups "
            "| verified |\n",
            "|--:|---|--:|--:|--:|--:|--:|--:|---|\n",
            *(f"| {' | '.join(_cells(row))} |\n" for row in rows),
        )
    )


def _cells(row: Row) -> Iterator[str]:
    yield from (f"{row.columns}", row.objective.value)
    for off, groups in tuple(zip(row.off, row.groups, strict=True))[:2]:
        yield from (f"{off:,}", f"{groups:,}")
    yield from (f"{row.off[2] / 1e6:.0f}", f"{row.groups[2] / 1e6:.0f}")
    yield cell(row.is_verified)


if __name__ == "__main__":
    sys.exit(main())
