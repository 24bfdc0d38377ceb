"""Sizes of the on-chip address spaces, from the memory levels they stand for."""

from collections.abc import Mapping

from .arch import Architecture
from .isa import Space
from .workload import Operand


def accumulator_level(arch: Architecture) -> str | None:
    """Return the innermost level below the scratchpad that holds outputs, ``None`` if none."""
    position = arch.index(arch.scratchpad)
    below = [
        level.name
        for level in arch.levels
        if arch.index(level.name) > position and Operand.O in level.holds
    ]
    return below[-1] if below else None


def space_bytes(arch: Architecture) -> Mapping[Space, int]:
    """Return the size of each on-chip space, of one NPU where it is private [byte].

    ``gb`` is the scratchpad; ``wb`` all instances of the weights' home, where that is not the
    scratchpad; ``ab`` all instances of the innermost level of outputs below the scratchpad.
    """
    sizes = {
        Space.GB: arch.scratchpad_level.capacity or 0,
        Space.PB: arch.vector.parameter_bytes,
    }
    weights = arch.home(Operand.W)
    if weights.name != arch.scratchpad:
        sizes[Space.WB] = (weights.capacity or 0) * arch.instances(weights.name)
    accumulators = accumulator_level(arch)
    if accumulators is not None:
        level = arch.level(accumulators)
        sizes[Space.AB] = (level.capacity or 0) * arch.instances(accumulators)
    return sizes
