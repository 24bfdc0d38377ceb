"""Instruction selection: from a tile operation on placed tiles to one instruction."""

from ..ir.isa import AnyInstruction
from .select_mac import select_mac
from .select_vector import select_vector
from .site import Site


def select_compute(site: Site, *, clear: bool, profile: int) -> AnyInstruction:
    """Return the instruction of a tile operation.

    Raises:
        PassError: The machine has no instruction for the operator.
    """
    if site.step.acc is not None:
        return select_mac(site, clear=clear, profile=profile)
    return select_vector(site)
