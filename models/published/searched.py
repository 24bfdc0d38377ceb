"""Cells that searches found: AmoebaNet-D's and DARTS's.

References:
    Real, Aggarwal, Huang, Le: Regularized Evolution for Image Classifier Architecture Search.
    AAAI 2019; the normal cell concatenates as in the TensorFlow original.
    Liu, Simonyan, Yang: DARTS: Differentiable Architecture Search. ICLR 2019, figures 4 and 5
    (second order).
"""

from .cells import CellPair, SearchedCell

AMOEBANET_D = CellPair(
    normal=SearchedCell(
        (
            ((1, "conv1x1"), (1, "max3")),
            ((1, "none"), (0, "conv1x7")),
            ((0, "conv1x1"), (0, "conv1x7")),
            ((2, "max3"), (2, "none")),
            ((1, "avg3"), (5, "conv1x1")),
        ),
        (0, 3, 4, 6),
    ),
    reduction=SearchedCell(
        (
            ((0, "max2"), (0, "max3")),
            ((2, "none"), (1, "conv3x3")),
            ((2, "conv1x7"), (2, "max3")),
            ((3, "none"), (1, "max2")),
            ((2, "avg3"), (3, "conv1x1")),
        ),
        (4, 5, 6),
        is_reduction=True,
    ),
)
"""AmoebaNet-D's."""

DARTS = CellPair(
    normal=SearchedCell(
        (
            ((0, "sep3"), (1, "sep3")),
            ((0, "sep3"), (1, "sep3")),
            ((1, "sep3"), (0, "skip")),
            ((0, "skip"), (2, "dil3")),
        ),
        (2, 3, 4, 5),
    ),
    reduction=SearchedCell(
        (
            ((0, "max3"), (1, "max3")),
            ((2, "skip"), (1, "max3")),
            ((0, "max3"), (2, "skip")),
            ((2, "skip"), (1, "max3")),
        ),
        (2, 3, 4, 5),
        is_reduction=True,
    ),
)
"""DARTS's."""

DARTS_LAYERS = 14
DARTS_REDUCTIONS = (DARTS_LAYERS // 3, 2 * DARTS_LAYERS // 3)
"""Which of DARTS's cells halve the image."""
