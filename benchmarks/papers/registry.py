"""All claims, and every figure and table that the papers have."""

from collections.abc import Mapping

from . import of_cosa, of_cosma, of_flexer, of_salsa
from .claim import Claim, Paper

CLAIMS: tuple[Claim, ...] = (
    *of_cosa.CLAIMS,
    *of_flexer.CLAIMS,
    *of_cosma.CLAIMS,
    *of_salsa.CLAIMS,
)


def _numbered(word: str, *numbers: object) -> tuple[str, ...]:
    return tuple(f"{word} {number}" for number in numbers)


ITEMS: Mapping[Paper, tuple[str, ...]] = {
    Paper.COSA: (
        *_numbered("Fig.", *range(1, 12)),
        *_numbered("Table", "I", "II", "III", "IV", "V", "VI"),
        "Listing 1",
    ),
    Paper.FLEXER: (
        *_numbered("Figure", *range(1, 13)),
        *_numbered("Table", 1, 2),
        *_numbered("Algorithm", 1, 2),
    ),
    Paper.COSMA: (*_numbered("Fig.", *range(1, 5)), *_numbered("Table", "I", "II")),
    Paper.SALSA: _numbered("Fig.", *range(1, 7)),
}
"""As the papers number them; read off their texts by hand."""
