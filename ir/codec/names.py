"""Identifiers of the text form made from arbitrary names, those of ONNX among them."""

import re
from collections.abc import Iterable

_UNSAFE = re.compile(r"[^A-Za-z0-9_.]+")
_LONGEST = 120


class Namer:
    """Hands out unique identifiers: a letter or ``_``, then letters, digits, ``_`` and ``.``.

    The same names asked for in the same order give the same identifiers.
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)

    def fresh(self, wanted: str) -> str:
        """Return an identifier like ``wanted`` that was not handed out before."""
        base = _identifier(wanted)
        name, count = base, 0
        while name in self._taken:
            count += 1
            name = f"{base}_{count}"
        self._taken.add(name)
        return name


def _identifier(wanted: str) -> str:
    cleaned = _UNSAFE.sub("_", wanted)[:_LONGEST].strip(".")
    if not cleaned:
        return "t"
    return cleaned if cleaned[0].isalpha() or cleaned[0] == "_" else f"t{cleaned}"
