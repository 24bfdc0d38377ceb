from collections.abc import Callable

import pytest

from accnn.ir.graph import Graph
from accnn.ir.ops import parts_of
from accnn.models.graphs import (
    HUMAN_DESIGNED,
    SEARCHED,
    deeplabv3,
    densenet121,
    fcn,
    lraspp,
    nasnet_a,
    pnasnet5,
    r2plus1d,
    resnet50,
    s3d,
    transformer,
    vit,
)


@pytest.mark.parametrize("build", [*HUMAN_DESIGNED, *SEARCHED])
def test_graphs_are_valid_and_named_for_their_builder(build: Callable[[], Graph]):
    graph = build()

    graph.verify()
    assert graph.name == build.__name__
    assert all(value.type.dtype.bytes == 1 for op in graph.ops for value in op.results)


@pytest.mark.parametrize("build", [*HUMAN_DESIGNED, *SEARCHED])
def test_concatenations_say_along_which_axis(build: Callable[[], Graph]):
    graph = build()
    joins = [op for op in graph.ops if op.kind == "concat"]

    for op in joins:
        sizes = [part.domain[1].size for part in parts_of(op, graph.types)]
        assert sum(sizes) == graph.types[op.name].elements // op.result.type.shape[0]


@pytest.mark.parametrize(
    ("build", "millions"),
    [
        (resnet50, 25.5),
        (densenet121, 8.0),
        (r2plus1d, 31.5),
        (s3d, 8.3),
        (fcn, 32.9),
        (deeplabv3, 39.6),
        (lraspp, 3.2),
        (vit, 86.6),
        (transformer, 44.1),
        (nasnet_a, 5.3),
        (pnasnet5, 5.1),
    ],
)
def test_parameters_are_as_many_as_published(build: Callable[[], Graph], millions: float):
    graph = build()

    count = sum(value.type.elements for value in graph.constants)

    assert count == pytest.approx(millions * 1e6, rel=0.01)
