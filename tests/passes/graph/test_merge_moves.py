"""Merged moves move the same elements to the same places."""

import math
from collections.abc import Sequence

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from accnn.ir.graph import Attr, Graph
from accnn.ir.module import Module
from accnn.ir.resources import Constants
from accnn.passes.graph.merge_moves import MergeMoves
from accnn.passes.manager import run_pipeline
from accnn.passes.pipeline import Pipeline
from accnn.runtime_sim.reference.run import run
from tests.inputs import random_inputs
from tests.networks import NetworkBuilder
from tests.thinned import examples

Move = tuple[str, dict[str, Attr]]


def moved(shape: tuple[int, ...], moves: Sequence[Move]) -> Graph:
    """Return a network of moves, one after the other."""
    net = NetworkBuilder()
    name = net.input("x", shape)
    for number, (kind, attrs) in enumerate(moves):
        name = net.op(kind, (name,), f"t{number}", attrs)
    return net.build(name)


def merged(graph: Graph) -> Graph:
    """Return the network with moves merged, after asking whether it makes the same."""
    module = Module(graph=graph, constants=Constants({}))
    found = run_pipeline(Pipeline((MergeMoves(),)), module).module.graph
    inputs = random_inputs(graph, 0)
    for name in graph.outputs:
        before, after = (run(item, Constants({}), inputs)[name] for item in (graph, found))
        assert before.shape == after.shape
        assert np.array_equal(before, after)
    return found


def reshape(*shape: int) -> Move:
    return "reshape", {"shape": shape}


def transpose(*perm: int) -> Move:
    return "transpose", {"perm": perm}


SPLIT_HEADS = [reshape(6, 2, 4), transpose(1, 0, 2), reshape(12, 4, 1, 1)]
SPACE_TO_DEPTH = [reshape(3, 2, 4, 2), transpose(1, 3, 0, 2), reshape(4, 3, 4)]


@pytest.mark.parametrize("moves", [SPLIT_HEADS, SPACE_TO_DEPTH, [*SPLIT_HEADS, reshape(2, 24)]])
def test_moves_in_a_row_become_one(moves: list[Move]):
    found = merged(moved((6, 8), moves))

    assert [op.kind for op in found.ops] == ["rearrange"]


def test_moves_that_bring_elements_back_become_a_reshape():
    back = [reshape(2, 6, 4), transpose(1, 0, 2), reshape(48)]

    found = merged(moved((6, 8), [*SPLIT_HEADS, *back]))

    assert [op.kind for op in found.ops] == ["reshape"]


def test_axes_that_do_not_split_evenly_are_not_merged():
    moves = [transpose(1, 0), reshape(4, 9), transpose(1, 0)]

    found = merged(moved((6, 6), moves))

    assert [op.kind for op in found.ops] == ["rearrange", "transpose"]


def test_what_others_read_remains():
    net = NetworkBuilder()
    a = net.op("reshape", (net.input("x", (6, 8)),), "a", {"shape": (6, 2, 4)})
    b = net.op("transpose", (a,), "b", {"perm": (1, 0, 2)})
    graph = net.build(net.op("reshape", (b,), "y", {"shape": (12, 4)}), a)

    assert [op.name for op in merged(graph).ops] == ["a", "y"]


@pytest.mark.parametrize(
    "move",
    [
        ("slice", {"shape": (6, 4), "starts": (0, 0), "steps": (1, 2)}),
        ("slice", {"shape": (6, 8), "starts": (0, 7), "steps": (1, -1)}),
        ("expand", {"shape": (2, 6, 8)}),
        ("tile", {"repeats": (1, 2)}),
    ],
)
def test_what_does_not_visit_each_element_once_in_order_remains(move: Move):
    graph = moved((6, 8), [transpose(1, 0), transpose(1, 0), move])

    assert [op.kind for op in merged(graph).ops] == ["reshape", move[0]]


def divided(draw: st.DrawFn, number: int) -> tuple[int, ...]:
    """Return some extents whose product is a number."""
    factors: list[int] = []
    while number > 1 and len(factors) < 4:
        factor = draw(st.sampled_from([n for n in range(2, number + 1) if number % n == 0]))
        factors.append(factor)
        number //= factor
    return tuple(factors) if number == 1 else (*factors, number)


@st.composite
def rows_of_moves(draw: st.DrawFn) -> Graph:
    """Return moves of 36, 48 or 60 elements."""
    size = draw(st.sampled_from([36, 48, 60]))
    shape = first = divided(draw, size)
    moves: list[Move] = []
    for _ in range(draw(st.integers(2, 6))):
        if draw(st.booleans()):
            perm = draw(st.permutations(range(len(shape))))
            moves.append(transpose(*perm))
            shape = tuple(shape[axis] for axis in perm)
        else:
            shape = draw(st.permutations(divided(draw, math.prod(shape))))
            moves.append(reshape(*shape))
    return moved(first, moves)


@settings(deadline=None, max_examples=examples(200))
@given(rows_of_moves())
def test_random_moves_make_the_same(graph: Graph):
    assert len(merged(graph).ops) <= len(graph.ops)


def test_moves_that_need_more_loops_than_an_instruction_has_remain():
    net = NetworkBuilder()
    a = net.op("reshape", (net.input("x", (8, 16)),), "a", {"shape": (2,) * 7})
    b = net.op("transpose", (a,), "b", {"perm": (6, 5, 4, 3, 2, 1, 0)})
    graph = net.build(net.op("reshape", (b,), "y", {"shape": (16, 8)}))

    assert [op.kind for op in merged(graph).ops] == ["reshape", "transpose", "reshape"]
