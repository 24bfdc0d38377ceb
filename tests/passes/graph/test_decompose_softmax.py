import numpy as np
import pytest

from accnn.ir.resources import Constants
from accnn.ir.text.parser import parse_module
from accnn.passes.graph.decompose_softmax import DecomposeSoftmax
from accnn.passes.manager import run_pipeline
from accnn.passes.pipeline import Pipeline
from accnn.runtime_sim.reference import run

TEXT = """graph net {{
  input %x : f32<2x3x5>
  %y = softmax(%x) {{axis = {axis}}} : f32<2x3x5>
  return %y
}}
"""


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_means_the_same(axis: int):
    before = parse_module(TEXT.format(axis=axis))
    x = (5 * np.random.default_rng(axis).standard_normal((2, 3, 5))).astype(np.float32)

    after = run_pipeline(Pipeline((DecomposeSoftmax(),)), before).module

    expected = run(before.graph, Constants({}), {"x": x})["y"]
    found = run(after.graph, Constants({}), {"x": x})["y"]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-12)


def test_leaves_a_network_without_softmax_as_it_is():
    module = parse_module(TEXT.format(axis=1).replace("softmax(%x) {axis = 1}", "relu(%x)"))

    assert run_pipeline(Pipeline((DecomposeSoftmax(),)), module).module is module
