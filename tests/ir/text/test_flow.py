"""The text of a real network survives at every stage that passes and lowering make."""

from dataclasses import replace

import numpy as np
import pytest

from accnn.backend.load import load_architecture
from accnn.backend.lowering.lower import lower
from accnn.ir.module import Module, Stage
from accnn.ir.resources import Constants, numpy_dtype
from accnn.ir.text.parser import parse_module
from accnn.ir.text.printer import print_module
from accnn.passes.manager import run_pipeline
from accnn.passes.pipeline import Pipeline
from accnn.passes.registry import pipeline

NET = """graph net {
  input %x : s8<1x4x8x8, scale = 0.5, zero = 1>
  const %w : s8<8x4x3x3, scale = [0.1, 0.2, 0.1, 0.2, 0.1, 0.2, 0.1, 0.2], zero = 0, axis = 0>
  const %b : s32<8>
  const %v : s8<10x128, scale = 0.25, zero = 0>
  %a = conv2d(%x, %w, %b) {pads = [1, 1, 1, 1], qlo = 3} : s8<1x8x8x8, scale = 0.75, zero = 3>
  %c = add(%a, %a) : s8<1x8x8x8, scale = 1.5, zero = 3>
  %p = max_pool(%c) {kernel = [2, 2], stride = [2, 2]} : s8<1x8x4x4, scale = 1.5, zero = 3>
  %f = reshape(%p) {shape = [1, 128]} : s8<1x128, scale = 1.5, zero = 3>
  %y = dense(%f, %v) : s8<1x10, scale = 4.0, zero = 0>
  return %y
}
"""


def constants(module: Module) -> Constants:
    rng = np.random.default_rng(0)
    return Constants(
        {
            value.name: rng.integers(-9, 9, value.type.shape, numpy_dtype(value.type.dtype))
            for value in module.graph.constants
        }
    )


@pytest.mark.parametrize(
    ("arch", "mapper"),
    [
        ("simba.toml", "output-stationary"),
        ("edge-1m.toml", "cosa"),
        ("flexer-arch5.toml", "output-stationary"),
    ],
)
def test_every_stage_survives(arch: str, mapper: str) -> None:
    module = replace(parse_module(NET), arch=load_architecture(arch))
    module = replace(module, constants=constants(module))
    mapping = f"map-operators{{mapper={mapper}}}"
    flow = pipeline(f"schedule-in-order{{scratchpad=2048}},{mapping},schedule-tiles")

    for item in flow.passes:
        module = run_pipeline(Pipeline((item,)), module).module
        check(module)
    module = replace(module, program=lower(module).program)
    check(module)

    assert module.stages == frozenset(Stage)


def check(module: Module) -> None:
    text = print_module(module)

    assert parse_module(text, constants=module.constants, verify=True) == module
