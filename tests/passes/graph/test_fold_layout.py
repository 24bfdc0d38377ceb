import numpy as np

from accnn.ir.resources import Constants
from accnn.ir.text.parser import parse_module
from accnn.passes.graph.fold_layout import FoldLayout
from accnn.passes.manager import run_pipeline
from accnn.passes.pipeline import Pipeline

BEFORE = """graph net {
  input %x : f32<1x2>
  const %w : f32<2x3>
  %t = transpose(%w) {perm = [1, 0]} : f32<3x2>
  %r = reshape(%t) {shape = [2, 3]} : f32<2x3>
  %c = concat(%r, %w) {axis = 0} : f32<4x3>
  %u = transpose(%c) {perm = [1, 0]} : f32<3x4>
  %v = reshape(%u) {shape = [6, 2]} : f32<6x2>
  %y = dense(%x, %v) : f32<1x6>
  return %y
}
"""
WEIGHTS = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_computes_the_constant():
    module = parse_module(BEFORE, constants=Constants({"w": WEIGHTS}))

    after = run_pipeline(Pipeline((FoldLayout(),)), module).module

    joined = np.concatenate([WEIGHTS.T.reshape(2, 3), WEIGHTS])
    assert [op.name for op in after.graph.ops] == ["y"]
    assert [value.name for value in after.graph.constants] == ["v"]
    np.testing.assert_array_equal(after.constants["v"], joined.T.reshape(6, 2))


def test_running_twice_is_running_once():
    pipeline = Pipeline((FoldLayout(),))
    once = run_pipeline(pipeline, parse_module(BEFORE, constants=Constants({"w": WEIGHTS}))).module

    assert run_pipeline(pipeline, once).module is once


def test_folds_nothing_without_data(apply):
    assert apply("fold-layout", BEFORE) == BEFORE


def test_keeps_an_output_of_the_network(apply):
    text = """graph net {
  input %x : f32<1x2>
  const %w : f32<2x3>
  %t = transpose(%w) {perm = [1, 0]} : f32<3x2>
  return %t
}
"""

    assert apply("fold-layout", text, Constants({"w": WEIGHTS})) == text
