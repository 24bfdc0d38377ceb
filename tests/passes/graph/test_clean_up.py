"""What holds for every clean-up pass on every valid graph."""

import numpy as np
import pytest
from hypothesis import given, settings

from accnn.ir.module import Module
from accnn.ir.resources import Constants
from accnn.passes.base import Context
from accnn.passes.graph.eliminate_dead import EliminateDead
from accnn.passes.graph.fold_layout import FoldLayout
from accnn.passes.graph.merge_duplicates import MergeDuplicates
from accnn.passes.graph.remove_identities import RemoveIdentities
from accnn.runtime_sim.reference.run import run

from ...strategies import arrays, graphs

CLEAN_UPS = (EliminateDead(), RemoveIdentities(), MergeDuplicates(), FoldLayout())


@pytest.mark.parametrize("item", CLEAN_UPS, ids=lambda item: item.name)
def test_the_meaning_stays_and_a_second_run_changes_nothing(item) -> None:
    @settings(max_examples=40, deadline=None, database=None)
    @given(graphs())
    def check(graph) -> None:
        before = Module(graph=graph, constants=Constants(data(graph.constants)))

        after = item.run(before, Context())

        after.verify()
        assert after.graph.inputs == graph.inputs
        assert after.graph.outputs == graph.outputs
        assert item.run(after, Context()) is after
        expected, actual = evaluate(before), evaluate(after)
        for name in graph.outputs:
            np.testing.assert_array_equal(actual[name], expected[name])

    check()


def data(values) -> dict:
    return arrays((value.name, value.type) for value in values)


def evaluate(module: Module) -> dict:
    return run(module.graph, module.constants, data(module.graph.inputs))
