"""What measured groups tell of others is judged by trying all sets of them."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accnn.passes.scheduling.fusion.experience import Experience, Span

SPANS = st.tuples(st.integers(0, 7), st.integers(1, 4)).map(lambda item: (item[0], sum(item)))
MEASURED = st.dictionaries(SPANS, st.integers(-50, 50), max_size=6)


def experience_of(measured: dict[Span, int]) -> Experience:
    found = Experience()
    for span, more in measured.items():
        found.note(span, 100.0, 100.0 + more)
    return found


def are_disjoint(spans: tuple[Span, ...]) -> bool:
    return all(one[1] <= other[0] or other[1] <= one[0] for one, other in combinations(spans, 2))


@given(MEASURED, SPANS)
def test_what_disjoint_groups_inside_took_longer_is_added(measured: dict[Span, int], asked: Span):
    inside = [
        span for span in measured if asked[0] <= span[0] and span[1] <= asked[1] and span != asked
    ]
    sets = (some for size in range(len(inside) + 1) for some in combinations(inside, size))
    most = max(sum(map(measured.__getitem__, some)) for some in sets if are_disjoint(some))

    foreseen = experience_of(measured).foreseen(asked, 1000.0)

    assert foreseen == pytest.approx(1000.0 + 0.9 * most)


def test_of_several_heights_the_fastest_counts():
    found = experience_of({(2, 4): 40})
    found.note((2, 4), 100.0, 110.0)
    found.note((2, 4), 100.0, 130.0)

    assert found.foreseen((1, 4), 200.0) == pytest.approx(209.0)
    assert found.foreseen((2, 4), 200.0) == 200.0


@pytest.mark.parametrize(
    ("ratios", "share"),
    [
        ([0.95] * 9, 0.9),
        ([0.95] * 10, 0.95),
        ([0.5, 0.5] + [0.95] * 8, 0.95),
        ([0.5] * 3 + [0.95] * 7, 0.9),
        ([1.05] * 10, 1.0),
    ],
)
def test_most_groups_take_what_counts_or_more(ratios: list[float], share: float):
    """That is little until ten were measured, and never more than is foreseen."""
    found = Experience()
    for number, ratio in enumerate(ratios):
        found.note((2 * number, 2 * number + 2), 100.0, 100.0 * ratio)

    assert found.share == share
