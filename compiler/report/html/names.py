"""Names from the network as they are shown: visible, and of bounded length.

Networks come from anywhere. The template escapes what HTML gives a meaning; what it gives none
but a browser acts on all the same (control characters, marks that turn the direction of writing)
is spelt out here.
"""

import unicodedata

from ..operator_table import QUANTISED, shorten

LONGEST = 200
"""Names are cut in the middle beyond this many characters."""

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def visible(text: str) -> str:
    """Return a text with every invisible character spelt out."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_spelt, text))


def shown(name: str, longest: int = LONGEST) -> str:
    """Return a name with invisible characters spelt out, cut in the middle where it is long."""
    return shorten(visible(name[: 4 * longest]), longest)


def short(name: str, longest: int = 48) -> str:
    """Return a name without what the quantiser appends, short enough for a table."""
    return shown(name.removesuffix(QUANTISED), longest)


def _spelt(character: str) -> str:
    if unicodedata.category(character) not in _HIDDEN:
        return character
    if ord(character) < 256:
        return f"\\x{ord(character):02x}"
    return character.encode("ascii", "backslashreplace").decode()
