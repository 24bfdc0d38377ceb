"""Area and on-chip bytes of an architecture, all instances of all NPUs together.

Memories and MACs count; wires, control, the vector unit and the DMA engines do not, for which no
published figure fits every machine.
"""

from ....ir.arch import Architecture, MemoryLevel, Precision
from .curves import memory_um2
from .published import FP32_MAC_UM2, INT8_MAC_UM2, REFERENCE_NM

_UM2_PER_MM2 = 1e6


def area_mm2(arch: Architecture, node_nm: float) -> float:
    """Return the area of memories and MACs [mm2].

    Args:
        arch: The machine.
        node_nm: Technology node [nm]; areas follow its square.
    """
    memories = sum(
        memory_um2(level.capacity or 0, level.word_bits) * instances(arch, level)
        for level in arch.levels[1:]
    )
    mac = INT8_MAC_UM2 if arch.precision is Precision.INT8 else FP32_MAC_UM2
    scale = (node_nm / REFERENCE_NM) ** 2
    return (memories + arch.all_macs * mac) * scale / _UM2_PER_MM2


def sram_bytes(arch: Architecture) -> int:
    """Return the bytes of all memories on chip [byte]."""
    return sum((level.capacity or 0) * instances(arch, level) for level in arch.levels[1:])


def instances(arch: Architecture, level: MemoryLevel) -> int:
    """Return how many of a level there are on the chip."""
    if arch.index(level.name) <= arch.index(arch.scratchpad):
        return arch.instances(level.name)
    return sum(arch.for_npu(npu).instances(level.name) for npu in arch.npus)
