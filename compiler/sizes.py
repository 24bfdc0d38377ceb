"""Sizes of memories as users write them: ``65536``, ``64K``, ``1M``, ``1G``, or by name."""

from ..ir.errors import OptionError
from ..passes.scheduling.cosma.budgets import NamedBudget

_FACTORS = {"K": 1024, "M": 1024**2, "G": 1024**3}
_HINT = f"e.g. 65536 or 64K, or one of {', '.join(NamedBudget)}"


def parse_bytes(text: str, option: str) -> int:
    """Return a number of bytes from ``65536``, ``64K``, ``1M`` or ``1G``.

    Args:
        text: What the user gave.
        option: For the message.

    Raises:
        OptionError: It is no number of bytes.
    """
    suffix = text[-1:].upper()
    digits = text[:-1] if suffix in _FACTORS else text
    if not (digits.isascii() and digits.isdecimal()):
        raise OptionError(f"{option} {text}: not a number of bytes", hint="e.g. 65536 or 64K")
    return int(digits) * _FACTORS.get(suffix, 1)


def parse_budget(text: str, option: str = "--scratchpad") -> int | str:
    """Return a number of bytes, or the name of a size of the scratchpad.

    Args:
        text: What the user gave.
        option: For the message.

    Raises:
        OptionError: It is neither.
    """
    if text.lower() in set(NamedBudget):
        return text.lower()
    try:
        return parse_bytes(text, option)
    except OptionError as error:
        raise OptionError(error.message, hint=_HINT) from None
