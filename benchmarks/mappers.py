"""Mappers by name, as the benchmarks of CoSA's layers ask for them."""

import sys

from accnn.passes.mapping.jobs import MapJob
from accnn.passes.mapping.mapper import Mapper
from accnn.passes.mapping.recipes.cosa_paper import CosaPaper
from accnn.passes.mapping.registry import find_mapper


def mapper_of(name: str, paper_nodes: int) -> Mapper:
    """Return a mapper; the published program is limited by nodes alone, never by the clock.

    Args:
        name: Spelling on the command line.
        paper_nodes: Branch-and-bound nodes of ``cosa-paper``.
    """
    if name == "cosa-paper":
        return CosaPaper(nodes=paper_nodes, seconds=3600.0)
    return find_mapper(name)


def show_progress(done: int, total: int, asked: MapJob | None) -> None:
    """Say on the standard error how many layers are mapped."""
    del asked
    sys.stderr.write(f"\r{done} of {total} mapped" + ("\n" if done == total else ""))
