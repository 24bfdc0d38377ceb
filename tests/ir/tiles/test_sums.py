"""What a tile of partial sums holds, from its first product until somebody has taken the sums."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accnn.ir.errors import VerifyError
from accnn.ir.isa.instructions import Unit
from accnn.ir.tiles.contents import NEVER
from accnn.ir.tiles.events import EventKind
from accnn.ir.tiles.graph import Range
from accnn.ir.tiles.sums import TileSums
from tests.ir.tiles.test_schedule import ACC, event, graph, place

HERE = place(ACC, 0, 0, 9)


def part(columns: Range) -> tuple[Range, ...]:
    """Return some columns of the accumulators ``N G K P Q``."""
    return (*(Range(0, 1),) * 4, columns)


ALL, FIRST, LAST = part(Range(0, 16)), part(Range(0, 8)), part(Range(8, 16))


def added(*parts: tuple[Range, ...]) -> TileSums:
    """Return sums after products have been added to some parts, ten cycles each."""
    sums = TileSums(graph())
    for number, where in enumerate(parts):
        made = event(EventKind.COMPUTE, 0, Unit.MX, 10 * number, clear=True)
        sums.add(HERE, where, made)
    return sums


def test_sums_are_there_when_every_part_is() -> None:
    assert added(ALL).ready(HERE) == 10
    assert added(FIRST).ready(HERE) == NEVER
    assert added(FIRST, LAST).ready(HERE) == 20


def test_sums_that_were_taken_are_no_longer_there() -> None:
    sums = added(ALL)
    assert sums.spill(HERE, 10, 20)

    sums.finish(HERE)

    assert sums.ready(HERE) == NEVER
    assert not sums.spill(HERE, 30, 40)


def test_sums_leave_when_they_are_there_and_come_back_when_they_have_left() -> None:
    sums = added(ALL)

    assert not sums.spill(HERE, 9, 19)
    assert sums.spill(HERE, 10, 20)
    assert not sums.retrieve(HERE, 19, 29)
    assert sums.retrieve(HERE, 20, 30)
    assert sums.ready(HERE) == 30


def test_what_was_added_since_they_left_makes_them_stale() -> None:
    sums = added(ALL)
    assert sums.spill(HERE, 10, 20)
    sums.add(HERE, ALL, event(EventKind.COMPUTE, 1, Unit.MX, 20))

    assert not sums.retrieve(HERE, 40, 50)


def test_only_what_was_cleared_is_added_to() -> None:
    again = event(EventKind.COMPUTE, 1, Unit.MX, 10)
    added(FIRST).add(HERE, FIRST, again)

    with pytest.raises(VerifyError, match="not cleared"):
        added(FIRST).add(HERE, LAST, again)
    with pytest.raises(VerifyError, match="holds sums"):
        added(FIRST).add(HERE, FIRST, event(EventKind.COMPUTE, 1, Unit.MX, 10, clear=True))


def test_what_another_array_added_to_a_part_must_be_there() -> None:
    mine = event(EventKind.COMPUTE, 1, Unit.MX, 15)
    theirs = replace(mine, index=1)

    added(FIRST, LAST).add(HERE, ALL, mine)  # in turn with what it has itself begun
    added(FIRST, LAST).add(HERE, ALL, replace(theirs, start=20))
    added(FIRST, LAST).add(HERE, FIRST, theirs)
    with pytest.raises(VerifyError, match="while it is not there"):
        added(FIRST, LAST).add(HERE, LAST, theirs)
    with pytest.raises(VerifyError, match="while it is not there"):
        added(FIRST, LAST).add(HERE, ALL, theirs)  # the first half is


def test_of_a_part_that_left_only_that_comes_back() -> None:
    sums = added(FIRST)

    assert sums.spill(HERE, 10, 20)
    assert sums.retrieve(HERE, 20, 30)
    assert sums.ready(HERE) == NEVER
    sums.add(HERE, LAST, event(EventKind.COMPUTE, 1, Unit.MX, 30, clear=True))
    assert sums.ready(HERE) == 40


def test_what_nobody_added_to_neither_leaves_nor_comes_back() -> None:
    sums = TileSums(graph())

    assert sums.ready(HERE) == NEVER
    assert not sums.spill(HERE, 10, 20)
    assert not sums.retrieve(HERE, 20, 30)


ADDS = st.tuples(st.sampled_from([ALL, FIRST, LAST]), st.booleans(), st.integers(0, 1))
MOVES = st.sampled_from(["spill", "retrieve"])


def followed(steps: list[tuple[tuple[Range, ...], bool, int] | str], *, halved: bool) -> list[str]:
    """Return what becomes of sums from step to step, as far as no rule is broken.

    Args:
        steps: What is added, and what else is done, ten cycles apart; additions take 15.
        halved: Whether what is added to as a whole is added to half by half.
    """
    sums, found = TileSums(graph()), list[str]()
    for number, step in enumerate(steps):
        start = 10 * number
        if isinstance(step, str):
            move = sums.spill if step == "spill" else sums.retrieve
            found.append(f"{step} {move(HERE, start, start + 15)}")
        else:
            part, clear, npu = step
            made = event(EventKind.COMPUTE, 1, Unit.MX, start, clear=clear)
            try:
                for item in (FIRST, LAST) if halved and part == ALL else (part,):
                    sums.add(HERE, item, replace(made, index=npu, end=start + 15))
            except VerifyError:  # each half may break a rule of its own
                return [*found, "refused"]
        found.append(str(sums.ready(HERE)))
    return found


@given(st.lists(ADDS | MOVES, max_size=8))
def test_a_tile_is_followed_like_its_halves(
    steps: list[tuple[tuple[Range, ...], bool, int] | str],
) -> None:
    assert followed(steps, halved=False) == followed(steps, halved=True)
