"""The order in which operations are issued."""

from accnn.passes.scheduling.static.issue_order import Turn, issue_order

from .test_static import product


def test_one_npu_keeps_the_order_of_the_nest_and_finishes_at_once():
    graph = product(2, 3)

    assert issue_order(graph, 1) == (
        *(Turn(0, ops) for ops in ((0,), (1,), (2, 6))),
        *(Turn(0, ops) for ops in ((3,), (4,), (5, 7))),
    )


def test_accumulations_are_dealt_out_whole():
    order = issue_order(product(5, 2), 4)

    home: dict[int, set[int]] = {}
    for turn in order:
        home.setdefault(turn.ops[0] // 2, set()).add(turn.npu)
    assert sorted(number for turn in order for number in turn.ops) == list(range(15))
    assert [home[chain] for chain in range(5)] == [{0}, {1}, {2}, {3}, {0}]
    assert [turn.npu for turn in order[:4]] == [0, 1, 2, 3]
    assert [turn.ops for turn in order[4:8]] == [(1, 10), (3, 11), (5, 12), (7, 13)]
