"""Tables of fused networks: which rows they have, and where they stand in the document."""

from dataclasses import replace

import pytest

from accnn.backend.arch_tables import dump_architecture
from accnn.backend.load import load_architecture, parse_architecture
from accnn.ir.arch import Architecture
from accnn.passes.scheduling.fusion import Fuse
from benchmarks.fusion import (
    DOCS,
    DOUBLED,
    TABLES,
    Row,
    doubled_markdown,
    markdown,
    with_double_weights,
    with_tables,
)

ROW = Row(
    network="vgg16",
    arch="simba",
    fuse="off",
    groups=0,
    offchip_bytes=2_000_000,
    bound_bytes=1_600_000,
    compulsory_bytes=1_000_000,
    cycles=3_000_000,
    cycles_lower_bound=1_500_000,
    energy_uj=2000.0,
    plan_seconds=1.0,
    verified=True,
)
MARKS = (*TABLES, DOUBLED)
TEXT = "".join(f"a\n<!-- {name} -->\nold\n<!-- end of {name} -->\nb\n" for name in MARKS)


def measured(network: str, verified: bool = True) -> list[Row]:
    return [replace(ROW, network=network, fuse=item.value, verified=verified) for item in Fuse]


def test_a_row_has_all_that_may_be_fused() -> None:
    table = markdown(measured("vgg16"))

    row = (
        "| vgg16 | simba | 2.0 | 2.0 | 2.0 | 1.6 | 1.0 "
        "| 3.00 | 3.00 | 3.00 | 1.50 | 2.00 | 2.00 | 1 | yes |"
    )
    assert table.splitlines()[2:] == [row]
    assert "| **no** |" in markdown(measured("vgg16", verified=False))


@pytest.mark.parametrize("missing", range(len(Fuse)))
def test_networks_that_are_not_measured_in_full_are_left_out(missing: int) -> None:
    rows = measured("vgg16")

    assert markdown(rows[:missing] + rows[missing + 1 :]) == markdown([])


def test_other_networks_stand_in_a_table_of_their_own() -> None:
    first, second = measured("vgg16"), measured("yolov2")

    text = with_tables(TEXT, [*second, *first])

    one, other, doubled = (f"<!-- {name} -->\n" for name in MARKS)
    assert one + markdown(first) in text
    assert other + markdown(second) in text
    assert doubled + doubled_markdown([]) in text
    assert "old" not in text
    assert text.count("a\n<!--") == text.count("-->\nb\n") == 3


@pytest.mark.parametrize(
    ("name", "level", "capacity"), [("simba", "wb", 8192), ("edge-1m", "gb", 2**21)]
)
def test_the_memory_that_weights_come_to_is_doubled(name: str, level: str, capacity: int) -> None:
    arch = load_architecture(name)

    machine = with_double_weights(arch)

    def others(of: Architecture) -> list[object]:
        return [item for item in of.levels if item.name != level]

    machine.verify()
    assert machine.level(level).capacity == capacity
    assert others(machine) == others(arch)
    assert parse_architecture(dump_architecture(machine)) == machine
    assert machine.name == f"{name}-2x-{level}"


def test_a_larger_memory_stands_beside_the_usual_one() -> None:
    usual = replace(ROW, fuse="groups")
    doubled = replace(usual, arch="simba-2x-wb", offchip_bytes=1_700_000, cycles=2_000_000)

    row = "| vgg16 | simba-2x-wb | 2.0 | 1.7 | 1.0 | 3.00 | 2.00 | 1.50 | yes |"
    assert doubled_markdown([usual, doubled]).splitlines()[2:] == [row]
    assert doubled_markdown([doubled]) == doubled_markdown([usual]) == doubled_markdown([])


def test_the_document_has_all() -> None:
    text = DOCS.read_text(encoding="utf-8")

    for name in MARKS:
        assert text.count(f"<!-- {name} -->") == text.count(f"<!-- end of {name} -->") == 1
