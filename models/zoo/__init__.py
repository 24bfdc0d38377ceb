"""Networks built here, with seeded weights: ``build("resnet50")`` and ``names()``."""

from ..data.images import pink_noise
from .build import build
from .registry import names

__all__ = ["build", "names", "pink_noise"]
