"""Search several operators at once; the number of processes does not change what is found."""

import multiprocessing
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from ....ir.errors import InfeasibleError
from ...deadline import NEVER, Deadline
from .candidate import SearchOutcome
from .latency import TileTimer
from .options import FlexerOptions
from .search.search import Search
from .site import Site

_WORTH_PROCESSES = 4
"""Fewer operators are searched in this process."""


def search_all(
    sites: Sequence[Site],
    options: FlexerOptions,
    mapper: str,
    processes: int,
    deadline: Deadline = NEVER,
) -> tuple[SearchOutcome | None, ...]:
    """Return what was found for each operator, ``None`` where no tiling fits its workspace.

    The first one is searched in this process, so that others find the kernel compiled.

    Args:
        sites: The operators.
        options: Of the searches.
        mapper: Name of the mapper of single tiles.
        processes: Processes at most; where the system cannot fork, one.
        deadline: When no other search begins: ``None`` for those that have not begun.
    """
    search = partial(_search, options=options, mapper=mapper, deadline=deadline)
    width = min(processes, len(sites) - 1, os.cpu_count() or 1)
    can_fork = "fork" in multiprocessing.get_all_start_methods()
    if len(sites) < _WORTH_PROCESSES or width < 2 or not can_fork:
        timer = TileTimer(sites[0].arch, mapper) if sites else None
        return tuple(search(site, timer=timer) for site in sites)
    first = search(sites[0])
    with ProcessPoolExecutor(width, mp_context=multiprocessing.get_context("fork")) as pool:
        return (first, *pool.map(search, sites[1:]))


def _search(
    site: Site,
    *,
    options: FlexerOptions,
    mapper: str,
    deadline: Deadline,
    timer: TileTimer | None = None,
) -> SearchOutcome | None:
    if deadline.is_over:
        return None
    try:
        return Search(site, options, timer or TileTimer(site.arch, mapper)).run()
    except InfeasibleError:
        return None
