"""The Python of SALSA's page works."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[5] / "docs" / "salsa.md"


def test_the_python_of_the_page_works():
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)

    assert blocks
    for code in blocks:
        exec(compile(code, "salsa.md", "exec", dont_inherit=True), {})
