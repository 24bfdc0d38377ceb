"""How long first and last tiles take, against memories that send one tile after the other."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from accnn.passes.analysis.batches.kernel.crossing import (
    Passages,
    Sendings,
    fill_crossings,
    fill_ends,
)
from tests.thinned import examples

CROSSINGS, BOUNDARIES, WAYS, NESTS = 4, 3, 2, 3
INTS = st.integers(0, 50)


def arrays(draw, values, *shape: int):
    count = int(np.prod(shape))
    return np.array(draw(st.lists(values, min_size=count, max_size=count))).reshape(shape)


@st.composite
def cases(draw):
    """Draw passages of all crossings, sendings, nests and elements."""
    drawn = sorted(draw(st.lists(st.integers(0, CROSSINGS - 1), max_size=6)))
    crossing = np.array([sorted(set(drawn)).index(item) for item in drawn], np.int64)
    passages = Passages(
        bits=arrays(draw, INTS, len(crossing), WAYS).astype(np.int64),
        boundary=arrays(draw, st.integers(0, BOUNDARIES - 1), len(crossing)).astype(np.int64),
        widths=arrays(draw, st.sampled_from([3.0, 8.0, 32.0]), len(crossing)).astype(float),
        crossing=crossing,
    )
    known = st.sampled_from([-1, *set(crossing.tolist())])
    count = draw(st.integers(0, 5))
    sendings = Sendings(
        memory=np.sort(arrays(draw, st.integers(0, 2), count)).astype(np.int64),
        operand=arrays(draw, st.integers(0, 2), count).astype(np.int64),
        crossing=arrays(draw, known, count).astype(np.int64),
        drains=arrays(draw, known, draw(st.integers(0, 3))).astype(np.int64),
    )
    which = arrays(draw, st.integers(0, WAYS - 1), NESTS).astype(np.int64)
    return passages, sendings, which, arrays(draw, INTS, BOUNDARIES, NESTS).astype(np.int64)


def times_of(passages: Passages, which, elements, nest: int) -> dict[int, float]:
    """Return how long each crossing takes one nest: as long as its slowest port."""
    found: dict[int, float] = {-1: 0.0}
    for at, crossing in enumerate(passages.crossing.tolist()):
        bits = int(passages.bits[at, which[nest]] * elements[passages.boundary[at], nest])
        found[crossing] = max(found.get(crossing, 0.0), bits / float(passages.widths[at]))
    return found


@settings(max_examples=examples(200), deadline=None)
@given(cases())
def test_a_memory_sends_a_tile_once_it_has_it_and_has_sent_the_one_before(case):
    passages, sendings, which, elements = case
    found = np.full((2, NESTS), np.nan)

    fill_ends(which, passages, sendings, elements, found)

    for nest in range(NESTS):
        times = times_of(passages, which, elements, nest)
        arrived, busy = dict.fromkeys(range(3), 0.0), dict.fromkeys(range(3), 0.0)
        columns = (sendings.memory, sendings.operand, sendings.crossing)
        steps = zip(*(item.tolist() for item in columns), strict=True)
        for memory, operand, crossing in steps:
            begins = max(busy[memory], arrived[operand])
            arrived[operand] = busy[memory] = begins + times[crossing]
        assert found[0, nest] == max(arrived.values())
        assert found[1, nest] == sum(times[crossing] for crossing in sendings.drains.tolist())


@settings(max_examples=examples(100), deadline=None)
@given(cases())
def test_a_crossing_takes_as_long_as_its_slowest_port(case):
    passages, _, which, elements = case
    found = np.zeros((NESTS, CROSSINGS))

    fill_crossings(which, passages, elements, found)

    for nest in range(NESTS):
        times = times_of(passages, which, elements, nest)
        assert found[nest].tolist() == [times.get(at, 0.0) for at in range(CROSSINGS)]
