"""The reference of architecture files is that of the schema."""

from pathlib import Path

from accnn.backend.arch_manual import architecture_manual
from accnn.ir.arch import (
    Architecture,
    Dma,
    Dram,
    Fanout,
    FanoutGroup,
    MemoryLevel,
    MeshNetwork,
    Npu,
    VectorUnit,
)
from accnn.ir.codec.schema import columns

PAGE = Path(__file__).parents[2] / "docs" / "architecture-file.md"
KINDS = (Architecture, MemoryLevel, Fanout, FanoutGroup, Npu, VectorUnit, Dma, MeshNetwork, Dram)


def rows() -> list[list[str]]:
    lines = architecture_manual().splitlines()
    return [line.strip("| ").split(" | ") for line in lines if line.startswith("| `")]


def test_the_page_is_up_to_date() -> None:
    """Else: ``python -m accnn.backend.arch_manual > docs/architecture-file.md``."""
    assert PAGE.read_text() == architecture_manual()


def test_every_field_has_a_row_that_says_what_it_means() -> None:
    found = rows()
    fields = sum(len(columns(kind)) for kind in KINDS)

    assert len(found) == fields + 1  # a description is for people only
    assert [row for row in found if len(row) != 4 or not row[3].strip()] == []


def test_ranges_and_defaults_are_those_of_the_classes() -> None:
    found = {row[0]: row[1:3] for row in rows()}

    assert found["`lanes`"] == ["integer, 1 to 2^40", "`16`"]
    assert found["`accumulator_bits`"] == ["integer, 8 to 64", "`32`"]
    assert found["`precision`"] == ['`"int8"` `"fp32"`', '`"int8"`']
    assert found["`holds`"][1] == "required"
    assert found["`read_bandwidth`"][1] == "unbounded"
