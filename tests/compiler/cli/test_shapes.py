"""The option ``--shape``."""

import pytest

from accnn.compiler.cli.work.option_values import parse_shapes
from accnn.ir.errors import OptionError


@pytest.mark.parametrize(
    ("texts", "shapes"),
    [
        (["x=1,3,224,224"], {"x": (1, 3, 224, 224)}),
        (["x=1,3", "y=2"], {"x": (1, 3), "y": (2,)}),
        (["batch=1,sequence=128"], {"batch": (1,), "sequence": (128,)}),
        (["x=1,3,y=2, 4"], {"x": (1, 3), "y": (2, 4)}),
        (["a=b=1,2"], {"a=b": (1, 2)}),
    ],
)
def test_reads_inputs_and_axes(texts: list[str], shapes: dict[str, tuple[int, ...]]):
    assert parse_shapes(texts) == shapes


@pytest.mark.parametrize("text", ["x", "x=", "=1", "1,2", "x=1,,2", "x=a"])
def test_another_form_is_refused(text: str):
    with pytest.raises(OptionError, match=f"--shape {text}: not NAME=EXTENTS"):
        parse_shapes([text])


def test_an_extent_below_one_is_refused():
    with pytest.raises(OptionError, match="--shape x=1,0: an extent is below 1"):
        parse_shapes(["x=1,0"])
