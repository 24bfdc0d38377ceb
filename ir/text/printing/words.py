"""How names, words, texts and numbers are spelled."""

import json
import re

RESERVED = frozenset({"code", "false", "for", "inf", "nan", "none", "par", "table", "true"})
"""Words with a meaning of their own; text of this spelling stands in quotes."""

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.$-]*")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.$-]*")


def word(text: str) -> str:
    """Spell a text: bare where it is an identifier, else in quotes."""
    if _WORD.fullmatch(text) and text not in RESERVED:
        return text
    return quoted(text)


def name(text: str) -> str:
    """Spell the name of a tensor, with its sigil."""
    return f"%{text}" if _NAME.fullmatch(text) else f"%{quoted(text)}"


def quoted(text: str) -> str:
    """Spell a text in quotes, as JSON does."""
    return json.dumps(text, ensure_ascii=False)


def number(value: float) -> str:
    """Spell a float so that it is read back exactly and never as an integer."""
    return repr(float(value))


def joined(items: list[str], indent: str, width: int = 100) -> str:
    """Spell a list; one that is too long for a line is broken into several.

    Args:
        items: The spelled items.
        indent: White space before each line.
        width: Of a line, at most [character].
    """
    flat = f"[{', '.join(items)}]"
    if len(indent) + len(flat) <= width:
        return flat
    lines: list[str] = []
    line = indent
    for item in items:
        if len(line) + len(item) + 3 > width and line.strip():
            lines.append(line)
            line = indent
        line += f" {item},"
    lines.append(line)
    return "[\n" + "\n".join(lines) + f"\n{indent}]"
