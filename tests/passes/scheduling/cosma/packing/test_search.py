"""The search in plain Python on few blocks, against all orders, without first fit before it."""

import numpy as np
import pytest

from accnn.passes.scheduling.cosma.packing import exact
from accnn.passes.scheduling.cosma.packing.exact import pack
from accnn.passes.scheduling.cosma.packing.search import _Search, pack_by_search
from accnn.passes.scheduling.engine.blocks import Block, peak_bytes
from tests.passes.scheduling.cosma.packing.test_deep import UNPACKABLE, unpackable
from tests.passes.scheduling.cosma.packing.test_kernel import cut, drawn, is_right, lowest
from tests.thinned import examples, thinned


@pytest.mark.parametrize("first", [*thinned(range(0, 60, 20), one_in=3)])
def test_the_search_finds_what_some_order_finds(first: int):
    for seed in range(first, first + 20):
        blocks = drawn(seed)
        for budget in (peak_bytes(blocks), peak_bytes(blocks) + 1):
            addresses, proven = pack_by_search(blocks, budget, nodes=3000)

            assert proven
            assert (addresses is not None) == lowest(blocks, budget)
            assert addresses is None or is_right(blocks, addresses, budget)


def test_pieces_of_a_rectangle_are_never_denied():
    for seed in range(60):
        blocks, height = cut(seed)
        addresses, proven = pack_by_search(blocks, height, nodes=1000)

        assert addresses is not None or not proven
        assert addresses is None or is_right(blocks, addresses, height)


def test_what_fits_is_not_denied_where_a_part_has_failed_behind_another():
    blocks = [
        Block(first=int(first), last=int(last), bytes=int(size))
        for first, last, size in ["574", "472", "023", "341", "342", "441", "003", "133"]
    ]

    addresses, proven = pack_by_search(blocks, 6, nodes=2000)

    assert proven
    assert addresses is not None and is_right(blocks, addresses, 6)


@pytest.mark.parametrize("budget", list(UNPACKABLE))
def test_with_too_few_nodes_nothing_is_claimed(budget: int):
    blocks = unpackable(budget)

    answers = [pack_by_search(blocks, budget, nodes=nodes) for nodes in (0, 1, 4, 20_000)]

    assert answers == [(None, False), (None, False), (None, False), (None, True)]


class Watched(_Search):
    """A search that is asked after each failure whether all is as before."""

    def _solve(self, members, floor):
        before = self._placed.copy(), self._below[members], self._tops.copy(), self._left.copy()
        solved = super()._solve(members, floor)
        after = self._placed, self._below[members], self._tops, self._left
        assert solved or all((was == now).all() for was, now in zip(before, after, strict=True))
        return solved


def test_what_fails_leaves_nothing_behind():
    for seed in range(30):
        for blocks in (drawn(seed), cut(seed)[0]):
            Watched(blocks, peak_bytes(blocks)).run(400)


def test_what_the_search_leaves_open_the_integer_program_answers(monkeypatch):
    monkeypatch.setattr(exact, "pack_greedily", lambda *given: None)
    monkeypatch.setattr(exact, "pack_by_search", lambda *given, nodes: (None, False))
    for seed in range(examples(12)):
        blocks = drawn(seed)
        budget = peak_bytes(blocks)

        addresses, proven = pack(blocks, budget, deep=0)

        assert proven
        assert (addresses is not None) == lowest(blocks, budget)
        assert addresses is None or is_right(blocks, addresses, budget)


def test_what_is_taken_out_again_leaves_nothing_behind():
    for seed in range(30):
        blocks, height = cut(seed)
        search, untouched = _Search(blocks, height), _Search(blocks, height)
        if not search.run(1000):
            continue
        search._remove(np.arange(len(blocks)))

        for name in ("_placed", "_below", "_tops", "_left"):
            assert (getattr(search, name) == getattr(untouched, name)).all(), name
