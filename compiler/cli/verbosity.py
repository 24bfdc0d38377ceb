"""How much the tools say: ``-q`` and ``-v``, the same for all."""

import logging
from enum import Enum
from typing import Annotated, TypeAlias

import typer

from ...ir.errors import OptionError

Quiet: TypeAlias = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print errors and what was asked for, no more.")
]
Verbose: TypeAlias = Annotated[
    bool, typer.Option("--verbose", "-v", help="Print every step, and what passes decide.")
]


class Verbosity(Enum):
    """How much is said beside the results."""

    QUIET = "quiet"
    NORMAL = "normal"
    VERBOSE = "verbose"


def chosen_verbosity(*, quiet: bool, verbose: bool) -> Verbosity:
    """Return how much is to be said, and let modules log what they decide where that is all.

    Raises:
        OptionError: Both are asked for.
    """
    if quiet and verbose:
        raise OptionError("--quiet and --verbose exclude each other")
    if verbose:
        logging.basicConfig(format="%(name)s: %(message)s")
        logging.getLogger("accnn").setLevel(logging.DEBUG)
        return Verbosity.VERBOSE
    return Verbosity.QUIET if quiet else Verbosity.NORMAL
