import pytest

HEAD = "graph net {\n  input %x : f32<1x4x1x2>\n"
TAIL = "  %y = relu(%a) : f32<1x4x1x2>\n  return %y\n}\n"


@pytest.mark.parametrize(
    "identity",
    [
        "reshape(%x) {shape = [1, 4, 1, 2]}",
        "transpose(%x) {perm = [0, 1, 2, 3]}",
        "transpose(%x) {perm = [2, 1, 0, 3]}",
        "concat(%x) {axis = 1}",
    ],
)
def test_removes(apply, identity):
    after = apply("remove-identities", f"{HEAD}  %a = {identity} : f32<1x4x1x2>\n{TAIL}")

    assert after == f"{HEAD}{TAIL}".replace("%a", "%x")


def test_removes_several_in_a_row(apply):
    first = "  %b = reshape(%x) {shape = [1, 4, 1, 2]} : f32<1x4x1x2>\n"
    second = "  %a = reshape(%b) {shape = [1, 4, 1, 2]} : f32<1x4x1x2>\n"

    assert apply("remove-identities", HEAD + first + second + TAIL) == f"{HEAD}{TAIL}".replace(
        "%a", "%x"
    )


@pytest.mark.parametrize(
    "kept",
    [
        "%a = reshape(%x) {shape = [1, 2, 2, 2]} : f32<1x2x2x2>",
        "%a = transpose(%x) {perm = [0, 3, 2, 1]} : f32<1x2x1x4>",
        "%a = transpose(%x) {perm = [0, 2, 1, 3]} : f32<1x1x4x2>",
        "%a = concat(%x, %x) {axis = 0} : f32<2x4x1x2>",
    ],
)
def test_keeps_what_moves_or_reshapes(apply, kept):
    text = f"{HEAD}  {kept}\n  return %a\n}}\n".replace(
        "return %a", f"%y = relu(%a) :{kept.rpartition(':')[2]}\n  return %y"
    )

    assert apply("remove-identities", text) == text


def test_keeps_an_output_of_the_network(apply):
    text = f"{HEAD}  %a = concat(%x) {{axis = 1}} : f32<1x4x1x2>\n  return %a\n}}\n"

    assert apply("remove-identities", text) == text
