"""How often Python looks for values that only refer to each other.

Values of the compiler are frozen, and hardly any refer to each other in a circle: they are given
back when the last reference goes. Looking for circles among millions of them, as often as Python
does by itself, takes a sixth of a compilation and finds nothing.
"""

import gc

_NEW_VALUES = 200_000
"""Values made, less those given back, between two looks at the young ones."""

_LOOKS = (20, 100)
"""Looks at the young ones before one at the older ones, and of those before one at all."""


def collect_rarely() -> None:
    """Let this process look rarely; commands do so, the library leaves it to its user."""
    gc.set_threshold(_NEW_VALUES, *_LOOKS)
