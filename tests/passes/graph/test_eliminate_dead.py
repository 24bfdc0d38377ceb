from accnn.ir.text.parser import parse_module
from accnn.passes.base import Context
from accnn.passes.graph.eliminate_dead import EliminateDead

BEFORE = """graph net {
  input %x : f32<1x2>
  const %c : f32<1x2>
  const %d : f32<1x2>
  %a = add(%x, %c) : f32<1x2>
  %b = add(%x, %d) : f32<1x2>
  return %b
}
"""


def test_drops_what_no_output_needs(apply):
    after = apply("eliminate-dead", BEFORE)

    assert "%a" not in after
    assert "%c" not in after
    assert "%b = add(%x, %d)" in after


def test_keeps_what_is_an_output(apply):
    all_needed = BEFORE.replace("return %b", "return %b, %a")

    assert apply("eliminate-dead", all_needed) == all_needed


def test_counts():
    ctx = Context()

    EliminateDead().run(parse_module(BEFORE), ctx)

    assert ctx.counters.values == (("constants dropped", 1), ("operators dropped", 1))
