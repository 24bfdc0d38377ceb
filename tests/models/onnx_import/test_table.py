"""The table of supported operators, and the page that lists them."""

import re
from pathlib import Path

from accnn.models.onnx_import.table import OPERATORS

PAGE = Path(__file__).parents[3] / "docs" / "operators.md"


def test_the_page_lists_every_operator():
    table = PAGE.read_text(encoding="utf-8").partition("| runs as |")[2].partition("\n## ")[0]

    assert {kind for _, kind in OPERATORS} == set(re.findall(r"`([A-Z][A-Za-z0-9]+)`", table))
