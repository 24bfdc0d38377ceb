"""Two nests for one operator: the one whose tiles are scheduled in fewer cycles wins."""

from dataclasses import replace

from ...ir.errors import InfeasibleError
from ...ir.module import Mapping, Module
from ..scheduling.schedule_tiles import schedule_operator


def winner(module: Module, first: Mapping, second: Mapping) -> Mapping:
    """Return the mapping whose tile schedule is shorter, the first one of equals.

    Args:
        module: With a graph schedule.
        first: A mapping of an operator.
        second: Another mapping of the same operator.

    Raises:
        InfeasibleError: The tiles of neither can be scheduled.
    """
    if first.nest == second.nest:
        return first
    cycles, others = tile_cycles(module, first), tile_cycles(module, second)
    if others is None or (cycles is not None and cycles <= others):
        return first
    told = "cannot be scheduled" if cycles is None else f"take {cycles} cycles"
    note = f"its tiles take {others} cycles, those of the nest by {first.mapper} {told}"
    return replace(second, note=note)


def tile_cycles(module: Module, mapping: Mapping) -> int | None:
    """Return how long the tiles of a mapped operator take, ``None`` where they do not fit."""
    tried = replace(module, mappings=(mapping,))
    try:
        return schedule_operator(tried, module.graph.producer[mapping.operator]).cycles
    except InfeasibleError:
        return None
