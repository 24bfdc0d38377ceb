"""Read ``--shape NAME=1,3,224,224`` and ``--shape AXIS=1,AXIS=128``."""

import re
from collections.abc import Sequence

from ....ir.errors import OptionError

_PART = re.compile(r"(?:(?P<name>.+)=)?\s*(?P<extent>\d+)\s*")


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
