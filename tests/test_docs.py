"""What the documents show works, and what they list is complete."""

import re
from pathlib import Path

import pytest

from accnn.backend.arch_errors import TABLES
from accnn.backend.load import parse_architecture
from accnn.ir import report
from accnn.ir.arch import Architecture, Dma, Fanout, FanoutGroup, MemoryLevel, Npu, VectorUnit
from accnn.ir.codec.schema import columns

ROOT = Path(__file__).parents[1]


def blocks(name: str, language: str) -> list[str]:
    text = (ROOT / name).read_text()
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def test_the_pass_of_the_ten_minutes_works() -> None:
    code = "\n".join(blocks("CONTRIBUTING.md", "python"))
    names: dict[str, object] = {"__name__": "contributing"}
    exec(compile(code, "CONTRIBUTING.md", "exec", dont_inherit=True), names)
    tests = [value for name, value in names.items() if name.startswith("test_")]

    assert len(tests) == 3
    for test in tests:
        assert callable(test)
        test()


@pytest.mark.parametrize("page", ["docs/architectures.md", "docs/numerics.md"])
def test_the_python_of_a_page_works(page: str) -> None:
    codes = blocks(page, "python")

    assert codes
    for code in codes:
        exec(compile(code, page, "exec", dont_inherit=True), {})


def test_the_files_of_the_architecture_page_load() -> None:
    smallest, npus, unequal = blocks("docs/architectures.md", "toml")
    two = smallest.replace('name = "mac"', 'name = "row"') + (
        '\n[[fanout]]\nname = "column"\nbelow = "gb"\nsize = 16\n'
    )

    assert parse_architecture(smallest).macs == 16
    assert len(parse_architecture(smallest + npus).npus) == 4
    arch = parse_architecture(two + unequal.replace("{ row = 16,", "{ row = 4,"))
    assert [arch.npu_macs(npu) for npu in arch.npus] == [256, 64]


def test_the_architecture_page_lists_every_key() -> None:
    text = (ROOT / "docs/architectures.md").read_text()
    kinds = (Architecture, MemoryLevel, Fanout, FanoutGroup, Npu, VectorUnit, Dma)
    fields = {column.name for kind in kinds for column in columns(kind)}
    keys = {"count", "description", *(TABLES.get(name, name) for name in fields)}

    assert [key for key in sorted(keys) if not re.search(rf"`{key}`|\[{key}\]", text)] == []


def test_the_report_page_lists_every_field() -> None:
    text = (ROOT / "docs/report.md").read_text()
    kinds = [getattr(report, name) for name in dir(report) if name != "Workload"]
    fields = {field for kind in kinds for field in getattr(kind, "__dataclass_fields__", {})}
    loops = set("RSPQCKNG")

    assert {"macs", "residences"} <= fields
    assert [name for name in sorted(fields - loops) if not re.search(rf"`{name}[\[`]", text)] == []
