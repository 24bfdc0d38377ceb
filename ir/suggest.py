"""What helps after a name that nobody knows."""

import difflib
from collections.abc import Iterable

_SIMILAR = 3


def suggest(name: str, known: Iterable[str]) -> str:
    """Return a hint: the most similar names, or all of them where none is similar."""
    names = sorted(set(known))
    close = difflib.get_close_matches(name, names, n=_SIMILAR, cutoff=0.6)
    if close:
        return f"did you mean {' or '.join(close)}?"
    return f"known: {', '.join(names) or 'none'}"
