"""The text of a mapping: its loops, and what each memory keeps where between them."""

import itertools

from ...mapping import LoopNest
from ...module import Mapping
from .records import print_fields
from .words import word


def print_mapping(mapping: Mapping) -> str:
    """Return the text of a mapping.

    ::

        mapping conv1 {
          mapper = cosa
          status = optimal
          objective = 1.0
          bound = 1.0
          scope = "all nests"
          workload = {
            C = 8
            K = 16
          }
          dram [W, I, O]
            for C 2
          gb [I, O]
            for C 4
            par K 16 on lanes
        }
    """
    head = print_fields(mapping, "  ", frozenset({"operator", "nest"}))
    return f"mapping {word(mapping.operator)} {{\n{head}{print_nest(mapping.nest)}}}\n"


def print_nest(nest: LoopNest) -> str:
    """Return the lines of a loop nest: its workload, levels and loops."""
    fields = print_fields(nest.workload, "").split("\n")[:-1]
    lines = [f"  workload = {{{', '.join(fields)}}}"]
    for position in range(len(nest.temporal) + 1):
        lines += _print_allocations(nest, position)
        if position < len(nest.temporal):
            loop = nest.temporal[position]
            lines.append(f"    for {loop.dim} {loop.extent}")
    lines += [f"    par {loop.dim} {loop.extent} on {word(loop.fanout)}" for loop in nest.spatial]
    return "\n".join(lines) + "\n"


def _print_allocations(nest: LoopNest, position: int) -> list[str]:
    """Neighbours at one level share a line."""
    here = (item for item in nest.allocations if item.start == position)
    return [
        f"  {word(level)} [{', '.join(item.operand for item in items)}]"
        for level, items in itertools.groupby(here, key=lambda item: item.level)
    ]
