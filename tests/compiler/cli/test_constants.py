"""The option ``--constant``."""

import pytest

from accnn.compiler.cli.work.option_values import parse_constants
from accnn.ir.errors import OptionError


@pytest.mark.parametrize(
    ("texts", "constants"),
    [
        (["axes=0,-1"], {"axes": (0, -1)}),
        (["k=3", "scale=0.5, 1e3"], {"k": (3,), "scale": (0.5, 1000.0)}),
        (["train=false"], {"train": (False,)}),
        (["axes="], {"axes": ()}),
        (["a=b=1"], {"a=b": (1,)}),
    ],
)
def test_reads_values(texts: list[str], constants: dict[str, tuple[int, ...]]):
    assert parse_constants(texts) == constants


@pytest.mark.parametrize("text", ["axes", "=1"])
def test_another_form_is_refused(text: str):
    with pytest.raises(OptionError, match=f"--constant {text}: not NAME=VALUES"):
        parse_constants([text])


def test_what_is_no_number_is_refused():
    with pytest.raises(OptionError, match="--constant k=1,x: 'x' is no number"):
        parse_constants(["k=1,x"])


def test_a_name_comes_once():
    with pytest.raises(OptionError, match="'k' is given twice"):
        parse_constants(["k=1", "k=2"])
