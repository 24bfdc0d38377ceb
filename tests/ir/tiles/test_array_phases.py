"""Fill, compute and drain on the MAC array: what the verifier accepts, and what it names."""

from dataclasses import replace

import pytest

from accnn.ir.errors import VerifyError
from accnn.ir.isa.instructions import Unit
from accnn.ir.tiles.events import Event, EventKind, TileEvents
from accnn.ir.tiles.graph import TileGraph
from accnn.ir.tiles.occupancy import verify_exclusive

FIRST = Event(
    kind=EventKind.COMPUTE, subject=0, unit=Unit.MX, index=0, start=0, end=20, fill=4, drain=6
)
SECOND = replace(FIRST, subject=1, start=4, end=30, fill=10, drain=6)


def verify(*events: Event) -> None:
    graph = TileGraph(operators=("op",), tiles=(), ops=())
    verify_exclusive(TileEvents(graph=graph, events=events, placements=()))


def test_the_next_one_fills_while_the_array_computes_and_drains():
    verify(FIRST, SECOND)

    assert (SECOND.begin, SECOND.done) == (14, 24)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"start": 3, "fill": 11}, "starts at 3 on mx0, where another waits to begin at 4"),
        ({"fill": 9}, r"runs 13\.\.24 on mx0, which is busy until 14"),
        ({"end": 19, "drain": 0}, "ends at 19 on mx0, before the one ahead of it at 20"),
        ({"end": 13}, r"runs 4\.\.13, and computes 14\.\.7"),
        ({"drain": -1}, "and computes"),
        ({"fill": -1}, "and computes"),
    ],
)
def test_what_the_array_cannot_do_is_named(change: dict[str, int], message: str):
    with pytest.raises(VerifyError, match=message):
        verify(FIRST, replace(SECOND, **change))


def test_only_the_array_fills():
    with pytest.raises(VerifyError, match="fills or drains, which vx cannot"):
        verify(replace(FIRST, unit=Unit.VX))


def test_other_engines_do_one_thing_at_a_time():
    plain = replace(FIRST, unit=Unit.DMA, fill=0, drain=0)

    with pytest.raises(VerifyError, match="dma0"):
        verify(plain, replace(plain, start=19, end=40))
