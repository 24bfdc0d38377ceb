"""What holds for every clean-up pass on every valid graph."""

import pytest
from hypothesis import given, settings

from accnn.ir.module import Module
from accnn.passes.base import Context
from accnn.passes.graph.eliminate_dead import EliminateDead
from accnn.passes.graph.fold_layout import FoldLayout
from accnn.passes.graph.merge_duplicates import MergeDuplicates
from accnn.passes.graph.remove_identities import RemoveIdentities

from ...strategies import graphs

CLEAN_UPS = (EliminateDead(), RemoveIdentities(), MergeDuplicates(), FoldLayout())


@pytest.mark.parametrize("item", CLEAN_UPS, ids=lambda item: item.name)
def test_the_graph_stays_valid_and_a_second_run_changes_nothing(item) -> None:
    @settings(max_examples=40, deadline=None, database=None)
    @given(graphs())
    def run(graph) -> None:
        once = item.run(Module(graph=graph), Context())

        once.verify()
        assert once.graph.outputs == graph.outputs
        assert [once.graph.types[name] for name in graph.outputs] == [
            graph.types[name] for name in graph.outputs
        ]
        assert item.run(once, Context()) is once

    run()
