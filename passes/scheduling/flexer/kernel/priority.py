"""The priority of a set of operations (section 4.3 and Table 2).

References:
    Min, Kwon, Egger: Flexer: Out-of-Order Scheduling for Multi-NPUs. CGO 2023.
"""

from .arrays import MIN_SPILL, MIN_TRANSFER
from .compiled import inner


@inner
def priority_of(
    rule: int, reused: int, spilled: float, used: int, overhead: int, moved: int
) -> tuple[float, float, float]:
    """Return the priority of a set; larger is better, the first entry that differs decides.

    ``BENEFIT`` is section 4.3: memory benefit, then utilisation, then short memory operations.

    Args:
        rule: ``BENEFIT``, ``MIN_TRANSFER`` or ``MIN_SPILL``.
        reused: Bytes that are on chip already, or shared.
        spilled: Bytes that leave, weighted by how soon they are wanted again.
        used: Bytes on chip afterwards.
        overhead: Time of the memory operations [cycle].
        moved: Bytes that they move.
    """
    if rule == MIN_TRANSFER:
        return -float(moved), reused - spilled, float(used)
    if rule == MIN_SPILL:
        return -spilled, float(reused), float(used)
    return reused - spilled, float(used), -float(overhead)
