"""Gaps of engines, against a list of cycles."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from accnn.passes.scheduling.engine.engines import Engine

JOBS = st.lists(st.tuples(st.integers(0, 20), st.integers(1, 4), st.booleans()), max_size=40)


@settings(max_examples=300, deadline=None)
@given(jobs=JOBS)
def test_work_goes_into_the_first_gap_that_is_long_enough(jobs: list[tuple[int, int, bool]]):
    engine, busy = Engine(), [False] * 400

    for ready, cycles, is_done in jobs:
        first = next(start for start in range(ready, 400) if not any(busy[start : start + cycles]))
        assert engine.first_gap(ready, cycles) == first
        if not is_done:
            continue
        engine.occupy(first, cycles)
        busy[first : first + cycles] = [True] * cycles

    spans = list(zip(engine.starts, engine.ends, strict=True))
    assert all(before[1] < after[0] for before, after in pairwise(spans))
    assert sum(end - start for start, end in spans) == sum(busy)
