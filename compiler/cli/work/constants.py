"""Read ``--constant NAME=1,2``: values that inputs of the network are bound to."""

from collections.abc import Sequence

from ....ir.errors import OptionError
from ....models.onnx_import.constants import ConstantValue

_TRUTH = {"true": True, "false": False}


def parse_constants(texts: Sequence[str]) -> dict[str, ConstantValue]:
    """Return the values by name of an input; nothing after ``=`` is a row without elements.

    Raises:
        OptionError: A text is not of the form, or a name comes twice.
    """
    found: dict[str, ConstantValue] = {}
    for text in texts:
        name, equals, values = text.rpartition("=")
        if not equals or not name:
            raise OptionError(
                f"--constant {text}: not NAME=VALUES", hint="e.g. axes=0,1 or scale=0.5"
            )
        if name in found:
            raise OptionError(f"--constant {text}: {name!r} is given twice")
        words = values.split(",") if values else []
        found[name] = tuple(_number(text, word.strip()) for word in words)
    return found


def _number(text: str, word: str) -> bool | int | float:
    if word.lower() in _TRUTH:
        return _TRUTH[word.lower()]
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    raise OptionError(f"--constant {text}: {word!r} is no number")
