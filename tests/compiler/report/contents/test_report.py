"""What the report says of mappers that failed."""

from dataclasses import replace

import pytest

from accnn.backend.load import load_architecture
from accnn.compiler.report.contents.report import fallback_note, tiles_note
from accnn.compiler.report.table import mapping_line
from accnn.ir.graph_schedule import SolveStatus
from accnn.ir.proof import Scope
from accnn.ir.report import OperatorReport
from accnn.passes.mapping.mapper import MappingStatus
from tests.flow import compile_graph
from tests.networks import residual_network


def test_a_fallback_is_noted_with_its_operator_and_cause():
    module = compile_graph(*residual_network(), "edge-1m").module
    first, *others = module.mappings
    failed = replace(first, status=MappingStatus.FALLBACK.value, note="no mapping: salsa")

    (note,) = fallback_note(replace(module, mappings=(failed, *others)))

    assert fallback_note(module) == ()
    assert note.startswith(
        f"1 of {len(module.mappings)} operators have the loop nest of a fallback"
    )
    assert f"%{first.operator}: no mapping: salsa" in note


def test_one_line_tells_mappers_proofs_fallbacks_and_the_largest_gap():
    operators = (
        OperatorReport(
            name="a",
            kind="conv2d",
            mapper="cosa",
            status=SolveStatus.OPTIMAL,
            bound=1,
            scope=Scope.EVEN_NESTS,
            gap=0.004,
        ),
        OperatorReport(
            name="b",
            kind="conv2d",
            mapper="cosa",
            status=SolveStatus.FEASIBLE,
            bound=1,
            scope=Scope.EVEN_NESTS,
            gap=0.06,
        ),
        OperatorReport(name="c", kind="conv2d", mapper="cosa", status=SolveStatus.FALLBACK),
        OperatorReport(name="d", kind="add"),
    )

    assert mapping_line(operators) == (
        "loop nests: 3 by cosa; 1 proven optimal among even nests, these extents; 1 by a fallback; "
        "largest gap 6.0% in the cost model, to even nests, these extents; 1 without a bound"
    )
    assert mapping_line(operators[2:]) == (
        "loop nests: 1 by cosa; 0 proven optimal; 1 by a fallback; 1 without a bound"
    )
    assert mapping_line(operators[:1]) == (
        "loop nests: 1 by cosa; 1 proven optimal among even nests, these extents; "
        "largest gap 0.4% in the cost model, to even nests, these extents"
    )


@pytest.mark.parametrize(
    ("tiles", "arch", "is_told"),
    [
        ("flexer", "simba", True),
        ("flexer-across", "simba", True),
        ("flexer", "flexer-arch5", False),
        ("static", "simba", False),
    ],
)
def test_tiles_that_cannot_be_reordered_are_told(tiles: str, arch: str, is_told: bool):
    notes = tiles_note(tiles, load_architecture(arch))

    assert len(notes) == is_told
    assert all(f"on {arch} they go around it" in note for note in notes)
