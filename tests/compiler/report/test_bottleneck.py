"""The sentence on what holds an operator up."""

import pytest

from accnn.compiler.report.binding import Binding, BusyShare
from accnn.compiler.report.bottleneck import bottleneck
from accnn.ir.isa.instructions import Unit
from accnn.ir.report import OperatorReport

BUSY = (BusyShare(Unit.MX, 0.8),)


def operator(cycles: int | None, bound: int | None, use: float | None) -> OperatorReport:
    return OperatorReport(
        name="y", kind="conv2d", cycles=cycles, cycles_lower_bound=bound, utilization=use
    )


@pytest.mark.parametrize(("use", "which"), [(0.5, "MACs"), (0.1, "bytes off chip")])
def test_a_bound_is_named_with_what_it_is_of(use: float, which: str) -> None:
    text = bottleneck(operator(4000, 2000, use), Binding.COMPUTE, BUSY)

    assert text == (
        "Most of the time the MAC array works. "
        f"It takes 2.00 times the 2,000 cycles that its {which} take at least."
    )


def test_without_a_bound_only_the_binding_is_told() -> None:
    assert bottleneck(operator(4000, None, None), Binding.DMA, BUSY) == (
        "Most of the time data moves between off-chip memory and the chip."
    )


def test_nothing_is_told_where_nothing_is_known() -> None:
    assert bottleneck(operator(4000, 2000, 0.5), Binding.UNKNOWN, ()) == ""
