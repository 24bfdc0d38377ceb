"""Mixed-integer programs through python-mip."""

from .linear import Linear, total
from .model import MipLimits, MipModel, MipResult, MipStatus, Solver

__all__ = ["Linear", "MipLimits", "MipModel", "MipResult", "MipStatus", "Solver", "total"]
