"""Machines that no file of the catalogue is like: no accumulators, one memory for everything."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

import accnn
from accnn.backend.load import parse_architecture
from accnn.compiler.execute import QUICK
from accnn.ir.arch import Architecture, Fanout, MemoryLevel
from accnn.ir.report import VerificationStatus
from accnn.ir.workload import Operand
from accnn.passes.scheduling.fusion import Fuse
from tests.onnx_rows import convolutions_in_a_row
from tests.thinned import thinned

W, I, O = Operand.W, Operand.I, Operand.O  # noqa: E741 - the field's names
ROW = ((8, 16, 3, 1), (16, 32, 1, 1), (32, 8, 3, 1))
PAGE = Path(__file__).parents[2] / "docs" / "architectures.md"


def smallest() -> Architecture:
    """Return the machine of the manual: MACs beneath the scratchpad, and nothing between."""
    text = re.findall(r"^```toml\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)[0]
    return parse_architecture(text)


def one_memory() -> Architecture:
    """Return a machine whose array has one memory, for weights with addresses, inputs and sums."""
    off_chip = MemoryLevel(name="dram", holds=(W, I, O), capacity=None, read_bandwidth=4.0)
    return Architecture(
        name="one-memory",
        levels=(
            off_chip,
            MemoryLevel(name="gb", holds=(I, O), capacity=8192),
            MemoryLevel(name="rf", holds=(W, I, O), capacity=200),
        ),
        scratchpad="gb",
        fanouts=(Fanout(name="f", below="gb", size=4),),
    )


@pytest.mark.parametrize(
    ("plan", "scratchpad"),
    [
        *thinned(
            [("cosma", Fuse.OFF), ("cosma", Fuse.GROUPS), ("in-order", Fuse.OFF)],
            [None, 6000, 20_000],
        )
    ],
)
def test_sums_have_a_place_where_their_result_lies_in_the_scratchpad(
    plan: tuple[str, Fuse], scratchpad: int | None
) -> None:
    scheduler, fuse = plan
    options = replace(
        QUICK, scheduler=scheduler, fuse=fuse, scratchpad=scratchpad, verify="outputs"
    )
    result = accnn.compile(convolutions_in_a_row(*ROW, size=12), arch=smallest(), options=options)

    assert result.report.verification.status is VerificationStatus.VERIFIED
    plan = result.module.graph_schedule
    assert plan is not None
    if scratchpad is None:  # some result lies on chip while it is made
        assert plan.residences


@pytest.mark.parametrize("tiles", ["static", "static-across"])
def test_nothing_crosses_where_a_memory_holds_more_than_tiles_with_addresses(tiles: str) -> None:
    options = replace(QUICK, tiles=tiles, verify="outputs")
    result = accnn.compile(convolutions_in_a_row(*ROW, size=8), arch=one_memory(), options=options)

    assert result.report.verification.status is VerificationStatus.VERIFIED
