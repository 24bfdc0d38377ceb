"""Networks as graphs of shapes alone, for work where only the graph matters.

Those whose operators COSMA counts as the zoo does come from there; the others are built here.
"""

from .amoebanet import amoebanet_d
from .attention import transformer, vit
from .darts import darts
from .from_zoo import deeplabv3, densenet121, fcn, r2plus1d, resnet50, resnext50, s3d
from .lraspp import lraspp
from .nasnet import nasnet_a, pnasnet5

HUMAN_DESIGNED = (
    *(resnet50, densenet121, resnext50, r2plus1d, s3d, fcn, lraspp, deeplabv3),
    *(transformer, vit),
)
"""The networks of COSMA's evaluation that people designed."""

SEARCHED = (pnasnet5, amoebanet_d, nasnet_a, darts)
"""Those found by neural architecture search."""

__all__ = [
    "HUMAN_DESIGNED",
    "SEARCHED",
    "amoebanet_d",
    "darts",
    "deeplabv3",
    "densenet121",
    "fcn",
    "lraspp",
    "nasnet_a",
    "pnasnet5",
    "r2plus1d",
    "resnet50",
    "resnext50",
    "s3d",
    "transformer",
    "vit",
]
