"""The functional and timing simulator; it knows nothing of the compiler."""

from .result import Energy, OperatorAccount, SimulationResult
from .simulate import simulate
from .trace import write_trace

__all__ = ["Energy", "OperatorAccount", "SimulationResult", "simulate", "write_trace"]
