"""Sizes as people write them: ``64 KiB``."""

import re

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(B|KiB|MiB|GiB)")
_FACTORS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


def size_of(text: str) -> int | None:
    """Return the bytes that a text means; ``None`` where it is no size, or no whole bytes."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        return None
    size = float(found[1]) * _FACTORS[found[2]]
    return int(size) if size.is_integer() else None


def size_text(size: int) -> str:
    """Return a size [byte] in the largest unit that keeps it a whole number."""
    unit = next(name for name in reversed(_FACTORS) if size % _FACTORS[name] == 0 or name == "B")
    return f"{size // _FACTORS[unit]} {unit}"
