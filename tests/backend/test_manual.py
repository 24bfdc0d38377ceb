from pathlib import Path

from accnn.backend.binary.instruction_table import layouts
from accnn.backend.manual import instruction_manual

PAGE = Path(__file__).parents[2] / "docs" / "instruction-set.md"


def test_the_page_is_up_to_date():
    """Else: ``python -m accnn.backend.manual > docs/instruction-set.md``."""
    assert PAGE.read_text() == instruction_manual()


def test_every_field_is_explained():
    text = instruction_manual()

    for layout in layouts():
        assert f"### `{layout.mnemonic}`" in text
        for field in layout.fields:
            (row,) = {
                line
                for line in text.split(f"### `{layout.mnemonic}`")[1].split("###")[0].splitlines()
                if line.startswith(f"| `{field.name}` |")
            }
            assert not row.endswith("|  |"), row
