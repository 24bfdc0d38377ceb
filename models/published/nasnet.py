"""How NASNet and PNASNet stack their cells.

References:
    Zoph, Vasudevan, Shlens, Le: Learning Transferable Architectures for Scalable Image Recognition.
    CVPR 2018. Liu et al.: Progressive Neural Architecture Search. ECCV 2018.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """Size of a network.

    Attributes:
        stem: Channels of the first convolution.
        filters: Channels of a cell's parts in the first stage.
        repeats: Cells of stride 1 in a stage.
        reduce_extra: Whether reductions come on top of the repeats.
    """

    stem: int
    filters: int
    repeats: int
    reduce_extra: bool = True

    def cells(self) -> list[tuple[int, int]]:
        """Return filters and stride of every cell: two of the stem, then three stages."""
        steady = [1] * self.repeats
        reduced = [2, *(steady if self.reduce_extra else steady[1:])]
        plan = [(self.filters // 4, 2), (self.filters // 2, 2)]
        for stage, strides in enumerate((steady, reduced, reduced)):
            plan += [(self.filters << stage, stride) for stride in strides]
        return plan


NASNET_A_MOBILE = Size(stem=32, filters=44, repeats=4)
"""NASNet-A 4 @ 1056."""

PNASNET5_MOBILE = Size(stem=32, filters=54, repeats=3, reduce_extra=False)
"""PNASNet-5, N=3, F=54."""
