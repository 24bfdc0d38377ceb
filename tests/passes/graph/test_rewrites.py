"""What holds of every pass that rewrites the imported graph."""

import numpy as np
import pytest

from accnn.compiler.pipelines import REWRITES
from accnn.ir.module import Module
from accnn.ir.resources import Constants
from accnn.ir.text.parser import parse_module
from accnn.passes.manager import run_pipeline
from accnn.passes.pipeline import Pipeline
from accnn.runtime_sim.reference import run

NETWORK = """graph net {
  input %x : s8<1x4x8x8, scale = 0.5, zero = 0>
  const %w : s8<4x4x1x1, scale = 0.25, zero = 0>
  const %v : s8<4x4x1x1, scale = 0.5, zero = 1>
  const %s : f32<4x1x1>
  %xf = dequantize(%x) : f32<1x4x8x8>
  %wf = dequantize(%w) : f32<4x4x1x1>
  %c = conv2d(%xf, %wf) : f32<1x4x8x8>
  %q = quantize(%c) : s8<1x4x8x8, scale = 2.0, zero = 0>
  %qf = dequantize(%q) : f32<1x4x8x8>
  %vf = dequantize(%v) : f32<4x4x1x1>
  %d = conv2d(%qf, %vf) : f32<1x4x8x8>
  %m = mul(%d, %s) : f32<1x4x8x8>
  %r = relu(%m) : f32<1x4x8x8>
  return %q, %r
}
"""
RNG = np.random.default_rng(3)
DATA = Constants(
    {
        "w": RNG.integers(-9, 9, (4, 4, 1, 1), np.int8),
        "v": RNG.integers(-9, 9, (4, 4, 1, 1), np.int8),
        "s": np.array([1, 2, 4, 8], np.float32).reshape(4, 1, 1),
    }
)


def after(module: Module) -> Module:
    return run_pipeline(Pipeline(REWRITES), module).module


def test_each_rule_finds_its_work_and_the_meaning_stays():
    before = parse_module(NETWORK, constants=DATA)

    module = after(before)

    x = {"x": RNG.integers(-128, 128, (1, 4, 8, 8)).astype(np.int8)}
    expected = run(before.graph, before.constants, x)
    found = run(module.graph, module.constants, x)
    assert [op.kind for op in module.graph.ops] == ["conv2d", "dequantize", "conv2d"]
    assert module.graph.outputs == before.graph.outputs
    np.testing.assert_array_equal(found["q"], expected["q"])
    np.testing.assert_allclose(found["r"], expected["r"], rtol=1e-6)


def test_data_of_what_is_gone_goes():
    module = after(parse_module(NETWORK, constants=DATA))

    assert set(module.constants) == module.graph.constant_names


def test_running_twice_is_running_once():
    once = after(parse_module(NETWORK, constants=DATA))

    assert after(once) is once


@pytest.mark.parametrize("item", REWRITES, ids=lambda item: item.name)
def test_a_graph_without_anything_to_rewrite_stays(item):
    text = "graph net {\n  input %x : f32<2>\n  %y = relu(%x) : f32<2>\n  return %y\n}\n"
    module = parse_module(text)

    assert run_pipeline(Pipeline((item,)), module).module is module
