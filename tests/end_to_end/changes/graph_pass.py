"""A graph pass: two negations in a row are none."""

from tests.end_to_end.changes.change import Change, Edit

_PASS = '''"""Let what reads a negation of a negation read what is negated.

    %a = neg(%x)      ->     %c = relu(%x)
    %b = neg(%a)
    %c = relu(%b)
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from ...ir.graph import Op, eliminate_dead
from ...ir.module import Module, Stage
from ..base import Context, Pass


@dataclass(frozen=True)
class SkipNegations(Pass):
    """Let what reads a negation of a negation read what is negated."""

    name: ClassVar[str] = "skip-negations"
    gives: ClassVar[frozenset[Stage]] = frozenset({Stage.GRAPH})

    def run(self, module: Module, ctx: Context) -> Module:
        """Return the module without pairs of negations that something reads."""

        def skip(op: Op, producers: Mapping[str, Op]) -> Op | None:
            operands = tuple(_negated_twice(name, producers) or name for name in op.operands)
            return None if operands == op.operands else replace(op, operands=operands)

        graph = module.graph.rewrite(skip)
        if graph is module.graph:
            return module
        return replace(module, graph=eliminate_dead(graph))


def _negated_twice(name: str, producers: Mapping[str, Op]) -> str | None:
    for _ in range(2):
        if name not in producers or producers[name].kind != "neg":
            return None
        name = producers[name].operands[0]
    return name
'''


def prove() -> None:
    """Run the pass by its name in a pipeline."""
    from accnn.ir.graph import Graph, Value
    from accnn.ir.module import Module
    from accnn.ir.ops import make_op
    from accnn.ir.types import DType, TensorType
    from accnn.passes.manager import run_pipeline
    from accnn.passes.registry import pipeline

    types = {name: TensorType(DType.F32, (2, 3)) for name in "xab"}
    pairs = (("neg", "x", "a"), ("neg", "a", "b"), ("relu", "b", "c"))
    ops = tuple(make_op(kind, (source,), types, name) for kind, source, name in pairs)
    graph = Graph(
        name="net", inputs=(Value("x", types["x"]),), constants=(), ops=ops, outputs=("c",)
    )
    after = run_pipeline(pipeline("skip-negations"), Module(graph=graph)).module

    (left,) = after.graph.ops
    assert (left.kind, left.operands) == ("relu", ("x",))
    assert run_pipeline(pipeline("skip-negations"), after).module is after


CHANGE = Change(
    row="a graph pass",
    edits=(
        Edit("passes/graph/skip_negations.py", "", _PASS),
        Edit(
            "passes/registry.py",
            "from .graph.split_float_products import SplitFloatProducts\n",
            "from .graph.skip_negations import SkipNegations\n"
            "from .graph.split_float_products import SplitFloatProducts\n",
        ),
        Edit(
            "passes/registry.py",
            "    EliminateDead,\n    FormIntegers,\n",
            "    EliminateDead,\n    SkipNegations,\n    FormIntegers,\n",
        ),
    ),
    proof=prove,
)
