"""Read what options say: shapes and values of constants.

``--shape NAME=1,3,224,224``, ``--shape AXIS=1,AXIS=128``, ``--constant NAME=1,2``.
"""

import re
from collections.abc import Sequence

from ....ir.errors import OptionError
from ....models.onnx_import.loading.constants import ConstantValue

_PART = re.compile(r"(?:(?P<name>.+)=)?\s*(?P<extent>\d+)\s*")
_TRUTH = {"true": True, "false": False}


def parse_shapes(texts: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Return the extents by name of an input or an axis.

    Raises:
        OptionError: A text is not of the form, or an extent is below one.
    """
    shapes: dict[str, tuple[int, ...]] = {}
    for text in texts:
        name = ""
        for part in text.split(","):
            found = _PART.fullmatch(part)
            name = (found and found["name"]) or name
            if found is None or not name:
                raise OptionError(
                    f"--shape {text}: not NAME=EXTENTS",
                    hint="e.g. input=1,3,224,224, or by axis: batch=1,sequence=128",
                )
            extents = () if found["name"] else shapes[name]
            shapes[name] = (*extents, int(found["extent"]))
            if shapes[name][-1] < 1:
                raise OptionError(f"--shape {text}: an extent is below 1")
    return shapes


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
