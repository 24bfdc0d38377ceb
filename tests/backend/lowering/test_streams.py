"""Waits that follow from others are left out, and no order is lost."""

from hypothesis import given, settings
from hypothesis import strategies as st

from accnn.backend.lowering.streams import WaitFilter
from accnn.ir.tiles.hazards import Ticks


def test_what_another_wait_implies_is_left_out():
    waits = WaitFilter(3)
    assert waits.needed(0, {}) == {}
    assert waits.needed(1, {0: 1}) == {0: 1}

    assert waits.needed(2, {0: 1, 1: 1}) == {1: 1}


def test_what_the_own_queue_has_waited_for_is_left_out():
    waits = WaitFilter(2)
    waits.needed(0, {})
    waits.needed(1, {0: 1})

    assert waits.needed(1, {0: 1}) == {}


def test_unrelated_waits_stay():
    waits = WaitFilter(3)
    waits.needed(0, {})
    waits.needed(1, {})

    assert waits.needed(2, {0: 1, 1: 1}) == {0: 1, 1: 1}


@st.composite
def streams(draw):
    """Instructions with random waits for earlier ones, in an order in which they may run."""
    queues = draw(st.integers(2, 4))
    lengths = [0] * queues
    found: list[tuple[int, Ticks]] = []
    for _ in range(draw(st.integers(1, 30))):
        queue = draw(st.integers(0, queues - 1))
        waits = {
            other: draw(st.integers(1, lengths[other]))
            for other in range(queues)
            if other != queue and lengths[other] and draw(st.booleans())
        }
        found.append((queue, waits))
        lengths[queue] += 1
    return queues, found


def before(queues: int, stream: list[tuple[int, Ticks]]) -> list[frozenset[tuple[int, int]]]:
    """Return all that each instruction comes after, by walking the waits."""
    found: dict[tuple[int, int], frozenset[tuple[int, int]]] = {}
    lengths = [0] * queues
    for queue, waits in stream:
        earlier = [(queue, lengths[queue])] if lengths[queue] else []
        sources = [*earlier, *waits.items()]
        lengths[queue] += 1
        found[queue, lengths[queue]] = frozenset(sources).union(*(found[item] for item in sources))
    return list(found.values())


@settings(max_examples=100, deadline=None)
@given(streams())
def test_the_order_is_the_same_and_no_wait_too_many(drawn):
    queues, stream = drawn
    waits = WaitFilter(queues)
    fewer = [(queue, waits.needed(queue, wanted)) for queue, wanted in stream]

    assert before(queues, fewer) == before(queues, stream)
    for number, (queue, kept) in enumerate(fewer):
        for other in kept:
            less = {source: tick for source, tick in kept.items() if source != other}
            mutant = [*fewer[:number], (queue, less), *fewer[number + 1 :]]
            assert before(queues, mutant)[number] != before(queues, fewer)[number]
