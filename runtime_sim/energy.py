"""What traffic and work cost in energy."""

from collections.abc import Sequence

from ..ir.arch import Architecture
from .result import Energy, LevelEnergy, LevelTraffic


def energy_of(
    arch: Architecture,
    traffic: Sequence[LevelTraffic],
    *,
    compute_pj: float,
    network_pj: float,
    vector_elements: int,
) -> Energy:
    """Return the energy of an account.

    Args:
        arch: The machine.
        traffic: Bytes per level and operand; a word costs its level's energy, parts of a word
            their share.
        compute_pj: Of the MACs [pJ].
        network_pj: Of the on-chip network [pJ].
        vector_elements: Lane cycles of the vector units.
    """
    by_level = dict.fromkeys(arch.level_names, 0.0)
    for item in traffic:
        level = arch.level(item.level)
        words_per_byte = 8 / level.word_bits
        spent = item.read * level.read_energy + item.written * level.write_energy
        by_level[item.level] += spent * words_per_byte
    return Energy(
        levels=tuple(LevelEnergy(level, pj) for level, pj in by_level.items()),
        compute=compute_pj,
        network=network_pj,
        vector=vector_elements * arch.vector.energy,
    )
