"""What holds an operator up."""

import pytest

from accnn.backend.load import load_architecture
from accnn.compiler.report.binding import (
    Binding,
    BusyShare,
    binding,
    simulated_shares,
    spelled_shares,
)
from accnn.ir.isa.instructions import Unit
from accnn.runtime_sim.result import Energy, OperatorAccount, UnitBusy

ARCH = load_architecture("flexer-arch5")  # 4 NPUs, 2 DMA channels


def account(*busy: tuple[Unit, int], cycles: int = 100) -> OperatorAccount:
    return OperatorAccount(
        name="a",
        first_cycle=50,
        last_cycle=50 + cycles,
        instructions=1,
        macs=0,
        busy=tuple(UnitBusy(unit, worked) for unit, worked in busy),
        off_chip=(),
        traffic=(),
        energy=Energy(),
    )


@pytest.mark.parametrize(
    ("busy", "why"),
    [
        (((Unit.MX, 300), (Unit.DMA, 100)), Binding.COMPUTE),
        (((Unit.MX, 300), (Unit.DMA, 180)), Binding.DMA),
        (((Unit.VX, 220),), Binding.VECTOR),
        (((Unit.ST, 390), (Unit.VX, 220)), Binding.MOVES),
        (((Unit.MX, 199),), Binding.WAITING),
        ((), Binding.UNKNOWN),
    ],
)
def test_the_busiest_kind_of_engine_binds(busy: tuple[tuple[Unit, int], ...], why: Binding):
    assert binding(simulated_shares(account(*busy), ARCH)) is why


def test_an_operator_of_no_time_is_bound_by_nothing():
    assert simulated_shares(account((Unit.MX, 0), cycles=0), ARCH) == ()


def test_shares_are_told_busiest_first():
    shares = simulated_shares(account((Unit.DMA, 100), (Unit.MX, 300)), ARCH)

    assert shares == (BusyShare(Unit.MX, 0.75), BusyShare(Unit.DMA, 0.5))
    assert spelled_shares(shares) == "mx 75%, dma 50%"
