"""The networks of COSMA's evaluation, by who designed them."""

from .amoebanet import amoebanet_d
from .attention import transformer, vit
from .darts import darts
from .densenet import densenet121
from .lraspp import lraspp
from .nasnet import nasnet_a, pnasnet5
from .residual import deeplabv3, fcn, resnet50, resnext50
from .video import r2plus1d, s3d

HUMAN_DESIGNED = (
    resnet50,
    densenet121,
    resnext50,
    r2plus1d,
    s3d,
    fcn,
    lraspp,
    deeplabv3,
    transformer,
    vit,
)
"""Designed by people."""

SEARCHED = (pnasnet5, amoebanet_d, nasnet_a, darts)
"""Found by neural architecture search."""
