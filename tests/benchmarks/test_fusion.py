"""Tables of fused networks: which rows they have, and where they stand in the document."""

from dataclasses import replace

import pytest

from accnn.passes.scheduling.fusion import Fuse
from benchmarks.fusion import DOCS, TABLES, Row, markdown, with_tables

ROW = Row(
    network="vgg16",
    arch="simba",
    fuse="off",
    groups=0,
    offchip_bytes=2_000_000,
    compulsory_bytes=1_000_000,
    cycles=3_000_000,
    cycles_lower_bound=1_500_000,
    energy_uj=2000.0,
    plan_seconds=1.0,
    verified=True,
)
TEXT = "".join(f"a\n<!-- {name} -->\nold\n<!-- end of {name} -->\nb\n" for name in TABLES)


def measured(network: str, verified: bool = True) -> list[Row]:
    return [replace(ROW, network=network, fuse=item.value, verified=verified) for item in Fuse]


def test_a_row_has_all_that_may_be_fused() -> None:
    table = markdown(measured("vgg16"))

    row = (
        "| vgg16 | simba | 2.0 | 2.0 | 2.0 | 1.0 | 3.00 | 3.00 | 3.00 | 1.50 | 2.00 | 2.00 | yes |"
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

    one, other = (f"<!-- {name} -->\n" for name in TABLES)
    assert one + markdown(first) in text
    assert other + markdown(second) in text
    assert "old" not in text
    assert text.count("a\n<!--") == text.count("-->\nb\n") == 2


def test_the_document_has_both() -> None:
    text = DOCS.read_text(encoding="utf-8")

    for name in TABLES:
        assert text.count(f"<!-- {name} -->") == text.count(f"<!-- end of {name} -->") == 1
