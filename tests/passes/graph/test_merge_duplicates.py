import pytest

BEFORE = """graph net {
  input %x : f32<1x2>
  %a = leaky_relu(%x) {alpha = 0.5} : f32<1x2>
  %b = leaky_relu(%x) {alpha = 0.5} : f32<1x2>
  %c = add(%a, %b) : f32<1x2>
  return %c
}
"""


def test_merges(apply):
    after = apply("merge-duplicates", BEFORE)

    assert "%b" not in after
    assert "%c = add(%a, %a)" in after


def test_merges_what_becomes_equal(apply):
    chain = BEFORE.replace(
        "  %c = add(%a, %b)",
        "  %d = relu(%a) : f32<1x2>\n  %e = relu(%b) : f32<1x2>\n  %c = add(%d, %e)",
    )

    assert "%c = add(%d, %d)" in apply("merge-duplicates", chain)


def test_a_later_operator_reads_an_output_instead(apply):
    after = apply("merge-duplicates", BEFORE.replace("return %c", "return %c, %a"))

    assert "%c = add(%a, %a)" in after


@pytest.mark.parametrize(
    "kept",
    [
        BEFORE.replace("alpha = 0.5", "alpha = 0.25", 1),
        BEFORE.replace("%b = leaky_relu(%x) {alpha = 0.5}", "%b = tanh(%x)"),
        BEFORE.replace("return %c", "return %c, %b"),
    ],
    ids=["other attribute", "other kind", "output of the network"],
)
def test_keeps_what_differs(apply, kept):
    assert apply("merge-duplicates", kept) == kept
