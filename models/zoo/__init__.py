"""Networks built here, with seeded weights: ``build("resnet50")`` and ``names()``."""

from .build import build
from .images import pink_noise
from .registry import names

__all__ = ["build", "names", "pink_noise"]
