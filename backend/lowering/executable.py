"""Which machines instructions can be written for."""

from ...ir.arch import Architecture
from ...ir.errors import ArchitectureError
from ...ir.isa.spaces import space_bytes

ACCUMULATOR_BYTES = (3, 4)
"""Sizes of an accumulator that instructions can address [byte]."""

LARGEST_SPACE = 2**31 - 1
"""Bytes of an on-chip address space."""

MOST_QUEUES = 255
"""Queues that a wait can name."""

_QUEUES_PER_NPU = 4
_MAPPING_ONLY = "the architecture can be used for mapping only"


def check_executable(arch: Architecture) -> None:
    """Check that instructions exist for the machine's numbers.

    Raises:
        ArchitectureError: Its accumulators have a width that no instruction knows, a memory is
            larger than addresses, or it has more engines than waits can name.
    """
    _check_accumulators(arch)
    queues = arch.dma.channels + _QUEUES_PER_NPU * len(arch.npus)
    if queues > MOST_QUEUES:
        raise ArchitectureError(
            f"{arch.name}: {arch.dma.channels} DMA channels and {len(arch.npus)} NPUs have "
            f"{queues} queues of instructions, at most {MOST_QUEUES} can be distinguished",
            hint=_MAPPING_ONLY,
        )
    for space, size in space_bytes(arch).items():
        if size > LARGEST_SPACE:
            raise ArchitectureError(
                f"{arch.name}: {space} has {size} bytes, instructions address {LARGEST_SPACE}",
                hint=_MAPPING_ONLY,
            )


def _check_accumulators(arch: Architecture) -> None:
    if arch.accumulator_bytes not in ACCUMULATOR_BYTES:
        known = " or ".join(str(8 * size) for size in ACCUMULATOR_BYTES)
        raise ArchitectureError(
            f"{arch.name}: accumulators have {arch.accumulator_bits} bits, "
            f"instructions know {known}",
            hint=_MAPPING_ONLY,
        )
