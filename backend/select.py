"""Instruction selection: from a tile operation on placed tiles to one instruction."""

from ..ir.isa import AnyInstruction
from .select_mac import Numbers, select_finish, select_mac
from .select_vector import select_keep, select_vector
from .site import Site


def select_compute(site: Site, numbers: Numbers, *, clear: bool) -> AnyInstruction:
    """Return the instruction of a tile operation.

    Args:
        site: The operation and where its tiles lie.
        numbers: Of the program's descriptors.
        clear: Whether sums start from zero.

    Raises:
        PassError: The machine has no instruction for the operator.
    """
    if site.step.accumulates:
        return select_mac(site, numbers, clear=clear)
    if site.tiles.keeps(site.step):
        return select_keep(site)
    if site.tiles.finishes(site.step):
        return select_finish(site, numbers)
    return select_vector(site)
