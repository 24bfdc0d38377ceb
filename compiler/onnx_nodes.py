"""Which ONNX nodes operators come from, as their places in the network tell."""

import re
from collections.abc import Iterable

_NODE = re.compile(r" node '(?P<name>.+)'$")


def nodes_of(places: Iterable[str]) -> tuple[str, ...]:
    """Return the names of nodes in places such as ``Conv node 'conv1'``; each once.

    Args:
        places: Of operators; what names no node is left out.
    """
    found = (_NODE.search(place) for place in places)
    return tuple(dict.fromkeys(match["name"] for match in found if match))
