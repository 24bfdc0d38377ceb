"""Which combinations of values remain tests of the default suite."""

from itertools import combinations, product

import pytest

from tests.thinned import examples, thinned

AXES = ("ab", (1, 2, 3, 4), (False, True))


def test_all_combinations_are_there_once_and_some_by_default():
    found = [*thinned(*AXES)]
    quick = [item.values for item in found if not item.marks]

    assert [item.values for item in found] == [*product(*AXES)]
    assert len(quick) == len(found) / 2
    for one, two in combinations(range(len(AXES)), 2):
        pairs = {(values[one], values[two]) for values in quick}
        assert pairs == set(product(AXES[one], AXES[two]))


def test_one_in_three():
    found = [*thinned((1, 2, 3), (4, 5, 6), one_in=3)]

    assert [item.values for item in found if not item.marks] == [(1, 4), (2, 6), (3, 5)]


def test_a_third_of_the_examples_and_one_at_least(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("ACCNN_ALL_EXAMPLES", raising=False)
    assert [examples(count) for count in (1, 2, 5, 40)] == [1, 1, 2, 14]

    monkeypatch.setenv("ACCNN_ALL_EXAMPLES", "1")
    assert examples(40) == 40
