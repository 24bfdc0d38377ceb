"""Read ``--shape NAME=1,3,224,224``."""

from collections.abc import Sequence

from ...ir.errors import OptionError


def parse_shapes(texts: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Return the shapes by input name.

    Raises:
        OptionError: A text is not of the form, or an extent is below one.
    """
    shapes: dict[str, tuple[int, ...]] = {}
    for text in texts:
        name, equals, extents = text.rpartition("=")
        parts = extents.split(",")
        if not equals or not name or not all(part.strip().isdecimal() for part in parts):
            raise OptionError(f"--shape {text}: not NAME=EXTENTS", hint="e.g. input=1,3,224,224")
        shapes[name] = tuple(int(part) for part in parts)
        if min(shapes[name]) < 1:
            raise OptionError(f"--shape {text}: an extent is below 1")
    return shapes
