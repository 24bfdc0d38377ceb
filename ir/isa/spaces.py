"""Sizes of the on-chip address spaces, from the memory levels they stand for."""

from collections.abc import Mapping

from ..arch import Architecture
from ..workload import Operand
from .instructions import Space

ON_CHIP = (Space.GB, Space.WB, Space.AB, Space.PB)
"""Spaces that tiles lie in while operations read or write them."""


def accumulator_level(arch: Architecture) -> str | None:
    """Return the innermost level below the scratchpad that holds outputs, ``None`` if none."""
    position = arch.index(arch.scratchpad)
    below = [
        level.name
        for level in arch.levels
        if arch.index(level.name) > position and Operand.O in level.holds
    ]
    return below[-1] if below else None


def level_of_space(arch: Architecture) -> Mapping[Space, str]:
    """Return the memory level behind each address space; ``pb`` is none of the hierarchy.

    ``gb`` is the scratchpad, ``wb`` the weights' home where that is not the scratchpad, ``ab`` the
    innermost level of outputs below the scratchpad.
    """
    levels = {Space.DRAM: arch.off_chip.name, Space.GB: arch.scratchpad}
    weights = arch.home(Operand.W).name
    if weights != arch.scratchpad:
        levels[Space.WB] = weights
    accumulators = accumulator_level(arch)
    if accumulators is not None:
        levels[Space.AB] = accumulators
    return levels


def space_bytes(arch: Architecture) -> Mapping[Space, int]:
    """Return the size of each on-chip space, of one NPU where it is private [byte].

    ``wb`` and ``ab`` count all instances of their level together; see :mod:`.instructions` for how
    tiles lie in them.
    """
    sizes = {
        space: arch.whole_capacity(level)
        for space, level in level_of_space(arch).items()
        if space is not Space.DRAM
    }
    return {**sizes, Space.PB: arch.vector.parameter_bytes}
