"""The text of a module; ``parser.parse_module`` is its inverse."""

from ..module import Module
from .printing.graph import print_graph
from .printing.nest import print_mapping
from .printing.program import print_program
from .printing.records import print_fields
from .printing.words import word


def print_module(module: Module) -> str:
    """Return the text of every stage that is present; constants' data is not part of it."""
    parts = [print_graph(module.graph)]
    if module.arch is not None:
        parts.append(_block(f"arch {word(module.arch.name)}", module.arch, "name"))
    if module.graph_schedule is not None:
        parts.append(_block("graph_schedule", module.graph_schedule))
    parts += [print_mapping(item) for item in module.mappings]
    if module.tile_schedule is not None:
        parts.append(_block("tile_schedule", module.tile_schedule))
    if module.program is not None:
        parts.append("".join(print_program(module.program)))
    return "\n".join(parts)


def _block(head: str, value: object, *skip: str) -> str:
    return f"{head} {{\n{print_fields(value, '  ', frozenset(skip))}}}\n"
